//go:build real

package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/agentform/agentform/internal/test/wait"
)

// TestAttach hands a real terminal over: the agent is typed to, Ctrl-b d comes
// back, and the agent works on.
func TestAttach(t *testing.T) {
	w := newWorld(t, `
agent "fake" {
  command = ["fakeagent"]
  ready   = "ready>"
}

session "api" {
  agent  = agent.fake
  branch = "agents/api"
}
`)
	w.run("apply", "--auto-approve", "--wait")
	c := w.command("attach", "api")
	// As from inside another tmux, where tmux refuses to attach.
	c.Env = append(c.Env, "TERM=xterm-256color", "TMUX=/tmp/other,1,0", "TMUX_PANE=%7")
	var screen screen
	c.Stderr = &screen // tmux throws away what a terminal has not shown yet when it takes it over
	terminal, err := pty.StartWithSize(c, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	go io.Copy(&screen, terminal) // ends with the terminal

	screen.await(t, "Ctrl-b d")
	screen.await(t, "ready>")
	if _, err := terminal.WriteString("typed by hand\r"); err != nil {
		t.Fatal(err)
	}
	screen.await(t, "you said: typed by hand")
	for _, key := range []string{"\x02", "d"} {
		time.Sleep(50 * time.Millisecond) // keys at once are a paste to tmux, and no command
		if _, err := terminal.WriteString(key); err != nil {
			t.Fatal(err)
		}
	}
	if err := ended(t, c, &screen); err != nil {
		t.Fatalf("attach: %v\n%s", err, &screen)
	}
	if got := w.run("capture", "api"); !strings.Contains(got, "you said: typed by hand") {
		t.Errorf("the session's screen is\n%s", got)
	}
	if got := w.run("status"); !strings.Contains(got, "1 idle") {
		t.Errorf("after detaching:\n%s", got)
	}
}

// world is a repository with a manifest, and a home.
type world struct {
	t   *testing.T
	dir string
	env []string
}

func newWorld(t *testing.T, manifest string) *world {
	t.Helper()
	short, err := os.MkdirTemp("/tmp", "af")
	if err != nil {
		t.Fatal(err)
	}
	done, err := endLater(short)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: filepath.Join(short, "shop")}
	t.Cleanup(func() {
		defer done()
		end(short)
		if err := os.RemoveAll(short); err != nil {
			t.Error(err)
		}
	})
	for _, dir := range []string{"shop", "home", "run"} {
		if err := os.Mkdir(filepath.Join(short, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(short, "home"), "XDG_RUNTIME_DIR=" + filepath.Join(short, "run"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=tester", "GIT_AUTHOR_EMAIL=tester@example.invalid",
		"GIT_COMMITTER_NAME=tester", "GIT_COMMITTER_EMAIL=tester@example.invalid", "USER=tester", "LANG=C.UTF-8",
		"DOCKER_HOST=" + os.Getenv("DOCKER_HOST"),
	}
	if err := os.WriteFile(filepath.Join(w.dir, "agentform.hcl"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "a shop"}} {
		c := exec.Command("git", args...)
		c.Dir, c.Env = w.dir, w.env
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return w
}

func (w *world) command(args ...string) *exec.Cmd {
	c := exec.Command("agentform", args...)
	c.Dir, c.Env = w.dir, append([]string(nil), w.env...)
	return c
}

// run runs agentform, which must succeed, and returns its standard output.
func (w *world) run(args ...string) string {
	w.t.Helper()
	out, err := w.command(args...).Output()
	if err != nil {
		var exit *exec.ExitError
		errors.As(err, &exit)
		w.t.Fatalf("agentform %v: %v\n%s%s", args, err, out, exit.Stderr)
	}
	return string(out)
}

// screen gathers what a terminal shows.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *screen) await(t *testing.T, text string) {
	t.Helper()
	wait.For(t, fmt.Sprintf("the terminal shows %q", text), func() (any, bool) {
		shown := s.String()
		return strconv.Quote(shown), strings.Contains(shown, text)
	})
}

// ended waits until a command that was started has ended, and returns its error.
func ended(t *testing.T, c *exec.Cmd, shown *screen) (err error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	wait.For(t, fmt.Sprintf("%q has ended", c.Args), func() (any, bool) {
		select {
		case err = <-done:
			return "", true
		default:
			return shown, false
		}
	})
	return err
}
