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
