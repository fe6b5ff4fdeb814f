package agent

import (
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

func TestLimitEnd(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	now := time.Date(2026, 11, 21, 22, 30, 0, 0, berlin)
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour, minute, 0, 0, berlin) }
	for said, want := range map[string]time.Time{
		"You’ve hit your usage limit. Visit https://chatgpt.com/settings/\nusage to purchase more credits or try again at 11:35 PM.": at(21, 23, 35),
		"try again at 12:05 AM.":                 at(22, 0, 5),
		"or try again at 9:00 PM.":               at(21, 21, 0), // it has already ended
		"try again at Nov 25th, 2026 7:35 AM.":   at(25, 7, 35),
		"Access resets at 11:35 PM UTC.":         at(22, 0, 35),
		"Access resets at 3:00 AM GMT+2.":        at(22, 2, 0),
		"limit reached ∙ resets 3am":             at(22, 3, 0),
		"resets Nov 25 at 12pm":                  at(25, 12, 0),
		"exceeded retry limit, last status: 429": {},
		"try again at Foo 25 7:35 AM":            {},
		"":                                       {},
	} {
		if got := limitEnd(said, now); !got.Equal(want) {
			t.Errorf("%q ends at %s, want %s", said, got, want)
		}
	}
}

// The session file's time has precedence over the screen's.
func TestALimitOnTheScreenEnds(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 30, 0, 0, time.UTC)
	screen := "■ You’ve hit your usage limit. Visit https://chatgpt.com/\nusage to purchase more credits or try again at 7:35 AM.\n" + codexIdle
	a := For(builtin("codex"))
	e := session.Evidence{Liveness: session.Alive, Title: "Ready | work", Screen: screen, Now: now}
	if got := a.Detect(e); got.Activity != session.BlockedAPI || !got.Until.Equal(time.Date(2026, 11, 21, 7, 35, 0, 0, time.UTC)) {
		t.Errorf("%+v", got)
	}
	end := now.Add(time.Hour)
	e.Transcript = &session.Transcript{Activity: session.BlockedAPI, Until: end, At: now}
	if got := a.Detect(e); got.Activity != session.BlockedAPI || !got.Until.Equal(end) {
		t.Errorf("%+v", got)
	}
}

// TestLimitOfYesterday checks that a time of day is the first one after the agent's message, also
// on the next day.
func TestLimitOfYesterday(t *testing.T) {
	a := For(Builtins()["claude"])
	said := time.Date(2026, 11, 21, 13, 0, 0, 0, time.UTC)
	e := session.Evidence{Liveness: session.Alive, Screen: "You've hit your limit · resets 3pm\n\n❯ ", MovedAt: said, Now: said.Add(20 * time.Hour)}
	if got := a.Detect(e); got.Activity != session.BlockedAPI || !got.Until.Equal(said.Add(2*time.Hour)) {
		t.Errorf("%+v", got)
	}
}
