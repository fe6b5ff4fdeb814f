package docker

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/install"
	"github.com/agentform/agentform/session"
)

// TestRoot checks where a session elsewhere has its volume, its program and its runs: the path of its
// workspace says so. The data directory of this machine is in a label.
func TestRoot(t *testing.T) {
	for _, root := range []string{session.VolumeRoot, "/p/.agentform"} {
		data := t.TempDir()
		c := Config{DataDir: data, Lineage: "lineage", Host: "ssh://build", Shim: []string{data + "/bin/shim-1"}, Shims: map[string]string{"amd64": data + "/bin/shim-1"}}
		d := files{dataDir: data}.session("a-1")
		d.sockets, d.dial = shim.InitFolder, func(context.Context, string) (shim.Conn, error) { return nil, os.ErrClosed }
		l := session.Launch{Mark: session.Mark{Project: "lineage", ID: "a-1", Run: "r1"}, Dir: root + "/workspaces/a/b", RunDir: data + "/runs/r1"}
		config, host := c.sessionSettings(l, d, git.Owner{UID: 1000, GID: 1000})
		if i := slices.IndexFunc(host.Mounts, func(m mount.Mount) bool { return m.Type == mount.TypeVolume }); i < 0 || host.Mounts[i].Target != root {
			t.Errorf("%s: mounts %+v", root, host.Mounts)
		}
		if want := root + "/bin/" + install.Programs(c.Shims).Name(); config.Entrypoint[0] != want || config.Labels[labelProgram] != want {
			t.Errorf("%s: entrypoint %q, labels %v", root, config.Entrypoint, config.Labels)
		}
		if got := (start{dirs: d, launch: l}).runDir(); got != root+"/runs/r1" {
			t.Errorf("%s: the run is started in %s", root, got)
		}
		if err := os.MkdirAll(d.own, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := d.save(record{Mark: l.Mark, Elsewhere: true, Dir: l.Dir}); err != nil {
			t.Fatal(err)
		}
		if got := d.runInside("r1"); got != root+"/runs/r1" {
			t.Errorf("%s: the run is in %s", root, got)
		}
		for dir, ours := range map[string]bool{data: true, "/other": false} {
			x := container.Summary{Names: []string{"/a"}, Labels: config.Labels}
			x.Labels[labelID] = "a-1"
			if l := listed(x, Config{DataDir: dir, Lineage: "another"}, ""); l.Ours != ours || !l.Foreign {
				t.Errorf("%s: started with %s: %v, want %v", root, dir, l.Ours, ours)
			}
			if l := listed(x, Config{Project: "new"}, ""); !l.Foreign {
				t.Errorf("%s: a project without a state takes it for its own", root)
			}
		}
	}
	d := files{dataDir: "/data"}.session("a-1")
	if got := (start{dirs: d, launch: session.Launch{Dir: "/data/workspaces/a/b", RunDir: "/data/runs/r1"}}).runDir(); got != "/data/runs/r1" {
		t.Errorf("here the run is started in %s", got)
	}
}
