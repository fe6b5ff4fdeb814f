package agenttest

import (
	"bytes"
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/session"
)

// The size of a terminal whose lab does not say, so that captures can be compared.
const (
	columns = 120
	rows    = 40
)

// tmux is a command to the server of one run: each has its own.
func (l *Lab) tmux(run int, args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(l.root, "tmux-"+strconv.Itoa(run)), "-f", "/dev/null"}, args...)...)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin", "LANG=C.UTF-8", "TERM=xterm-256color"}
	return cmd
}

// ask is what tmux says to a command; the test ends when it says no.
func (r *Run) ask(args ...string) string {
	r.Lab.t.Helper()
	var stderr bytes.Buffer
	cmd := r.Lab.tmux(r.number, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.Lab.t.Fatalf("tmux %s: %v: %s", args[0], err, stderr.Bytes())
	}
	return string(out)
}

// waits runs an agent as a shim does: it stays above it, and writes down its exit
// status (or 128 and its signal's number). tmux now and then never learns of one.
const waits = `trap : INT QUIT; "$@"; echo $? >"$0"`

// open starts the terminal with the agent in it.
func (r *Run) open() {
	r.Lab.t.Helper()
	r.exit = filepath.Join(filepath.Dir(r.signals), "exit")
	command := []string{"sh", "-c", waits, r.exit, "env", "-i"}
	env := r.env()
	for _, name := range slices.Sorted(maps.Keys(env)) {
		command = append(command, name+"="+env[name])
	}
	command = append(command, r.Start.Argv...)
	args := []string{
		"set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-g", "default-terminal", "tmux-256color", ";",
		"new-session", "-d", "-s", "agent", "-x", strconv.Itoa(cmp.Or(r.Lab.Columns, columns)), "-y", strconv.Itoa(rows), "-c", r.Lab.Dir, "--",
	}
	r.ask(append([]string{"start-server", ";"}, append(args, command...)...)...)
	r.fixed = r.child()
}

// child is the agent's process, below the pane's; none when it has left already.
func (r *Run) child() session.Process {
	pane := r.format("#{pane_pid}")
	for end := time.Now().Add(Deadline); time.Now().Before(end) && r.Exit() == nil; time.Sleep(5 * time.Millisecond) {
		children, err := os.ReadFile("/proc/" + pane + "/task/" + pane + "/children")
		if pid, _, found := strings.Cut(string(children), " "); err == nil && found {
			if n, err := strconv.Atoi(pid); err == nil {
				start, _ := proc.StartTime(n)
				return session.Process{PID: n, Start: start}
			}
		}
	}
	return session.Process{}
}

func (r *Run) format(f string) string {
	return strings.TrimSuffix(r.ask("display-message", "-p", "-t", "agent:", f), "\n")
}

// Process is the agent's.
func (r *Run) Process() session.Process { return r.fixed }

// Screen is what the terminal shows, without blank lines at its end. That the
// agent has left is a line of tmux's, which has moved the first one out of sight.
func (r *Run) Screen() string {
	args := []string{"capture-pane", "-p", "-t", "agent:"}
	if r.Exit() != nil {
		args = append(args, "-S", "-1")
	}
	text, _, _ := strings.Cut(r.ask(args...), "\nPane is dead (")
	return strings.TrimRight(text, "\n ") + "\n"
}

// Title is the terminal's.
func (r *Run) Title() string { return r.format("#{pane_title}") }

// Keys presses keys, by tmux's names.
func (r *Run) Keys(keys ...string) {
	r.Lab.t.Helper()
	r.ask(append([]string{"send-keys", "-t", "agent:"}, keys...)...)
}

// Type pastes a text in brackets, waits for the agent to take it, and presses
// Enter: Gemini CLI takes an Enter that comes sooner for part of the text. On a
// busy machine an agent may take any so; with what is to be seen once the text was
// taken, Enter is pressed again until then.
func (r *Run) Type(text string, taken ...func(Look) bool) {
	r.Lab.t.Helper()
	r.Paste(text)
	time.Sleep(500 * time.Millisecond)
	r.Keys("Enter")
	for _, seen := range taken {
		r.insist("Enter", seen)
	}
}

// Paste pastes a text in brackets.
func (r *Run) Paste(text string) {
	r.Lab.t.Helper()
	r.ask("set-buffer", "-b", "typed", "--", text)
	r.ask("paste-buffer", "-p", "-d", "-b", "typed", "-t", "agent:")
}

// Press presses a key, and again until it is seen to be taken: an agent may show
// a question a little before it listens to the answer.
func (r *Run) Press(key string, taken func(Look) bool) {
	r.Lab.t.Helper()
	r.Keys(key)
	r.insist(key, taken)
}

// insist presses a key every few seconds until it is seen to be taken.
func (r *Run) insist(key string, taken func(Look) bool) {
	r.Lab.t.Helper()
	const patience = 5 * time.Second
	again := time.Now().Add(patience)
	r.Until(key+" is taken", func(l Look) bool {
		if taken(l) {
			return true
		}
		if time.Now().After(again) {
			again = time.Now().Add(patience)
			r.Keys(key)
		}
		return false
	})
}

// Exit is how the agent ended; nil while it lives.
func (r *Run) Exit() *session.Exit {
	text, err := os.ReadFile(r.exit)
	if err != nil {
		return nil
	}
	code, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return nil // it is being written
	}
	return &session.Exit{Cause: "self", Code: code, At: time.Now()}
}
