package view

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

func TestSessionOf(t *testing.T) {
	yes, no := true, false
	alive := plan.Diagnosis{State: session.StateRunning, Alive: &yes, Detail: "running"}
	r := record("session.api", "agents/api")
	on := func(branch string) *session.Checkout {
		return &session.Checkout{Exists: true, Git: true, Branch: branch}
	}
	for name, c := range map[string]struct {
		known Known
		check func(Session) bool
	}{
		"not ready is starting": {Known{Record: r, Diagnosis: alive, Look: &activity.Look{Activity: session.NoActivity, Starting: true}},
			func(s Session) bool { return s.State == session.StateStarting && s.Status == session.StatusBooting }},
		"a question before it is ready": {Known{Record: r, Diagnosis: alive, Look: &activity.Look{Activity: session.Blocked, Starting: true}},
			func(s Session) bool { return s.State == session.StateStarting && s.Status == session.StatusBlocked }},
		"booting is starting": {Known{Record: r, Diagnosis: alive, Reading: session.Reading{Activity: session.Booting}},
			func(s Session) bool { return s.State == session.StateStarting && s.Status == session.StatusBooting }},
		"running says what the agent says": {Known{Record: r, Diagnosis: alive, Reading: session.Reading{Activity: session.BlockedAPI, Detail: "limit until 3pm", PR: "https://example.org/pull/1"}},
			func(s Session) bool {
				return s.Status == session.StatusBlockedAPI && s.Detail == "limit until 3pm" && s.PR == "https://example.org/pull/1"
			}},
		"unknown is not dead": {Known{Record: r, Diagnosis: plan.Diagnosis{State: session.StateUnknown, Activity: session.NoActivity, Detail: "no answer"}},
			func(s Session) bool {
				return s.Alive == nil && s.PID == nil && s.Health == "unknown" && s.Detail == "no answer"
			}},
		"the manifest's word, a person's before it": {Known{Wanted: wanted(spec("session.api", "agents/new")), Record: overridden(*r), Diagnosis: alive},
			func(s Session) bool { return s.Branch == "agents/new" && s.Desired == session.Stopped }},
		"recorded trouble is told": {Known{Record: troubled(*r), Diagnosis: plan.Diagnosis{State: session.StateError, Alive: &no}},
			func(s Session) bool { return s.Detail == "setup: exit status 2" && s.Status == session.StatusFailed }},
		"live ids win": {Known{Record: r, Diagnosis: alive, Live: &session.Live{Vital: session.Alive, Agent: session.Process{PID: 7}, Place: session.Place{Pane: "%9"}, Started: at}},
			func(s Session) bool { return *s.PID == 7 && s.PaneID == "%9" && s.StartedAt.Equal(utc(at)) }},
		"only live": {Known{Live: &session.Live{Mark: session.Mark{Address: "session.ghost", ID: "ghost-1"}, Place: session.Place{Runtime: "tmux"}}, Diagnosis: alive},
			func(s Session) bool {
				return s.Address == "session.ghost" && s.ID == "ghost-1" && s.Runtime == "tmux" && s.Origin == ""
			}},
		"only wanted": {Known{Wanted: wanted(spec("session.api", "agents/api")), Checkout: &session.Checkout{}, Diagnosis: plan.Diagnosis{State: session.StatePending, Alive: &no, Reason: plan.ReasonNew, Detail: "not on record"}},
			func(s Session) bool {
				return s.BranchOK == nil && s.Detail == "not on record" && s.ID == "" && !s.Observable
			}},
		"on its branch":     {Known{Record: r, Diagnosis: alive, Checkout: on("agents/api")}, func(s Session) bool { return *s.BranchOK }},
		"on another branch": {Known{Record: r, Diagnosis: alive, Checkout: on("main")}, func(s Session) bool { return !*s.BranchOK && s.BranchLive == "main" }},
		"workspace gone":    {Known{Record: r, Diagnosis: alive, Checkout: &session.Checkout{}}, func(s Session) bool { return !*s.BranchOK }},
		"workspace not read": {Known{Record: r, Diagnosis: alive, Checkout: &session.Checkout{Err: errors.New("permission denied")}}, func(s Session) bool {
			return s.BranchOK == nil && strings.Contains(s.why(time.Now()), "cannot be read: permission denied")
		}},
		"observable by then":  {Known{Record: r, Diagnosis: alive}, func(s Session) bool { return s.Observable }},
		"before its prompt":   {Known{Record: unprompted(*r), Diagnosis: alive}, func(s Session) bool { return !s.Observable }},
		"before its turn":     {Known{Record: codex(*r), Diagnosis: alive}, func(s Session) bool { return !s.Observable }},
		"after its turn":      {Known{Record: codex(*r), Diagnosis: alive, FirstTurnAt: at}, func(s Session) bool { return s.Observable && s.FirstTurnAt.Equal(utc(at)) }},
		"restarts of the run": {Known{Record: r, Diagnosis: alive}, func(s Session) bool { return s.Restarts == 1 }},
	} {
		if s := SessionOf(c.known); !c.check(s) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// The wrong branch comes before the state of a session that may commit to it, and is
// counted. JSON keeps the state.
func TestWrongBranch(t *testing.T) {
	yes := true
	of := func(state session.State, co session.Checkout) Session {
		return SessionOf(Known{Record: record("session.api", "agents/api"), Diagnosis: plan.Diagnosis{State: state, Alive: &yes}, Checkout: &co})
	}
	on := func(branch string) session.Checkout { return session.Checkout{Exists: true, Git: true, Branch: branch} }
	for name, c := range map[string]struct {
		Session
		word   string
		reason plan.Reason
	}{
		"runs":               {of(session.StateRunning, on("main")), wrongBranch, plan.ReasonBranchMismatch},
		"is paused":          {of(session.StatePaused, on("main")), wrongBranch, plan.ReasonBranchMismatch},
		"is not applied":     {of(session.StatePending, on("main")), wrongBranch, plan.ReasonBranchMismatch},
		"is detached":        {of(session.StateRunning, on("")), wrongBranch, plan.ReasonBranchMismatch},
		"is stopped":         {of(session.StateStopped, on("main")), "stopped", plan.ReasonBranchMismatch},
		"is in error":        {of(session.StateError, on("main")), "error", plan.ReasonBranchMismatch},
		"its folder is gone": {of(session.StateRunning, session.Checkout{}), "running", plan.ReasonWorkspaceGone},
		"is on its branch":   {of(session.StateRunning, on("agents/api")), "running", ""},
	} {
		p := &page{}
		want := "1 " + c.word
		if word, _ := c.stateWord(); word != c.word || c.BranchReason != c.reason || p.stateCounts([]Session{c.Session}) != want {
			t.Errorf("%s: %q because of %q, counted as %q, want %q because of %q", name, word, c.BranchReason, p.stateCounts([]Session{c.Session}), c.word, c.reason)
		}
		if d := StatusOf([]Session{c.Session}, HubDown); d.Counts[c.State] != 1 || (d.WrongBranch == 1) != (c.word == wrongBranch) {
			t.Errorf("%s: in JSON %+v, %d", name, d.Counts, d.WrongBranch)
		}
	}
}

func overridden(r session.Record) *session.Record {
	r.Override = &session.Override{Desired: session.Stopped, By: "ada", At: at}
	return &r
}

func troubled(r session.Record) *session.Record {
	r.Trouble = "setup: exit status 2"
	return &r
}

func unprompted(r session.Record) *session.Record {
	r.Run.DeliveredAt = time.Time{}
	return &r
}

func codex(r session.Record) *session.Record {
	r.Spec.Agent.Observable = "after_first_turn"
	return &r
}

func TestLookByHand(t *testing.T) {
	x := sampleShown()
	x.Record.Place = session.Place{Runtime: "docker", Name: "shop-api", Container: "shop-api", Socket: "/run/a b"}
	want := "docker exec -it shop-api tmux -S '/run/a b' attach -t '=shop-api'"
	if got := x.lookByHand(); len(got) != 2 || got[0] != want {
		t.Errorf("got %q, want first %q", got, want)
	}
	x.Record.Place = session.Place{Runtime: "docker", Name: "theirs", Container: "theirs"}
	if got := x.lookByHand(); len(got) != 2 || got[0] != "docker exec -it theirs tmux attach" || got[1] != "docker exec -it theirs tmux capture-pane -p" {
		t.Errorf("of an adopted container, whose tmux session has a name of its own: %q", got)
	}
	x.State = session.StateError
	if got := x.lookByHand(); got != nil {
		t.Errorf("where there is nothing to look at: %q", got)
	}
	for in, want := range map[string]string{"": "''", "a/b.c": "a/b.c", "=x": "'=x'", "it's": `'it'\''s'`, "$(x)": "'$(x)'"} {
		if got := Shell(in); got != want {
			t.Errorf("Shell(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 59 * time.Second: "59s", 3*time.Minute + 50*time.Second: "3m", 2 * time.Hour: "2h",
		2*time.Hour + 5*time.Minute: "2h5m", 75 * time.Hour: "3d3h", 240 * time.Hour: "10d",
	} {
		if got := Age(d); got != want {
			t.Errorf("Age(%v) = %s, want %s", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-1: "0ms", 99 * time.Millisecond: "99ms", 100 * time.Millisecond: "0.1s", 1234 * time.Millisecond: "1.2s", 9949 * time.Millisecond: "9.9s", 9950 * time.Millisecond: "10s", 12300 * time.Millisecond: "12s",
		59900 * time.Millisecond: "1m0s", 125 * time.Second: "2m5s", 63 * time.Minute: "1h3m",
	} {
		if got := Elapsed(d); got != want {
			t.Errorf("Elapsed(%v) = %s, want %s", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 1234: "1.2 kB", 999_949: "999.9 kB", 999_950: "1.0 MB", 3_400_000_000: "3.4 GB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestTidy(t *testing.T) {
	for in, want := range map[string]string{
		"15m0s": "15m", "1h0m0s": "1h", "1h5m0s": "1h5m", "10h0m30s": "10h0m30s", "0s": "0s", "10s": "10s", "on-failure": "on-failure", "60s": "60s",
	} {
		if got := tidy("restart.window", in); got != want {
			t.Errorf("tidy(%s) = %v, want %s", in, got, want)
		}
	}
	if got := tidy("env", "1h0m0s"); got != "1h0m0s" {
		t.Errorf("a user's own value became %v", got)
	}
}

func TestDependency(t *testing.T) {
	for in, want := range map[string]string{
		"depends on session.db, which failed":               "session.db",
		`depends on session.w["a b"], which was skipped`:    `session.w["a b"]`,
		"waits for the end of session.pool[12], which died": "session.pool[12]",
		"interrupted": "", "session.": "", `session.w["a\"]b"], which`: `session.w["a\"]b"]`,
	} {
		if got := dependency(in); got != want {
			t.Errorf("dependency(%q) = %q, want %q", in, got, want)
		}
	}
}

// No row is wider than the terminal, and all end at one place where the last
// column is aligned to the right, whatever alphabets stand in them.
func TestTableFits(t *testing.T) {
	sessions := sampleSessions()
	sessions[0].Branch = "機能/日本語のブランチ名はとても長いです"
	for width := 60; width <= 160; width += 7 {
		var b strings.Builder
		if err := Status(&b, Style{Width: width}, sessions, at); err != nil {
			t.Fatal(err)
		}
		table, _, _ := strings.Cut(b.String(), "\n\n")
		g := glyphs()
		column := -1
		for line := range strings.SplitSeq(table, "\n") {
			if w := g.StringWidth(line); w > width {
				t.Errorf("width %d: %d columns: %s", width, w, line)
			}
			if end := g.StringWidth(line); strings.Contains(table, "AGE") && column >= 0 && end != column {
				t.Errorf("width %d: ends at %d, not %d: %s", width, end, column, line)
			} else {
				column = end
			}
		}
	}
}

// What the hub holds back is said once, however often it is laid on.
func TestHoldTwice(t *testing.T) {
	k := Known{Diagnosis: plan.Diagnosis{State: session.StateStale, Detail: "stale: exit status 1"}}
	c := plan.Change{Action: plan.Hold, Reason: plan.ReasonSecret, Detail: "secret KEY cannot be had", State: session.StateStale}
	k.Hold(c)
	k.Hold(c)
	if want := "stale: exit status 1; secret KEY cannot be had"; k.Diagnosis.Detail != want {
		t.Errorf("it says %q, want %q", k.Diagnosis.Detail, want)
	}
}
