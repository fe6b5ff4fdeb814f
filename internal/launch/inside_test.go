package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// configured is an agent that records what it is started with.
type configured struct {
	session.Agent
	in *session.StartInput
}

func (c configured) Start(in session.StartInput) session.Start {
	*c.in = in
	return session.Start{Argv: []string{"agent"}, Files: map[string]string{"settings": "text"}}
}

func (configured) Files(session.Lookup) []string { return nil }

// TestInside checks that an agent is given paths that it sees, and that the files of its run are
// written on this machine.
func TestInside(t *testing.T) {
	far := &session.DockerConfig{Host: "ssh://build"}
	for name, c := range map[string]struct {
		runtime session.RuntimeSpec
		tree    string // of the workspace; DATA is the data directory
		root    string // what the agent sees as the data directory
	}{
		"tmux":                    {session.RuntimeSpec{Kind: "tmux"}, "/anywhere", "DATA"},
		"docker":                  {session.RuntimeSpec{Kind: "docker", Docker: &session.DockerConfig{}}, "DATA/workspaces/a/b", "DATA"},
		"docker elsewhere":        {session.RuntimeSpec{Kind: "docker", Docker: far}, session.VolumeRoot + "/workspaces/a/b", session.VolumeRoot},
		"kubernetes":              {session.RuntimeSpec{Kind: "kubernetes"}, session.VolumeRoot + "/workspaces/a/b", session.VolumeRoot},
		"kubernetes, another one": {session.RuntimeSpec{Kind: "kubernetes"}, "/p/.agentform/workspaces/a/b", "/p/.agentform"},
		"not on a volume":         {session.RuntimeSpec{Kind: "kubernetes"}, "/anywhere", "DATA"}, // the runtime refuses it
	} {
		data := t.TempDir()
		here := func(path string) string { return strings.Replace(path, "DATA", data, 1) }
		var in session.StartInput
		r := Run{
			Record:  &session.Record{Spec: session.Spec{Runtime: c.runtime}, Tree: session.WorkspaceState{Path: here(c.tree)}, Run: session.Run{ID: "r1"}},
			Agent:   configured{in: &in},
			Runtime: sessiontest.New("lineage"),
		}
		dir, hook := filepath.Join(data, "runs", "r1"), []string{filepath.Join(data, "bin", "shim-1"), "notify"}
		l, err := r.Prepare(Options{Dir: dir, Hook: hook})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		root := here(c.root)
		if want := root + "/runs/r1/private"; in.Private != want {
			t.Errorf("%s: the settings are in %s, want %s", name, in.Private, want)
		}
		if want := []string{root + "/bin/shim-1", "notify", root + "/runs/r1"}; !slices.Equal(in.Notify, want) {
			t.Errorf("%s: the hooks are %q, want %q", name, in.Notify, want)
		}
		if text, err := os.ReadFile(filepath.Join(dir, Private, "settings")); err != nil || string(text) != "text" || l.RunDir != dir {
			t.Errorf("%s: %q, %v; the run is in %s", name, text, err, l.RunDir)
		}
		if hook[0] != filepath.Join(data, "bin", "shim-1") {
			t.Errorf("%s: the caller's hook is now %q", name, hook)
		}
	}
}
