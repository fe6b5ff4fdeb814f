package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

// TestReplaceInAWorkspaceThatStands: git's list of worktrees is not read when
// every workspace stands as recorded.
func TestReplaceInAWorkspaceThatStands(t *testing.T) {
	s := newStage().all(spec("a"))
	s.in.World.Worktrees = nil
	s.in.Options.Replace = []session.Address{"session.a"}
	p := Compute(s.in)
	if diff := cmp.Diff("± a requested\n", story(p)); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if len(p.Problems) > 0 {
		t.Error(p.Problems)
	}
}

// TestStoppedWithAnExit: how a session that was stopped came to its end is known.
func TestStoppedWithAnExit(t *testing.T) {
	r := session.Record{Spec: spec("a"), Run: session.Run{ID: "run1"}, Override: &session.Override{Desired: session.Stopped}}
	w := session.World{Runtimes: map[string]error{r.Spec.Runtime.Engine(): nil}}
	if d := Diagnose(&r, nil, w); d.State != session.StateStopped || d.Activity != "" {
		t.Errorf("without an exit: %+v", d)
	}
	w.Runs = map[string]session.RunFacts{"run1": {Claimed: true, Exit: &session.Exit{Cause: "requested", Signal: "SIGTERM"}}}
	if d := Diagnose(&r, nil, w); d.State != session.StateStopped || d.Activity != session.Exited {
		t.Errorf("with an exit: %+v", d)
	}
}
