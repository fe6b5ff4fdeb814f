package view

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/report"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// sampleReport returns a night of ten sessions with events and two without.
func sampleReport() api.Report {
	night := func(name string, word session.Activity, prompt string, events ...history.Event) report.Known {
		x := api.Session{Address: session.Address("session." + name), Name: name, Agent: "claude", Branch: "agents/" + name,
			State: session.StateRunning, Status: session.StatusOf(session.StateRunning, word), Activity: word}
		return report.Known{Session: x, Prompt: prompt, Events: events, Used: &usage.Sum{}}
	}
	event := func(before time.Duration, k history.Kind, change func(*history.Event)) history.Event {
		e := history.Event{Time: ago(before), Kind: k}
		if change != nil {
			change(&e)
		}
		return e
	}
	blocked := func(e *history.Event) { e.New, e.Detail = "blocked", `run "npm test"?` }
	changes := func(added, removed, ahead int) *api.Changes {
		return &api.Changes{Added: added, Removed: removed, Ahead: ahead, Base: "main", CountedAt: at}
	}
	needs := func(k *report.Known, reason, detail string, since time.Duration) {
		k.Session.Needs, k.Session.Detail = &api.Need{Reason: reason, Since: ago(since)}, detail
	}

	asks := night("asks", session.Blocked, "Add a rate limit to the public API, and tests that show it", event(125*time.Minute, history.StatusChanged, blocked))
	asks.Session.Changes, asks.Used = changes(120, 8, 3), &usage.Sum{Answers: 61, Tokens: usageTokens(2_310_000), Cost: 6.5}
	needs(&asks, "blocked", `run "npm test"?`, 125*time.Minute)
	red := night("red", session.Idle, "Sort the imports", event(3*time.Hour, history.VerificationFailed, nil))
	red.Session.Verified, red.Session.Changes = &api.Verified{Word: "red 3/3", Round: 3, Rounds: 3, Held: true, At: ago(time.Hour)}, changes(4, 4, 1)
	red.Session.Conflicts = &[]api.Conflict{{With: "session.done", Files: []string{"imports.go"}}}
	needs(&red, "verification_failed", "exit status 2", time.Hour)
	limit := night("limit", session.BlockedAPI, "Translate the messages", event(time.Hour, history.StatusChanged, func(e *history.Event) { e.New = "blocked_api" }))
	until := at.Add(2 * time.Hour)
	limit.Session.Until = &until
	needs(&limit, "blocked_api", "usage limit", time.Hour)
	done := night("done", session.Idle, "# Cache the catalogue", event(9*time.Hour, history.TurnEnded, nil), event(7*time.Hour, history.Sent, func(e *history.Event) { e.Detail, e.By = "20 bytes", "ada" }),
		event(6*time.Hour, history.TurnEnded, nil))
	done.Session.Verified, done.Session.Changes, done.Session.PR = &api.Verified{Word: "verified", OK: true, At: ago(time.Hour)}, changes(44, 0, 2), "https://git.example.org/shop/pulls/12"
	done.Used = &usage.Sum{Answers: 12, Tokens: usageTokens(410_000), Cost: 1.25}
	needs(&done, "turn_ended", "", 6*time.Hour)
	works := night(`worker["a-rather-long-key"]`, session.Working, "Rewrite `@ada`'s <scheduler>\nso that it is fair", event(4*time.Hour, history.BudgetHeld, func(e *history.Event) { e.New = "night" }),
		event(3*time.Hour, history.BudgetLifted, func(e *history.Event) { e.Old = "night" }), event(2*time.Hour, history.Launched, func(e *history.Event) { e.Action = string(plan.Restart) }))
	works.Used = &usage.Sum{Answers: 8, Tokens: usageTokens(99_000), Unpriced: 99_000}
	landed := night("landed", session.NoActivity, "Fix the typo", event(5*time.Hour, history.Landed, nil))
	landed.Session.State, landed.Session.Status, landed.Session.Landed = "stopped", "stopped", landing()
	paused := night("paused", session.Idle, "", event(8*time.Hour, history.OverrideSet, func(e *history.Event) { e.New, e.By = "paused", "ada" }))
	paused.Session.State = "paused"
	queued := night("queued", session.NoActivity, "Write the changelog", event(8*time.Hour, history.Held, func(e *history.Event) {
		e.Reason, e.Detail = "dependency_not_ready", "waiting for session.done (verified)"
	}), event(2*time.Hour, history.Held, func(e *history.Event) { e.Reason, e.Detail = "queued", "queued: 4 of 4 sessions running (max_running)" }))
	place := 1
	queued.Session.State, queued.Session.Status, queued.Session.Queue = "pending", "pending", &place
	away := night("away", session.NoActivity, "", event(time.Hour, history.Sent, nil))
	away.Session.State, away.Session.Detail = "unknown", "docker/sandbox does not answer"
	removed := night("removed", "", "Drop the old table", event(7*time.Hour, history.Landed, func(e *history.Event) { e.Address, e.Old, e.New = "session.removed", "c0ffee", "beef00" }))
	removed.Session = api.Session{}
	return report.Of(report.Input{Project: "shop", Since: ago(18 * time.Hour), Until: at, Supervisor: api.HubDown,
		Sessions: []report.Known{removed, away, queued, paused, landed, works, done, limit, red, asks, night("docs", session.Idle, ""), night("web", session.Idle, "")}})
}

func usageTokens(n int64) session.Tokens { return session.Tokens{Input: n} }

func landing() *session.Landed {
	return &session.Landed{Into: "main", Commit: "9fd63385b1e0c7a2", From: "c0ffee", At: ago(5 * time.Hour)}
}

func TestReport(t *testing.T) {
	styles(t, "report", true, func(w io.Writer, s Style) error { return Report(w, s, sampleReport(), at) })
	golden(t, "report-80.txt", func(w io.Writer) error { return Report(w, Style{Width: 80, Rows: 24}, sampleReport(), at) })
	golden(t, "report-message.txt", func(w io.Writer) error {
		_, err := fmt.Fprintln(w, ReportMessage(sampleReport(), at))
		return err
	})
	golden(t, "report.md", func(w io.Writer) error { return ReportMarkdown(w, sampleReport(), at) })
}

// A report of ten sessions fits on a screen of 80 columns and 24 lines, one of them for the shell's
// prompt.
func TestReportFits(t *testing.T) {
	var b bytes.Buffer
	if err := Report(&b, Style{Width: 80, Rows: 24}, sampleReport(), at); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) > 23 {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		if n := glyphs().StringWidth(l); n > 80 {
			t.Errorf("%d columns: %s", n, l)
		}
	}
}

func TestReportOfNothing(t *testing.T) {
	r := report.Of(report.Input{Project: "shop", Since: ago(10 * 24 * time.Hour), Until: at, Supervisor: api.HubRuns, Unread: errors.New("disk")})
	var text, markdown bytes.Buffer
	if err := errors.Join(Report(&text, Style{}, r, at), ReportMarkdown(&markdown, r, at)); err != nil {
		t.Fatal(err)
	}
	want := "shop since 2026-03-04 09:26: 0 active sessions\n\nIt is not known what sessions used: disk\n"
	if text.String() != want || markdown.String() != "**`shop`**"+want[4:] {
		t.Errorf("%q\n%q", text.String(), markdown.String())
	}
}

// A message fits into the environment of a command, however many sessions there are.
func TestReportMessageIsCut(t *testing.T) {
	r := sampleReport()
	r.Sessions = slices.Repeat([]api.ReportSession{{Name: "é", Asked: strings.Repeat("é", 200)}}, 200)
	if got := ReportMessage(r, at); len(got) > session.TailLimit || len(got) < session.TailLimit-2 || !utf8.ValidString(got) {
		t.Errorf("%d bytes, valid: %t", len(got), utf8.ValidString(got))
	}
}

func TestQuietIsCut(t *testing.T) {
	var all []session.Address
	for i := range 30 {
		all = append(all, session.Address(fmt.Sprint("session.s", i)))
	}
	if got, want := quiet(all), "s0, s1, s2, s3, s4, s5, s6, s7 and 22 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := quiet(all[:9]), "s0, s1, s2, s3, s4, s5, s6, s7 and s8"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
