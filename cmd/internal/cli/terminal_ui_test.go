//go:build real

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/internal/test/wait"
)

// window is a terminal of a tmux server of its own.
type window struct {
	t      *testing.T
	env    []string
	socket string
}

// newWindow runs a shell command in a terminal of 80 × 24.
func newWindow(t *testing.T, w *world, command string) *window {
	t.Helper()
	x := &window{t: t, env: append(w.env, "TERM=xterm-256color"), socket: filepath.Join(filepath.Dir(w.dir), "ui.sock")}
	c := exec.Command("tmux", "-S", x.socket, "-f", "/dev/null", "new-session", "-d", "-s", "ui", "-x", "80", "-y", "24", "-c", w.dir, command)
	c.Dir, c.Env = w.dir, x.env
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v\n%s", err, out)
	}
	t.Cleanup(func() { x.tmux("kill-server") })
	return x
}

func (x *window) tmux(args ...string) string {
	x.t.Helper()
	c := exec.Command("tmux", append([]string{"-S", x.socket}, args...)...)
	c.Env = x.env
	out, err := c.CombinedOutput()
	if err != nil {
		x.t.Errorf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (x *window) keys(keys ...string) {
	x.t.Helper()
	for _, k := range keys {
		x.tmux("send-keys", "-t", "ui", k)
		time.Sleep(50 * time.Millisecond) // keys at once are a paste to the tmux inside, and no command
	}
}

func (x *window) typed(text string) {
	x.t.Helper()
	x.tmux("send-keys", "-t", "ui", "-l", text)
}

// await waits until the terminal shows a text that the pattern matches, and returns all it
// shows.
func (x *window) await(pattern string) (shown string) {
	x.t.Helper()
	re := regexp.MustCompile(pattern)
	wait.For(x.t, fmt.Sprintf("the terminal shows %q", pattern), func() (any, bool) {
		shown = x.tmux("capture-pane", "-p", "-t", "ui")
		return shown, re.MatchString(shown)
	})
	return shown
}

// restored checks that the terminal is as a shell needs it.
func (x *window) restored() {
	x.t.Helper()
	if got := x.tmux("display-message", "-p", "-t", "ui", "#{alternate_on} #{cursor_flag}"); got != "0 1\n" {
		x.t.Errorf("alternate screen and cursor: %q", got)
	}
	shown := x.tmux("capture-pane", "-p", "-S", "-", "-t", "ui")
	if !regexp.MustCompile(`\sicanon\s`).MatchString(shown) || !regexp.MustCompile(`\secho\s`).MatchString(shown) {
		x.t.Errorf("the terminal is not as before:\n%s", shown)
	}
}

const uiManifest = `
agent "fake" {
  command = ["fakeagent"]
  ready   = "ready>"
}

session "worker" {
  for_each  = toset(["docs", "web"])
  agent     = agent.fake
  branch    = "agents/${each.key}"
}

session "api" {
  agent  = agent.fake
  branch = "agents/api"
}
`

// TestUI is a person at a terminal of 80 × 24.
func TestUI(t *testing.T) {
	t.Parallel()
	w := newWorld(t, uiManifest)
	w.run("apply", "--auto-approve", "--wait")
	x := newWindow(t, w, `agentform --no-color ui; echo "left with $?"; stty -a; sleep 600`)

	shown := x.await(`(?s)> api .*ready>.*enter attach`)
	if lines := strings.Split(strings.TrimRight(shown, "\n"), "\n"); len(lines) != 24 || !strings.Contains(shown, "hub down") {
		t.Errorf("%d lines:\n%s", len(lines), shown)
	}
	if colored := x.tmux("capture-pane", "-e", "-p", "-t", "ui"); strings.Contains(colored, "\x1b[") {
		t.Errorf("without colors: %q", colored)
	}

	x.keys("/")
	x.typed("web")
	x.await(`> worker\["web"\]`)
	x.keys("Enter", "s")
	x.typed("hello there")
	x.keys("Enter")
	x.await(`(?s)you said: hello there.*send to worker\["web"\]: `)
	x.keys("Escape")
	x.await(`worker\["docs"\]`)

	x.keys("e")
	x.await(`(?s)\[Events\].*sent.*by tester`)
	x.keys("p")
	x.await(`(?s)\[Plan\].*No changes`)
	x.keys("l")
	x.await(`\[Log\]`)
	x.keys("?")
	x.await(`any key returns`)
	x.keys("x", "Escape")
	x.await(`\[Screen\]`) // Esc and a key at once are Alt and the key

	// Attach and back, also with another size.
	x.keys("Enter")
	x.await(`detaches; the agent keeps running`)
	x.typed("by hand")
	x.keys("Enter")
	x.await(`you said: by hand`)
	x.keys("C-b", "d")
	x.await(`(?s)\[Screen\].*you said: by hand`)
	x.tmux("resize-window", "-t", "ui", "-x", "50", "-y", "10")
	x.await(`(?s)^shop .*\n  SESSION *\n.*enter attach.*q quit *\n$`)
	x.tmux("resize-window", "-t", "ui", "-x", "120", "-y", "30")
	x.await(`: command  \? help  q quit`)

	x.keys(":")
	x.typed("status %")
	x.keys("Enter")
	x.await(`(?s)agents/web.*Press Enter to return`)
	x.keys("Enter")
	x.await(`\[Screen\]`)

	// Its agent is killed while somebody looks at it.
	pid := regexp.MustCompile(`"pid": (\d+)`).FindStringSubmatch(w.run("show", "--json", `worker["web"]`))
	if pid == nil {
		t.Fatal("show does not tell the process")
	}
	n, _ := strconv.Atoi(pid[1])
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	x.await(`worker\["web"\] +exited`)
	x.keys("r")
	x.await(`restart worker\["web"\]\? y/n`)
	x.keys("y")
	x.await(`restart worker\["web"\]: .*restarted`)

	// A session that is new in the manifest appears.
	more := uiManifest + "session \"zebra\" {\n  agent  = agent.fake\n  branch = \"agents/zebra\"\n}\n"
	if err := os.WriteFile(filepath.Join(w.dir, "agentform.hcl"), []byte(more), 0o600); err != nil {
		t.Fatal(err)
	}
	x.await(`zebra +pending`)

	x.keys("C-c")
	x.await(`left with 0`)
	x.restored()
}

// TestUIAnswers answers a question by a key, and shows the diff of what the agent did.
func TestUIAnswers(t *testing.T) {
	t.Parallel()
	self, err := exec.LookPath("fakeagent")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, `
agent "fake" {
  base    = "claude"
  command = ["`+self+`", "-as-claude"]
}

session "api" {
  agent  = agent.fake
  branch = "agents/api"
}
`)
	w.run("apply", "--auto-approve", "--wait")
	w.run("send", "api", "ask touch x")
	w.run("wait", "api", "--for=blocked", "--timeout", "5m")
	path := strings.TrimSpace(w.run("path", "api"))
	if err := os.WriteFile(filepath.Join(path, "new.txt"), []byte("of the agent\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := newWindow(t, w, `agentform --no-color ui; echo "left with $?"; sleep 600`)
	x.await(`(?s)> api +asks.*a answer`)
	x.keys("d")
	x.await(`(?s)\[Diff\].*\+of the agent`)
	x.keys("a")
	x.await(`run "touch x"\?.*\[y\] Yes`)
	x.keys("n")
	x.await(`answer api: .*answered no`)

	git := func(args ...string) {
		c := exec.Command("git", append([]string{"-C", path}, args...)...)
		c.Env = w.env
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("add", "new.txt")
	git("commit", "-qm", "add a file")
	x.keys("Escape")
	x.await(`agents/api  \+1 ↑1`)
	x.keys("L")
	x.await(`s squash (?s).*land api\? m/s/r/p`)
	x.keys("m")
	x.await(`(?s)Remove session.api.*\[no\]:`)
	x.keys("Enter")
	x.await(`Press Enter to return`)
	x.keys("Enter")
	x.await(`agents/api  none`)
	x.keys("x", "y")
	x.await(`api +stopped`)
	x.keys("q")
	x.await(`left with 0`)
}

// TestUIWithoutManifest starts a session in a repository that has neither a manifest nor a
// state.
func TestUIWithoutManifest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, uiManifest)
	if err := os.Remove(filepath.Join(w.dir, "agentform.hcl")); err != nil {
		t.Fatal(err)
	}
	executable.Write(t, filepath.Join(w.dir, "claude"), []byte("#!/bin/sh\nread line\n"), 0o700)
	x := newWindow(t, w, `PATH=$PWD:$PATH agentform ui; echo "left with $?"; sleep 600`)
	x.await(`(?s)no sessions.*:run -a AGENT -p 'PROMPT'`)
	x.keys(":")
	x.keys("run -a claude one")
	x.keys("Enter")
	x.await(`Press Enter to return`)
	x.keys("Enter")
	if shown := x.await(`> one +starting`); strings.Contains(shown, "errors") {
		t.Errorf("there is no manifest:\n%s", shown)
	}
	x.keys("q")
	x.await(`left with 0`)
}

// TestUIKilled leaves the terminal in order.
func TestUIKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, uiManifest)
	pidFile := filepath.Join(filepath.Dir(w.dir), "pid")
	x := newWindow(t, w, `sh -c 'echo $$ > `+pidFile+`; exec agentform ui'; echo "left with $?"; stty -a; sleep 600`)
	x.await(`(?s)api +pending.*enter attach`)
	b, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	x.await(`left with 130`)
	x.restored()
}

// TestUIRefuses what is no terminal, and one without a cursor.
func TestUIRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, uiManifest)
	if out, err := w.command("ui").CombinedOutput(); err == nil || !strings.Contains(string(out), "ui needs a terminal") {
		t.Errorf("%v, %s", err, out)
	}
	x := newWindow(t, w, `TERM=dumb agentform ui; echo "left with $?"; read; agentform; sleep 600`)
	x.await(`(?s)TERM is "dumb".*left with 1`)
	x.keys("Enter")
	x.await(`sessions of this project: agentform ui\n`)
}
