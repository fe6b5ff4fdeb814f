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

// In ui the order in which all work lands is shown, and lands after a yes; then the others are
// refreshed.
func TestUILandsAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `
agent "fake" {
  command = ["fakeagent"]
  ready   = "ready>"
}

session "api" {
  agent  = agent.fake
  branch = "agents/api"
}

session "web" {
  agent  = agent.fake
  branch = "agents/web"
}
`)
	w.run("apply", "--auto-approve", "--wait")
	found, err := filepath.Glob(filepath.Join(w.dir, ".agentform", "workspaces", "*", "agents-api"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	git := func(args ...string) string {
		t.Helper()
		c := exec.Command("git", args...)
		c.Dir, c.Env = found[0], w.env
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	git("commit", "-q", "--allow-empty", "-m", "new")
	x := newWindow(t, w, `agentform --no-color ui; sleep 600`)
	x.await(`(?s)> api .*ready>.*enter attach`)
	for _, answer := range []struct{ text, after string }{
		{"no", `not approved: no changes made\s+Press Enter to return`},
		{"yes", `agents/api is merged into main: 1 commit(?s).*Press Enter to return`},
	} {
		x.keys("L")
		x.await(`a all sessions`)
		x.keys("a")
		x.await(`(?s)1\. +session.api.*Landing: 1 to land, 0 left out\..*Land 1 session in this order\?`)
		if got := git("log", "--format=%s", "-1", "main"); strings.Contains(got, "new") {
			t.Errorf("main is at %s", got)
		}
		x.typed(answer.text)
		x.keys("Enter")
		x.await(answer.after)
		x.keys("Enter")
		x.await(`\[Screen\]`)
	}
	if got := git("log", "--format=%s", "-1", "main"); got != "new\n" {
		t.Errorf("main is at %s", got)
	}
	x.keys("j", "R")
	x.await(`refresh web\? y/n`)
	x.keys("y")
	x.await(`refresh web: .*1 commit of main merged into agents/web`)
}
