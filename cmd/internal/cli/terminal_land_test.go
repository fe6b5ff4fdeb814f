//go:build real

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// At a terminal land asks what to do with the session; Enter leaves it as it is.
func TestLandAsks(t *testing.T) {
	self, err := exec.LookPath("fakeagent")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, `
agent "fake" {
  command = ["`+self+`"]
  ready   = "ready>"
}

session "api" {
  agent  = agent.fake
  branch = "agents/api"
}
`)
	w.run("apply", "--auto-approve", "--wait")
	found, err := filepath.Glob(filepath.Join(w.dir, ".agentform", "workspaces", "*", "agents-api"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if err := os.WriteFile(filepath.Join(found[0], "new.txt"), []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ keys, after, state string }{
		{"\r", "", "1 idle"},
		{"stop\r", "stopped", "1 stopped"},
		{"yes\r", "branch agents/api deleted", "0 sessions"},
	} {
		screen, terminal, end := w.inTerminal("land", "api", "--commit", "Add new")
		screen.await(t, "Remove session.api: stop it, remove its workspace and delete the branch agents/api?")
		press(t, terminal, x.keys)
		if x.after != "" {
			screen.await(t, x.after)
		}
		end()
		if got := w.run("status"); x.keys != "yes\r" && !strings.Contains(got, x.state) {
			t.Errorf("after %q:\n%s", x.keys, got)
		}
	}
	if _, err := os.Stat(found[0]); !os.IsNotExist(err) {
		t.Errorf("its workspace: %v", err)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "new.txt")); err != nil {
		t.Error(err)
	}
}
