//go:build real

package cli_test

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/internal/test/wait"
)

// TestMenu is a stale session, on tmux and in a container, attached to from a real
// terminal: the menu, R, the agent in the same place, Ctrl-b d; then T.
func TestMenu(t *testing.T) {
	self, err := exec.LookPath("fakeagent")
	if err != nil {
		t.Fatal(err)
	}
	image := testImage(t)
	for kind, test := range map[string]struct{ block, runtime, stale string }{
		"tmux": {"", `"tmux"`, "agent exited"},
		"docker": {fmt.Sprintf(`runtime "docker" "box" {
  image   = %q
  network = "none"
  mounts  = [{ source = %q, target = %q, read_only = true }]
}`, image, filepath.Dir(self), filepath.Dir(self)), "runtime.docker.box", "agent exited"},
	} {
		t.Run(kind, func(t *testing.T) {
			project := newProject()
			t.Cleanup(func() { removeContainers(t, project) })
			menu(t, newWorld(t, fmt.Sprintf(`
agentform {
  project = %q
}

%s

agent "fake" {
  command = [%q]
  ready   = "ready>"
}

session "api" {
  agent   = agent.fake
  branch  = "agents/api"
  runtime = %s
}
`, project, test.block, self, test.runtime)), project, test.stale)
		})
	}
}

func menu(t *testing.T, w *world, project, stale string) {
	w.run("apply", "--auto-approve", "--wait")
	was := ids(t, project)
	w.leave()
	screen, terminal, end := w.attach()
	screen.await(t, stale)
	screen.await(t, "[R]estart session")
	press(t, terminal, "R\r")
	screen.await(t, "Ctrl-b d")
	screen.await(t, "ready>")
	press(t, terminal, "typed by hand\r")
	screen.await(t, "you said: typed by hand")
	for _, key := range []string{"\x02", "d"} {
		time.Sleep(50 * time.Millisecond) // keys at once are a paste to tmux, and no command
		press(t, terminal, key)
	}
	end()
	if is := ids(t, project); is != was {
		t.Errorf("it is in another container: %s, not %s", is, was)
	}
	if got := w.run("status"); !strings.Contains(got, "1 idle") {
		t.Errorf("after detaching:\n%s", got)
	}

	w.leave()
	screen, terminal, end = w.attach()
	screen.await(t, "[T]ear down")
	press(t, terminal, "t\r")
	screen.await(t, "destroyed")
	end()
	if left := ids(t, project); left != "" {
		t.Errorf("left: %s", left)
	}
}

// ids are those of the project's containers.
func ids(t *testing.T, project string) string {
	t.Helper()
	out, err := dockertest.Docker(nil, "ps", "-aq", "--no-trunc", "--filter", "name=^"+project+"-")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// leave lets the session's agent leave.
func (w *world) leave() {
	w.t.Helper()
	w.run("send", "api", "exit 0", "--no-enter")
	w.run("send", "api", "--key", "Enter")
	wait.For(w.t, "the session is stale", func() (any, bool) {
		shown := w.run("status")
		return shown, strings.Contains(shown, "1 exited")
	})
}

// attach attaches to the session in a terminal.
func (w *world) attach() (shown *screen, terminal io.Writer, end func()) {
	w.t.Helper()
	return w.inTerminal("attach", "api")
}

// inTerminal runs agentform in a terminal. end waits for its end.
func (w *world) inTerminal(args ...string) (shown *screen, terminal io.Writer, end func()) {
	w.t.Helper()
	c := w.command(args...)
	c.Env = append(c.Env, "TERM=xterm-256color")
	shown = &screen{}
	c.Stderr = shown // tmux throws away what a terminal has not shown yet when it takes it over
	file, err := pty.StartWithSize(c, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { file.Close() })
	go io.Copy(shown, file) // ends with the terminal
	return shown, file, func() {
		w.t.Helper()
		if err := ended(w.t, c, shown); err != nil {
			w.t.Fatalf("%v: %v\n%s", args, err, shown)
		}
	}
}

func press(t *testing.T, terminal io.Writer, keys string) {
	t.Helper()
	if _, err := io.WriteString(terminal, keys); err != nil {
		t.Fatal(err)
	}
}
