package contained

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// TestInspect checks that the files of a run are kept where the run has a directory, and nowhere
// else.
func TestInspect(t *testing.T) {
	for name, c := range map[string]struct {
		run  string
		dir  bool
		want bool
	}{
		"a run":        {run, true, true},
		"a pruned run": {run, false, false},
		"no run":       {"..", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			runs := t.TempDir()
			if c.dir {
				if err := os.Mkdir(filepath.Join(runs, c.run), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			asked := 0
			r, err := Inspect(shim.InitRequest{RunDir: "/runs/" + c.run, Copy: true}, runs, t.TempDir(), func(shim.InitRequest) (shim.InitReply, error) {
				asked++
				return shim.InitReply{Seen: &shim.ContainerRun{Agent: true}, Files: &rundir.Files{Claim: []byte("{}")}, More: asked < 3}, nil
			})
			if err != nil || r.Seen == nil || asked != 3 {
				t.Errorf("%+v, %v, asked %d times", r, err, asked)
			}
			if _, err := os.Lstat(filepath.Join(runs, c.run, rundir.ClaimFile)); err == nil != c.want {
				t.Errorf("its claim: %v, kept %v", err, c.want)
			}
		})
	}
}
