package projectdir

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFind finds projects by the manifests and states around a directory.
func TestFind(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("shop/agentform.hcl")
	write("shop/sub/deep/x")
	write("shop/inner/other.agentform.json")
	write("shop/.agentform/state.json")
	write("shop/.agentform/workspaces/api/b/agentform.hcl")
	write("shop/.agentform/agents/x")
	write("run/.agentform/state.json")
	write("run/sub/x")
	write("far/var/state.json")
	write("far/var/workspaces/api/b/x")
	write("far/agentform.hcl")
	write("lost/agentform.hcl")
	write("lost/.agentform/workspaces/api/b/agentform.hcl")
	write("none/x")
	for dir, want := range map[string]Found{
		"shop":                             {Dir: "shop"},
		"shop/sub/deep":                    {Dir: "shop"},
		"shop/inner":                       {Dir: "shop/inner"},
		"shop/.agentform/agents":           {Dir: "shop"},
		"shop/.agentform/workspaces":       {Dir: "shop"},
		"shop/.agentform/workspaces/api/b": {Dir: "shop", Workspace: true},
		"run/sub":                          {Dir: "run"},
		"far/var/workspaces/api/b":         {Dir: "far", Workspace: true},
		"lost/.agentform/workspaces/api/b": {Dir: "lost", Workspace: true},
		"none":                             {Dir: "none"},
		"is/not/there":                     {Dir: "is/not/there"},
	} {
		want.Dir = filepath.Join(root, want.Dir)
		if got := Find(filepath.Join(root, dir)); got != want {
			t.Errorf("Find(%s) = %+v, want %+v", dir, got, want)
		}
	}
}

// TestTrusted checks whose manifests and states above a directory count. Only root can try files of
// other users.
func TestTrusted(t *testing.T) {
	const root, me, owner, stranger = 0, 1000, 1001, 1002
	for _, c := range []struct {
		of, home, me int
		want         bool
	}{
		{of: me, home: me, me: me, want: true},
		{of: root, home: me, me: me, want: true},
		{of: owner, home: owner, me: me, want: true},
		{of: me, home: owner, me: me, want: true},
		{of: stranger, home: me, me: me},
		{of: stranger, home: owner, me: me},
		{of: stranger, home: root, me: root},
		{of: stranger, home: me, me: root},
	} {
		if got := trusted(c.of, c.home, c.me); got != c.want {
			t.Errorf("a file of %d above a directory of %d: %d trusts it: %v, want %v", c.of, c.home, c.me, got, c.want)
		}
	}
}

// TestFindPassesOverStrangers finds no manifest of another user above the directory.
func TestFindPassesOverStrangers(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(root, "sub")
	manifest := filepath.Join(root, "agentform.hcl")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := Find(sub).Dir; got != root {
		t.Fatalf("Find = %s, want %s", got, root)
	}
	if os.Geteuid() != 0 {
		return // without files of other users, TestTrusted has the rest
	}
	if err := os.Chown(manifest, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if got := Find(sub).Dir; got != sub {
		t.Errorf("Find = %s: a manifest of another user counts", got)
	}
	if got := Find(root).Dir; got != root {
		t.Errorf("Find = %s, want %s", got, root)
	}
}
