package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

// TestSharedDirectory checks that a plan warns of a session that is to be created where
// another one works, and of no other.
func TestSharedDirectory(t *testing.T) {
	in := func(mode, path string) func(*session.Spec) {
		return func(s *session.Spec) {
			s.Branch, s.Workspace = "main", session.Workspace{Mode: mode, Repo: repo, Path: path}
		}
	}
	here := in(session.InPlace, repo)
	byRun := func(r *session.Record) { r.Origin = session.FromRun }
	for name, c := range map[string]struct {
		stage *stage
		want  []string
	}{
		"by run":               {newStage().record(spec("r", here), byRun).live("r").want(spec("a", here)), []string{"session.a works in the same directory as session.r"}},
		"declared and created": {newStage().all(spec("a", here)).want(spec("b", here)), []string{"session.b works in the same directory as session.a"}},
		"both new":             {newStage().checkout(repo, "main").want(spec("a", here), spec("b", here)), []string{"session.b works in the same directory as session.a"}},
		"a plain folder":       {newStage().record(spec("r", in(session.Plain, "/p")), byRun).live("r").want(spec("a", in(session.Plain, "/p"))), []string{"session.a works in the same directory as session.r"}},
		"it goes":              {newStage().record(spec("old", here)).live("old").want(spec("a", here)), nil},
		"both there already":   {newStage().all(spec("a", here)).all(spec("b", here)), nil},
		"another directory":    {newStage().record(spec("r", in(session.InPlace, "/other")), byRun).live("r").checkout(repo, "main").want(spec("a", here)), nil},
		"a worktree":           {newStage().record(spec("r", here), byRun).live("r").want(spec("a")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, d := range Compute(c.stage.in).Problems {
				if d.Severity == session.Warning {
					got = append(got, d.Summary)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
