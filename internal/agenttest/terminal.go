package agenttest

import (
	"bytes"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// The size of every terminal here, so that captures of one agent can be compared.
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

// open starts the terminal with the agent in it, whose process is the pane's.
func (r *Run) open() {
	r.Lab.t.Helper()
	command := []string{"env", "-i"}
	env := r.env()
	for _, name := range slices.Sorted(maps.Keys(env)) {
		command = append(command, name+"="+env[name])
	}
	command = append(command, r.Start.Argv...)
	args := []string{
		"set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-g", "default-terminal", "tmux-256color", ";",
		"new-session", "-d", "-s", "agent", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows), "-c", r.Lab.Dir, "--",
	}
	r.ask(append([]string{"start-server", ";"}, append(args, command...)...)...)
	r.fixed = processOf(r.pid())
}

func (r *Run) format(f string) string {
	return strings.TrimSuffix(r.ask("display-message", "-p", "-t", "agent:", f), "\n")
}

func (r *Run) pid() int {
	pid, err := strconv.Atoi(r.format("#{pane_pid}"))
	if err != nil {
		r.Lab.t.Fatalf("tmux names no process: %v", err)
	}
	return pid
}

// Process is the agent's.
func (r *Run) Process() session.Process { return r.fixed }

// Screen is what the terminal shows, without blank lines at its end.
func (r *Run) Screen() string {
	return strings.TrimRight(r.ask("capture-pane", "-p", "-t", "agent:"), "\n ") + "\n"
}

// Title is the terminal's.
func (r *Run) Title() string { return r.format("#{pane_title}") }

// Keys presses keys, by tmux's names.
func (r *Run) Keys(keys ...string) {
	r.Lab.t.Helper()
	r.ask(append([]string{"send-keys", "-t", "agent:"}, keys...)...)
}

// Type pastes a text in brackets, waits for the agent to take it, and presses
// Enter. Gemini CLI takes an Enter that comes sooner for part of the text.
func (r *Run) Type(text string) {
	r.Lab.t.Helper()
	r.ask("set-buffer", "-b", "typed", "--", text)
	r.ask("paste-buffer", "-p", "-d", "-b", "typed", "-t", "agent:")
	time.Sleep(500 * time.Millisecond)
	r.Keys("Enter")
}

// Exit is how the agent ended; nil while it has not, or while tmux does not know
// yet how.
func (r *Run) Exit() *session.Exit {
	dead, rest, _ := strings.Cut(r.format("#{pane_dead} #{pane_dead_status} #{pane_dead_signal}"), " ")
	status, signal, _ := strings.Cut(rest, " ")
	if dead != "1" || status == "" && signal == "" {
		return nil
	}
	e := &session.Exit{Cause: "self", At: time.Now()}
	e.Code, _ = strconv.Atoi(status)
	if signal != "" {
		e.Signal = "signal " + signal
	}
	return e
}
