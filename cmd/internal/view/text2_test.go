package view

import (
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

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

// No row is wider than the terminal, and all rows end at the same column if the last one is aligned
// to the right, in any alphabet.
func TestTableFits(t *testing.T) {
	sessions := sampleSessions()
	sessions[0].Branch = "機能/日本語のブランチ名はとても長いです"
	for width := 60; width <= 160; width += 7 {
		var b strings.Builder
		if err := Status(&b, Style{Width: width}, sessions, false, at); err != nil {
			t.Fatal(err)
		}
		table, _, _ := strings.Cut(b.String(), "\n\n")
		g := glyphs()
		column := -1
		for line := range strings.SplitSeq(table, "\n") {
			if w := g.StringWidth(line); w > width {
				t.Errorf("width %d: %d columns: %s", width, w, line)
			}
			if end := g.StringWidth(line); strings.Contains(table, "AGE ") && column >= 0 && end != column {
				t.Errorf("width %d: ends at %d, not %d: %s", width, end, column, line)
			} else {
				column = end
			}
		}
	}
}

// A wrong branch is shown before the state of a session that may commit to it, and is counted. JSON
// keeps the state.
func TestWrongBranch(t *testing.T) {
	yes := true
	of := func(state session.State, co session.Checkout) api.Session {
		return status.Of(status.Input{Record: record("session.api", "agents/api"), Diagnosis: plan.Diagnosis{State: state, Alive: &yes}, Checkout: &co})
	}
	on := func(branch string) session.Checkout { return session.Checkout{Exists: true, Git: true, Branch: branch} }
	for name, c := range map[string]struct {
		api.Session
		word   string
		reason plan.Reason
	}{
		"runs":               {of(session.StateRunning, on("main")), status.WordWrongBranch, plan.ReasonBranchMismatch},
		"is paused":          {of(session.StatePaused, on("main")), status.WordWrongBranch, plan.ReasonBranchMismatch},
		"is not applied":     {of(session.StatePending, on("main")), status.WordWrongBranch, plan.ReasonBranchMismatch},
		"is detached":        {of(session.StateRunning, on("")), status.WordWrongBranch, plan.ReasonBranchMismatch},
		"is stopped":         {of(session.StateStopped, on("main")), "stopped", plan.ReasonBranchMismatch},
		"is in error":        {of(session.StateError, on("main")), "error", plan.ReasonBranchMismatch},
		"its folder is gone": {of(session.StateRunning, session.Checkout{}), "running", plan.ReasonWorkspaceGone},
		"is on its branch":   {of(session.StateRunning, on("agents/api")), "running", ""},
	} {
		want := "1 " + c.word
		if word := status.Word(c.Session); word != c.word || c.BranchReason != c.reason || Tallied([]api.Session{c.Session}) != want {
			t.Errorf("%s: %q because of %q, counted as %q, want %q because of %q", name, word, c.BranchReason, Tallied([]api.Session{c.Session}), c.word, c.reason)
		}
		if d := status.DocumentOf([]api.Session{c.Session}, api.Places{}, api.HubDown); d.Counts[c.State] != 1 || (d.WrongBranch == 1) != (c.word == status.WordWrongBranch) {
			t.Errorf("%s: in JSON %+v, %d", name, d.Counts, d.WrongBranch)
		}
	}
}

func TestUntil(t *testing.T) {
	for in, want := range map[time.Duration]string{4 * time.Minute: "in 4m", -4 * time.Minute: "4m ago", 0: "just now"} {
		c := plan.Change{Action: plan.Hold, Until: at.Add(in)}
		if got := until(c, at); !strings.HasSuffix(got, " ("+want+")") {
			t.Errorf("%s: %q", in, got)
		}
	}
}
