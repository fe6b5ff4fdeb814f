package contained

import (
	"os/exec"
	"testing"

	"github.com/agentform/agentform/session"
)

// TestVolume checks that the name of a volume never changes, so that a session finds its work.
func TestVolume(t *testing.T) {
	const want = "agentform-api-ec26fb84d4a6"
	for _, root := range []string{session.VolumeRoot, "/p/.agentform", "/moved/.agentform"} {
		dir := root + "/workspaces/api/main"
		if got := Volume("5e1f", dir); got != want {
			t.Errorf("below %s: %s, want %s", root, got, want)
		}
		if got, err := OnVolume(dir); err != nil || got.Dir != root {
			t.Errorf("%s is on a volume at %q, %v", dir, got.Dir, err)
		}
	}
	for _, dir := range []string{"", "/p/api", "/workspaces/api/main", "/p/workspaces/api", "/p/workspaces/a/b/c", "p/workspaces/api/main", "/p/workspaces/api/../main"} {
		if got, err := OnVolume(dir); err == nil {
			t.Errorf("%q is on a volume at %q", dir, got.Dir)
		}
	}
}

// TestCheckout checks what is known of a workspace from its HEAD, or from the branch it was created
// for.
func TestCheckout(t *testing.T) {
	clone := session.Checkout{Path: "/w", Exists: true, Git: true, GitDir: "/w/.git", Repo: "/w/.git"}
	branch, detached := clone, clone
	branch.Branch, detached.Head = "main", "d4e98ada"
	for _, c := range []struct{ got, want session.Checkout }{
		{Checkout("/w", "ref: refs/heads/main"), branch},
		{Checkout("/w", "d4e98ada"), detached},
		{Made("/w", "main"), branch},
		{Made("/w", ""), session.Checkout{Path: "/w", Exists: true}},
	} {
		if c.got != c.want {
			t.Errorf("%+v, want %+v", c.got, c.want)
		}
	}
}

// TestInDir runs a command in a directory.
func TestInDir(t *testing.T) {
	argv := InDir("/", "sh", "-c", `echo "$PWD $1"`, "sh", "a b")
	if out, err := exec.Command("sh", argv[1:]...).Output(); err != nil || string(out) != "/ a b\n" {
		t.Errorf("%q, %v", out, err)
	}
}
