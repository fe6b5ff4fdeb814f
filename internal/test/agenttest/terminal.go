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

// pane is the terminal that an agent was started in, on a tmux server of its own.
type pane struct {
	lab     *Lab
	number  int    // of the run
	exit    string // the file with the agent's exit status
	process session.Process
}

// ask is what tmux says to a command; the test ends when it says no.
func (p *pane) ask(args ...string) string {
	p.lab.t.Helper()
	var stderr bytes.Buffer
	cmd := p.lab.tmux(p.number, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		p.lab.t.Fatalf("tmux %s: %v: %s", args[0], err, stderr.Bytes())
	}
	return string(out)
}

// waits runs an agent as a shim does: it stays above it, and writes down its exit
// status (or 128 and its signal's number). tmux now and then never learns of one.
const waits = `trap : INT QUIT; "$@"; echo $? >"$0"`

// open starts the terminal with the agent in it.
func (p *pane) open(argv []string, env map[string]string) {
	p.lab.t.Helper()
	command := []string{"sh", "-c", waits, p.exit, "env", "-i"}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		command = append(command, name+"="+env[name])
	}
	command = append(command, argv...)
	args := []string{
		"set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-g", "default-terminal", "tmux-256color", ";",
		"new-session", "-d", "-s", "agent", "-x", strconv.Itoa(cmp.Or(p.lab.Columns, columns)), "-y", strconv.Itoa(rows), "-c", p.lab.Dir, "--",
	}
	p.ask(append([]string{"start-server", ";"}, append(args, command...)...)...)
	p.process = p.child()
}

// child is the agent's process, below the pane's; none when it has left already.
func (p *pane) child() session.Process {
	shell := p.format("#{pane_pid}")
	for ; p.Exit() == nil; time.Sleep(5 * time.Millisecond) { // it may leave soon
		children, err := os.ReadFile("/proc/" + shell + "/task/" + shell + "/children")
		if pid, _, found := strings.Cut(string(children), " "); err == nil && found {
			if n, err := strconv.Atoi(pid); err == nil {
				start, _ := proc.StartTime(n)
				return session.Process{PID: n, Start: start}
			}
		}
	}
	return session.Process{}
}

func (p *pane) format(f string) string {
	return strings.TrimSuffix(p.ask("display-message", "-p", "-t", "agent:", f), "\n")
}

// Process is the agent's.
func (p *pane) Process() session.Process { return p.process }

// Screen is what the terminal shows, without blank lines at its end. That the
// agent has left is a line of tmux's, which has moved the first one out of sight.
func (p *pane) Screen() string {
	args := []string{"capture-pane", "-p", "-t", "agent:"}
	if p.Exit() != nil {
		args = append(args, "-S", "-1")
	}
	text, _, _ := strings.Cut(p.ask(args...), "\nPane is dead (")
	return strings.TrimRight(text, "\n ") + "\n"
}

// Title is the terminal's.
func (p *pane) Title() string { return p.format("#{pane_title}") }

// Keys presses keys, by tmux's names.
func (p *pane) Keys(keys ...string) {
	p.lab.t.Helper()
	p.ask(append([]string{"send-keys", "-t", "agent:"}, keys...)...)
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
		r.insist("Enter", seen, func(l Look) {
			if begin, shown := squeezed(text), squeezed(l.Screen); r.Ready() && !strings.Contains(shown, begin[:min(20, len(begin))]) {
				r.Paste(text) // an agent that resumes may discard what was typed before
				time.Sleep(500 * time.Millisecond)
			}
		})
	}
}

// squeezed returns a text without spaces and line breaks.
func squeezed(text string) string { return strings.Join(strings.Fields(text), "") }

// Paste pastes a text in brackets.
func (p *pane) Paste(text string) {
	p.lab.t.Helper()
	p.ask("set-buffer", "-b", "typed", "--", text)
	p.ask("paste-buffer", "-p", "-d", "-b", "typed", "-t", "agent:")
}

// Press presses a key, and again until it is seen to be taken: an agent may show
// a question a little before it listens to the answer.
func (r *Run) Press(key string, taken func(Look) bool) {
	r.Lab.t.Helper()
	r.Keys(key)
	r.insist(key, taken, func(Look) {})
}

// patience is how long a key is waited for before it is pressed again.
const patience = 5 * time.Second

// insist presses a key every few seconds until it is seen to be taken, and more seldom while
// the agent draws nothing: one that has not read a text yet would read it with several Enter,
// which Claude Code takes for line breaks, and loses the text. again is called before it presses.
func (r *Run) insist(key string, taken func(Look) bool, again func(Look)) {
	r.Lab.t.Helper()
	const unread = 20 * time.Second
	pressed, before := time.Now(), ""
	r.Until(key+" is taken", func(l Look) bool {
		if taken(l) {
			return true
		}
		if before == "" {
			before = l.Screen
		}
		if since := time.Since(pressed); since > unread || since > patience && l.Screen != before {
			again(l)
			r.Keys(key)
			pressed, before = time.Now(), l.Screen
		}
		return false
	})
}

// Exit is how the agent ended; nil while it lives.
func (p *pane) Exit() *session.Exit {
	text, err := os.ReadFile(p.exit)
	if err != nil {
		return nil
	}
	code, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return nil // it is being written
	}
	return &session.Exit{Cause: session.CauseSelf, Code: code, At: time.Now()}
}
