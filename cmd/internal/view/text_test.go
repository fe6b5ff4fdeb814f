package view

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/hashicorp/go-multierror"
)

func TestPlan(t *testing.T) {
	styles(t, "plan", true, func(w io.Writer, s Style) error { return Plan(w, s, samplePlan(), false) })
}

func TestPlanFull(t *testing.T) {
	p := samplePlan()
	p.Problems = nil
	p.Changes = p.Changes[:2]
	p.Changes[0].Reason, p.Changes[0].Detail = plan.ReasonInSync, "running"
	golden(t, "plan-full.txt", func(w io.Writer) error { return Plan(w, Style{}, p, true) })
}

func TestPlanContract(t *testing.T) {
	p := smallPlan()
	p.Changes = slices.Delete(p.Changes, 1, 3)
	golden(t, "plan-contract.txt", func(w io.Writer) error { return Plan(w, Style{}, p, false) })
}

// A saved plan is shown the same after reading.
func TestPlanSaved(t *testing.T) {
	b, err := plan.Encode(samplePlan())
	if err != nil {
		t.Fatal(err)
	}
	saved, err := plan.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.txt", func(w io.Writer) error { return Plan(w, Style{}, saved, false) })
	golden(t, "plan-whole.json", func(w io.Writer) error { return wire.Write(w, status.PlanOf(saved, "0.1.0")) })
}

func TestPlanSummary(t *testing.T) {
	inSync := plan.Change{Address: "session.a", Action: plan.None, Reason: plan.ReasonInSync, After: wanted(spec("session.a", "a"))}
	handmade := plan.Change{Address: "session.run", Action: plan.None, Reason: plan.ReasonInSync, Before: record("session.run", "r")}
	outside := plan.Change{Address: "session.b", Action: plan.None, Reason: plan.ReasonNotTargeted, After: wanted(spec("session.b", "b"))}
	unknown := inSync
	unknown.State = session.StateUnknown
	pause := inSync
	pause.Action = plan.Pause
	hold := inSync
	hold.Action = plan.Hold
	fault := session.Diagnostic{Severity: session.Error, Summary: "branch mismatch"}
	for _, c := range []struct {
		plan plan.Plan
		want string
	}{
		{plan.Plan{}, "No changes. 0 sessions match the manifest."},
		{plan.Plan{Changes: []plan.Change{inSync, handmade, outside}}, "No changes. 1 session matches the manifest."},
		{plan.Plan{Changes: []plan.Change{inSync, inSync}}, "No changes. 2 sessions match the manifest."},
		{plan.Plan{Changes: []plan.Change{inSync, unknown}}, "No changes. 1 session matches the manifest, 1 could not be inspected."},
		{plan.Plan{Options: plan.Options{Destroy: true}}, "No changes. There is nothing to destroy."},
		{plan.Plan{Options: plan.Options{RefreshOnly: true}}, "No changes. The running sessions match the state."},
		{plan.Plan{Options: plan.Options{RefreshOnly: true}, Drift: make([]plan.Drift, 2)}, "No changes planned. 2 differences between the running sessions and the state."},
		{plan.Plan{Changes: []plan.Change{inSync}, Problems: []session.Diagnostic{fault}}, "Plan: 0 to create, 0 to update, 0 to restart, 0 to replace, 0 to destroy. 1 error."},
		{plan.Plan{Changes: []plan.Change{pause, pause, hold}, Problems: []session.Diagnostic{fault, fault}},
			"Plan: 0 to create, 0 to update, 0 to restart, 0 to replace, 0 to destroy, 2 to pause, 1 held. 2 errors."},
	} {
		if got := planSummary(c.plan); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestDiagnostics(t *testing.T) {
	styles(t, "diagnostics", true, func(w io.Writer, s Style) error { return Diagnostics(w, s, sampleDiagnostics()) })
}

func TestWrap(t *testing.T) {
	long := strings.Repeat("x", 60)
	for text, want := range map[string][]string{
		long:                              {long},
		"at " + long:                      {"at", long},
		"one two three four five six":     {"one two three four", "five six"},
		"  indented " + long + " is kept": {"  indented " + long + " is kept"},
	} {
		if got := wrap(&page{Style: Style{Width: 24}}, text, 4); !slices.Equal(got, want) {
			t.Errorf("%q is wrapped to %q, want %q", text, got, want)
		}
	}
}

// TestFold checks that lines break at words, and that unbroken text gets its own line even if it is
// too wide.
func TestFold(t *testing.T) {
	command := "agentform answer first yes"
	for text, want := range map[string][]string{
		"one two three four five":                                      {"one two three four five"},
		"one two three four five six":                                  {"one two three four five", "    six"},
		"  trust:  true, starts without asking":                        {"  trust:  true, starts", "    without asking"},
		"日本 日本 日本 日本 日本 日本":                                            {"日本 日本 日本 日本 日本", "    日本"},
		"\x1b[1mone two three four fiv\x1b[0m six":                     {"\x1b[1mone two three four fiv\x1b[0m", "    six"},
		"first waits → " + unbroken(command) + " or so":                {"first waits →", "    " + command, "    or so"},
		"a: 0123456789abcdef01234567":                                  {"a: 0123456789abcdef01234567"},
		"to end: " + unbroken("agentform stop 'session.a b'"):          {"to end:", "    agentform stop 'session.a b'"},
		"a\x1b[2m " + unbroken("agentform resume api") + "\x1b[0m now": {"a\x1b[2m agentform resume api\x1b[0m", "    now"},
	} {
		p := &page{Style: Style{Width: 24}}
		p.prose(4, text)
		if got := strings.Split(strings.TrimSuffix(p.String(), "\n"), "\n"); !slices.Equal(got, want) {
			t.Errorf("%q is folded to %q, want %q", text, got, want)
		}
		p = &page{}
		if p.prose(4, text); p.String() != strings.ReplaceAll(text, "\x00", " ")+"\n" {
			t.Errorf("%q is %q without a terminal", text, p.String())
		}
	}
}

func TestErrors(t *testing.T) {
	at := sampleDiagnostics()[3]
	many := &multierror.Error{Errors: []error{errors.New("start session \"api\": tmux: no space left on device\nand more"), at}}
	golden(t, "errors.txt", func(w io.Writer) error {
		return Errors(w, Style{}, errors.Join(many, nil, errors.New("save state: disk is full")), nil, fmt.Errorf("wrapped: %w", errors.New("once")))
	})
}

func TestValid(t *testing.T) {
	ds := sampleDiagnostics()
	golden(t, "validate.txt", func(w io.Writer) error {
		for _, some := range [][]session.Diagnostic{nil, ds[2:3], ds[3:], ds[2:]} {
			if err := Valid(w, Style{}, 3, some); err != nil {
				return err
			}
		}
		return nil
	})
}

// applied returns the events of an apply with one failure.
func applied() []history.Event {
	ms := func(n int) session.Duration { return session.Duration(time.Duration(n) * time.Millisecond) }
	return []history.Event{
		{Time: at, Address: "session.api", Kind: history.ApplyStart, Action: "create"},
		{Time: at, Address: "session.db", Kind: history.ApplyStart, Action: "restart", Reason: "stale"},
		{Time: at.Add(time.Second), Address: "session.api", Run: "00112233445566aa", Kind: history.Launched, Detail: "not told"},
		{Time: at.Add(1200 * time.Millisecond), Address: "session.api", ID: "api-1f2e3d4c", Run: "00112233445566aa", Kind: history.ApplyComplete, Action: "create", Elapsed: ms(1200)},
		{Time: at.Add(10 * time.Second), Address: "session.db", Kind: history.ApplyProgress, Action: "restart", Elapsed: ms(10_020), Detail: "waiting for the agent to be ready"},
		{Time: at.Add(30 * time.Second), Address: "session.db", ID: "db-99", Kind: history.ApplyErrored, Action: "restart", Elapsed: ms(30_000),
			Detail: "ready: no prompt after 30s\nthe screen shows: Login required", Excerpt: "Login required\n"},
		{Time: at.Add(30 * time.Second), Address: session.Keyed("worker", "web"), Kind: history.ApplySkipped, Action: "create", Detail: "depends on session.db, which failed"},
		{Time: at.Add(30 * time.Second), Address: session.Indexed("pool", 0), Kind: history.ApplySkipped, Action: "create", Detail: `depends on session.worker["a b"], which was skipped`},
		{Time: at.Add(31 * time.Second), Address: "session.old", Kind: history.WorkKept, Action: "delete", Detail: "workspace /w has 2 uncommitted changes"},
		{Time: at.Add(31 * time.Second), Address: "session.old", Kind: history.ApplyComplete, Action: "delete", Elapsed: ms(80)},
	}
}

func failed() Tally {
	return Tally{Done: 2, Failed: 1, Skipped: 2, Errors: []error{errors.New("restart session.db: ready: no prompt after 30s\nthe screen shows: Login required")}, Elapsed: 31 * time.Second}
}

func TestProgress(t *testing.T) {
	styles(t, "progress", false, func(w io.Writer, s Style) error {
		p := NewProgress(w, s)
		for _, e := range applied() {
			p.Event(e)
		}
		if err := Summary(w, s, failed()); err != nil {
			return err
		}
		return Summary(w, s, Tally{Command: "Destroy", Done: 3})
	})
}

func TestStatus(t *testing.T) {
	styles(t, "status", true, func(w io.Writer, s Style) error { return Status(w, s, sampleSessions(), false, at) })
	golden(t, "status-calm.txt", func(w io.Writer) error {
		calm := sampleSessions()[1:2]
		calm[0].Detail = ""
		if err := Status(w, Style{Width: 80}, calm, false, at); err != nil {
			return err
		}
		return Status(w, Style{}, nil, false, at)
	})
}

// A reason shared by several sessions is written once.
func TestSameReason(t *testing.T) {
	trust := &session.Question{Text: "Trust it?", Options: []session.Option{{Number: 1, Word: session.Yes}, {Number: 2, Word: session.No}}}
	var sessions []api.Session
	for i := range 9 {
		x := api.Session{Address: session.Indexed("w", i), Name: fmt.Sprintf("w[%d]", i), ID: "x", State: session.StateRunning, Activity: session.Blocked, Detail: trust.String(), Question: trust}
		if i >= 6 {
			x = api.Session{Address: session.Indexed("w", i), Name: fmt.Sprintf("w[%d]", i), ID: "x", State: session.StateStale, Detail: "agent exited"}
		}
		sessions = append(sessions, x)
	}
	var b strings.Builder
	if err := Status(&b, Style{}, sessions, false, at); err != nil {
		t.Fatal(err)
	}
	_, notes, _ := strings.Cut(b.String(), "\n\n")
	if d := cmp.Diff(`w[0], w[1] and 4 more: asks: Trust it? [yes] [no]
  agentform answer 'w[0]' 'w[1]' 'w[2]' 'w[3]' 'w[4]' 'w[5]' ANSWER
w[6], w[7] and w[8]: agent exited

6 asks, 3 exited
`, notes); d != "" {
		t.Error(d)
	}
}

// The answers that do not fit on a line are next to the command.
func TestAnswersBesideTheCommand(t *testing.T) {
	q := &session.Question{Text: "run \"go test ./...\" in the whole repository?", Options: []session.Option{{Number: 1, Word: session.Yes}, {Number: 2, Word: session.Always}, {Number: 3, Word: session.No}}}
	x := api.Session{Address: "session.w", Name: "w", ID: "x", State: session.StateRunning, Activity: session.Blocked, Detail: q.String(), Question: q}
	var b strings.Builder
	if err := Status(&b, Style{Width: 60}, []api.Session{x}, false, at); err != nil {
		t.Fatal(err)
	}
	_, notes, _ := strings.Cut(b.String(), "\n\n")
	if d := cmp.Diff(`w: asks: run "go test ./..." in the whole repository?
  answer yes, always or no: agentform answer w ANSWER

1 asks
`, notes); d != "" {
		t.Error(d)
	}
}

func TestShow(t *testing.T) {
	styles(t, "show", false, func(w io.Writer, s Style) error { return Show(w, s, sampleShown(), at) })
}

func TestEvents(t *testing.T) {
	styles(t, "events", false, func(w io.Writer, s Style) error { return Events(w, s, sampleEvents(), at) })
}

func TestRecords(t *testing.T) {
	golden(t, "state.txt", func(w io.Writer) error {
		if err := StateList(w, []session.Record{*record("session.api", "a"), *record(session.Keyed("worker", "web"), "b")}); err != nil {
			return err
		}
		return StateShow(w, Style{}, *record("session.api", "agents/api"))
	})
}

func TestDoctor(t *testing.T) {
	styles(t, "doctor", false, func(w io.Writer, s Style) error {
		if err := Doctor(w, s, sampleFindings()); err != nil {
			return err
		}
		return Doctor(w, s, sampleFindings()[:1])
	})
}

func TestVersion(t *testing.T) {
	golden(t, "version.txt", func(w io.Writer) error {
		if err := Version(w, Build{"0.1.0", "f1ff7ee", "go1.26.0", "linux/amd64"}); err != nil {
			return err
		}
		return Version(w, Build{"dev", "", "go1.26.0", "darwin/arm64"})
	})
}
