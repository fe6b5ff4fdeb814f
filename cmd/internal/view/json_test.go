package view

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

func TestDocuments(t *testing.T) {
	all := map[string]func(io.Writer) error{
		"plan-whole.json": func(w io.Writer) error { return wire.Write(w, status.PlanOf(samplePlan(), "0.1.0")) },
		"plan.json":       func(w io.Writer) error { return wire.Write(w, status.PlanOf(smallPlan(), "0.1.0")) },
		"validate.json":   func(w io.Writer) error { return ValidJSON(w, sampleDiagnostics()[1:3]) },
		"status.json": func(w io.Writer) error {
			s := sampleSessions()
			return wire.Write(w, status.DocumentOf([]api.Session{s[1], s[len(s)-1]}, api.Places{Running: 1, MaxRunning: 8}, api.HubDown))
		},
		"usage.json":      func(w io.Writer) error { return wire.Write(w, sampleUsage()) },
		"show.json":       func(w io.Writer) error { return wire.Write(w, sampleShown().Document()) },
		"state-list.json": func(w io.Writer) error { return StateListJSON(w, sampleState(), sampleState().Sessions) },
		"state-show.json": func(w io.Writer) error { return StateShowJSON(w, *record("session.api", "agents/api")) },
		"doctor.json":     func(w io.Writer) error { return DoctorJSON(w, sampleFindings()) },
		"version.json":    func(w io.Writer) error { return VersionJSON(w, Build{"0.1.0", "f1ff7ee", "go1.26.0", "linux/amd64"}) },
		"capture.json":    func(w io.Writer) error { return TailJSON(w, Tail{Address: "session.api", Text: "$ make\nok\n"}) },
		"capture-many.json": func(w io.Writer) error {
			return TailsJSON(w, []Tail{{Address: "session.api", Text: "$ make\nok\n"}, {Address: "session.docs", Err: errors.New("session.docs has no screen: exited")}})
		},
		"send.json": func(w io.Writer) error {
			return SentJSON(w, []Sent{{Address: "session.api", Outcome: "sent"}, {Address: "session.web", Outcome: "queued"},
				{Address: "session.docs", Outcome: "failed", Err: errors.New("session.docs is stopped")}})
		},
		"verify.json": func(w io.Writer) error {
			return VerifiedJSON(w, []Verification{
				{Address: "session.api", Verified: &api.Verified{Word: "red 2/3", Commit: "9fd63385b1e0c7a2", At: at, Round: 2, Rounds: 3, Detail: "exit status 2", Log: "/home/ada/shop/.agentform/runs/00112233445566aa/verify.log"}, Output: "--- FAIL: TestTotal\nFAIL"},
				{Address: "session.docs", Err: errors.New("session.docs: it has no verify block")},
			})
		},
		"refresh.json": func(w io.Writer) error {
			return wire.Write(w, status.RefreshesOf([]land.RefreshResult{
				{Refreshed: land.Refreshed{Address: "session.api", Branch: "agents/api", Base: "main", Method: land.Merge, Done: true, Commits: 3, From: "9fd63385b1e0c7a2", To: "1c0ffee5b1e0c7a2"}},
				{Refreshed: land.Refreshed{Address: "session.docs", Branch: "agents/docs", Base: "main", Method: land.Merge, Commits: 1, From: "42d63385b1e0c7a2", To: "42d63385b1e0c7a2", Conflicts: []string{"go.mod"}, Sent: true}},
			}, false))
		},
		"landing.json": func(w io.Writer) error {
			api := &land.Member{Facts: land.Facts{Address: "session.api", Branch: "agents/api", Base: "main", Commit: "9fd63385b1e0c7a2", Commits: make([]git.Commit, 2)}, Tree: "4b825dc642cb6eb9"}
			docs := &land.Member{Facts: land.Facts{Address: "session.docs", Branch: "agents/docs"}, Refused: errors.New("session.docs is working")}
			return wire.Write(w, status.LandingOf(land.Many{Members: []*land.Member{api, docs}, Landed: []land.Landed{{Address: "session.api", Done: true, To: "1c0ffee5b1e0c7a2"}}}, false))
		},
		"logs.json": func(w io.Writer) error {
			return TailJSON(w, Tail{Address: "session.api", Path: "/home/ada/.claude/projects/-work/6d1f0a52.jsonl", Entries: sampleEntries()})
		},
		"report.json": func(w io.Writer) error {
			r := sampleReport()
			r.Sessions, r.Needs = []api.ReportSession{r.Sessions[0], r.Sessions[len(r.Sessions)-1]}, r.Needs[:1]
			return wire.Write(w, r)
		},
		"events.jsonl": func(w io.Writer) error { return EventsJSON(w, sampleEvents()[2:]) },
		"apply.jsonl":  applyLines,
	}
	for name, write := range all {
		golden(t, name, write)
	}
}

func sampleEntries() []session.Entry {
	return []session.Entry{
		{At: at, Kind: "user", Text: "Add a test.\nKeep it short."},
		{At: at.Add(2 * time.Second), Kind: "tool", Text: "Bash go test ./..."},
		{At: at.Add(3 * time.Second), Kind: "agent", Text: "Done."},
		{Kind: "error", Text: "API Error: 500"},
	}
}

// The last complete entries that fit are written.
func TestEntriesAreATail(t *testing.T) {
	var b strings.Builder
	long := session.Entry{Kind: "result", Text: strings.Repeat("x", 10_000)}
	if err := TailJSON(&b, Tail{Address: "session.api", Path: "/f", Entries: slices.Repeat([]session.Entry{long}, 9)}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), `"result"`); n != 4 || !strings.Contains(b.String(), `"truncated": true`) {
		t.Errorf("%d entries in %d bytes", n, b.Len())
	}
}

func TestEntriesForPeople(t *testing.T) {
	var b strings.Builder
	if err := Entries(&b, Style{}, sampleEntries(), at); err != nil {
		t.Fatal(err)
	}
	clock := func(after time.Duration) string { return at.Add(after).Format(time.TimeOnly) }
	want := clock(0) + "  user    Add a test.\n" + "                  Keep it short.\n" +
		clock(2*time.Second) + "  tool    Bash go test ./...\n" + clock(3*time.Second) + "  agent   Done.\n" + "          error   API Error: 500\n"
	if b.String() != want {
		t.Errorf("it reads\n%s\nwant\n%s", b.String(), want)
	}
}

func sampleState() state.State {
	return state.State{Project: "shop", Lineage: "5b0c9d1e-3f41-4a8e-9d55-0c6b2f7a8e90", Serial: 41,
		Sessions: []session.Record{*record("session.api", "agents/api")}}
}

// applyLines writes an apply as JSON lines, 50 ms apart.
func applyLines(w io.Writer) error {
	now := at.Add(-300 * time.Millisecond)
	l, err := NewLines(w, "0.1.0", func() time.Time {
		now = now.Add(50 * time.Millisecond)
		return now
	})
	if err != nil {
		return err
	}
	if err := l.Plan(smallPlan()); err != nil {
		return err
	}
	for _, e := range applied() {
		l.Event(e)
	}
	now = at.Add(31 * time.Second)
	return l.Summary(failed())
}
