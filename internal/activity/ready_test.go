package activity

import (
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// shy is an agent whose screen never shows that it is ready.
type shy struct{ session.Fileless }

func (shy) Start(session.StartInput) session.Start        { return session.Start{} }
func (shy) Ready(string) bool                             { return false }
func (shy) Detect(session.Evidence) (r session.Detection) { return r }

// TestSeenReady checks what one look shows of an agent with a prompt on its command line.
func TestSeenReady(t *testing.T) {
	start := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	begun := &session.Transcript{Prompts: 1, At: start.Add(time.Second)}
	for name, c := range map[string]struct {
		delivered  time.Time
		seen       session.Detection
		transcript *session.Transcript
		want       bool
	}{
		"works":                                {start, session.Detection{Activity: session.Working}, nil, true},
		"asks, as its hook tells":              {start, session.Detection{Activity: session.Blocked, Source: "hook"}, nil, true},
		"asks on its screen":                   {start, session.Detection{Activity: session.Blocked, Source: "screen"}, nil, false},
		"asks on its screen, and has begun":    {start, session.Detection{Activity: session.Blocked, Source: "screen"}, begun, true},
		"asks, and was begun in another run":   {start, session.Detection{Activity: session.Blocked, Source: "screen"}, &session.Transcript{Prompts: 1, At: start.Add(-time.Hour)}, false},
		"asks, and goes on with a session":     {start.Add(-time.Hour), session.Detection{Activity: session.Blocked, Source: "screen"}, begun, false},
		"says done on its screen":              {start, session.Detection{Activity: session.Done, Source: "screen"}, nil, false},
		"says done in its file":                {start, session.Detection{Activity: session.Done, Source: "native"}, nil, true},
		"boots":                                {start, session.Detection{Activity: session.Booting, Source: "hook"}, nil, false},
		"asks, and its prompt is not given":    {time.Time{}, session.Detection{Activity: session.Blocked, Source: "hook"}, nil, false},
		"boots, and its file is of that start": {start, session.Detection{Activity: session.Idle, Source: "title"}, &session.Transcript{At: start}, false},
	} {
		rec := session.Record{Run: session.Run{StartedAt: start, DeliveredAt: c.delivered}}
		if got := SeenReady(shy{}, rec, Look{Detection: c.seen, Transcript: c.transcript}, "a question"); got != c.want {
			t.Errorf("%s: ready is %v", name, got)
		}
	}
}

// TestStartedByATurn checks that only a turn of this run shows that its agent has started: the file
// of a resumed conversation has earlier turns.
func TestStartedByATurn(t *testing.T) {
	start := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	before, since := start.Add(-time.Hour), start.Add(time.Second)
	for name, c := range map[string]struct {
		look Look
		want bool
	}{
		"its first turn":                   {Look{FirstTurnAt: since}, true},
		"a turn of the run before":         {Look{FirstTurnAt: before, TurnAt: before}, false},
		"another turn of the conversation": {Look{FirstTurnAt: before, TurnAt: since}, true},
		"none":                             {Look{}, false},
	} {
		rec := session.Record{Run: session.Run{ID: "run1", StartedAt: start}}
		r := New(t.TempDir(), "/none", func(session.AgentSpec) session.Agent { return shy{} })
		if got := r.started(shy{}, rec, c.look, session.Evidence{Now: start.Add(time.Minute)}); got != c.want {
			t.Errorf("%s: it has started: %v", name, got)
		}
	}
}
