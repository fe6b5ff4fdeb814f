package initd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/excerpt"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/tmuxwire"
)

const tmuxOutput = 1 << 20

// rowTimeout bounds tmux's reply about its one pane.
const rowTimeout = time.Second

// screenLimit bounds the part of a screen that is sent.
const screenLimit = 128 << 10

// terminal is the tmux server of a container, one for each run.
type terminal struct {
	init   *container
	folder string // of the server's socket

	mu     sync.Mutex
	server *exec.Cmd     // nil: none was started yet
	left   chan struct{} // closed when the server has

	asking  sync.Mutex
	watcher *watcher
	making  bool // a session is being created: no watcher may start
}

func (t *terminal) socket() string { return filepath.Join(t.folder, shim.TmuxSocketName) }

// screen returns the file to which tmux writes the requested screen. In tmux's replies, its text
// could look like the end of a reply.
func (t *terminal) screen() string { return filepath.Join(t.folder, "screen") }

// begin replaces the server and everything in it, and creates the session with the tmux command
// args. Until then no watcher starts.
func (t *terminal) begin(args []string) (*shim.TmuxReply, error) {
	t.unwatch()
	defer func() {
		t.asking.Lock()
		defer t.asking.Unlock()
		t.making = false
	}()
	if err := t.restart(); err != nil {
		return nil, err
	}
	return t.run(append(append(tmuxwire.Terminal(), ";"), args...), "")
}

// restart replaces the server and everything in it.
func (t *terminal) restart() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.server != nil {
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			_ = t.server.Process.Signal(s) // it may have exited
			select {
			case <-t.left:
			case <-time.After(shim.ServerTimeout / 5):
			}
		}
	}
	if err := os.Remove(t.socket()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// Run the server in the foreground, so that it is a child of this process.
	c := exec.Command("tmux", append(tmuxwire.Flags(t.socket()), "-D")...)
	c.Dir = "/"
	if err := t.init.begin(c); err != nil {
		return fmt.Errorf("start tmux: %w", err)
	}
	left := make(chan struct{})
	t.server, t.left = c, left
	go func() {
		_ = t.init.wait(c) // its exit status does not matter
		close(left)
	}()
	deadline := time.Now().Add(shim.ServerTimeout)
	for wait := time.Millisecond; ; wait = min(2*wait, proc.MaxWait) {
		conn, err := shim.Connect(t.socket())
		if err == nil {
			return conn.Close()
		}
		select {
		case <-left:
			return errors.New("start tmux: the server exited immediately (tmux 3.2 or later is needed, and a UTF-8 locale like C.UTF-8)")
		case <-time.After(wait):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("start tmux: it does not answer: %w", err)
		}
	}
}

// run runs one tmux command on the server. Without a server it fails.
func (t *terminal) run(args []string, stdin string) (*shim.TmuxReply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), shim.TmuxTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, "tmux", slices.Concat(tmuxwire.Flags(t.socket()), []string{"-N"}, args)...)
	out, said := excerpt.Head{Limit: tmuxOutput}, excerpt.Head{Limit: tmuxOutput}
	c.Dir = "/"
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &said
	c.WaitDelay = time.Second
	err := t.init.begin(c)
	if err == nil {
		err = t.init.wait(c)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return &shim.TmuxReply{Code: exit.ExitCode(), Stdout: out.String(), Stderr: strings.TrimSpace(said.String())}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("run tmux: %w", errors.Join(err, ctx.Err()))
	}
	return &shim.TmuxReply{Stdout: out.String(), Stderr: strings.TrimSpace(said.String())}, nil
}

// look returns tmux's description of a pane in the given format, and the content of the pane. Both
// are empty without a pane. watching reports whether one of the clients is the init's.
func (t *terminal) look(target, format string, screen bool) (row, shown string, watching bool) {
	t.asking.Lock()
	defer t.asking.Unlock()
	lines := [][]tmuxwire.Command{{{"display-message", "-p", "-t", target, format}}}
	if screen {
		lines = append([][]tmuxwire.Command{{{"capture-pane", "-t", target, "-b", "s"}, {"save-buffer", "-b", "s", t.screen()}, {"delete-buffer", "-b", "s"}}}, lines...)
	}
	var rows []string
	for tries := 0; ; tries++ {
		if t.watcher != nil && t.watcher.left() {
			t.watcher = nil
		}
		if t.watcher == nil && !t.making {
			t.watcher = t.watch(target)
		}
		if t.watcher == nil || t.watcher.leaving {
			return "", "", false
		}
		var err error
		if rows, err = t.watcher.ask(lines); err == nil && len(rows) > 0 {
			break
		}
		known := t.watcher.answered
		t.watcher.leave()
		if !known || tries > 0 {
			return "", "", false
		}
		<-t.watcher.gone // a pause detached the watcher with the session's other clients
	}
	if screen {
		if text, _, err := rundir.ReadFile(t.screen(), screenLimit); err == nil {
			shown = string(text)
		}
	}
	return rows[0], shown, true
}

// unwatch ends the watcher of a server that is about to end, and prevents new ones while a session
// is created.
func (t *terminal) unwatch() {
	t.asking.Lock()
	defer t.asking.Unlock()
	t.making = true
	if t.watcher != nil {
		t.watcher.kill()
		t.watcher = nil
	}
}

// watcher is a client in control mode. It stays open, since a process for each look would cost
// fifty times as much.
//
// tmux before 3.7 crashes, and ends the agent with it, if a session is created or the client exits
// while the client is half identified: the server has learned that it is in control mode, but not
// all the rest. So no watcher starts while a session is created, and none is killed before its
// first answer.
type watcher struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *os.File
	lines    *bufio.Reader
	answered bool          // the server has identified the client
	leaving  bool          // the client gets no more requests
	gone     chan struct{} // closed when the client has exited
}

// watch starts a client of the session, or returns nil if it cannot.
func (t *terminal) watch(target string) *watcher {
	out, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer w.Close()
	c := exec.Command("tmux", slices.Concat([]string{"-N"}, tmuxwire.Flags(t.socket()), []string{"-C", "attach-session", "-f", "no-output,ignore-size", "-t", target})...)
	c.Dir, c.Stdout = "/", w
	in, err := c.StdinPipe()
	if err == nil {
		err = t.init.begin(c)
	}
	if err != nil {
		out.Close()
		return nil
	}
	gone := make(chan struct{})
	go func() {
		_ = t.init.wait(c) // the end of its output shows that it exited
		close(gone)
	}()
	return &watcher{cmd: c, in: in, out: out, lines: bufio.NewReaderSize(out, shim.LineLimit), gone: gone}
}

// leave makes the client exit by closing its input. It kills a client that has had an answer.
func (w *watcher) leave() {
	w.leaving = true
	w.in.Close()
	if w.answered {
		_ = w.cmd.Process.Kill() // it may have exited
	}
}

// left reports whether a client has exited after leave.
func (w *watcher) left() bool {
	if !w.leaving {
		return false
	}
	select {
	case <-w.gone:
		w.out.Close()
		return true
	default:
		return false
	}
}

// kill ends the client at once, even if that crashes the server, and returns when the client has
// exited.
func (w *watcher) kill() {
	w.in.Close()
	_ = w.cmd.Process.Kill() // it may have exited
	<-w.gone
	w.out.Close()
}

// ask sends lines of commands and returns the rows of the last answer.
func (w *watcher) ask(lines [][]tmuxwire.Command) ([]string, error) {
	_ = w.out.SetReadDeadline(time.Now().Add(rowTimeout))
	var script strings.Builder
	for _, line := range lines {
		script.WriteString(tmuxwire.Line(line...) + "\n")
	}
	if _, err := io.WriteString(w.in, script.String()); err != nil {
		return nil, err
	}
	var rows []string
	for range slices.Concat(lines...) {
		var err error
		if rows, err = w.reply(); err != nil {
			return nil, err
		}
		w.answered = true
	}
	return rows, nil
}

// reply reads one answer: the lines between %begin and the %end or %error with the same numbers. It
// skips other lines, and the answer to the client's start, whose last number is 0.
func (w *watcher) reply() (rows []string, err error) {
	var number string
	for total := 0; total < tmuxOutput; {
		text, err := w.lines.ReadSlice('\n')
		if err != nil { // including a line that is too long
			return nil, err
		}
		total += len(text)
		line := strings.TrimSuffix(string(text), "\n")
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case number == "" && word == "%begin" && strings.HasSuffix(rest, " 1"):
			number = rest
		case number == "":
		case word == "%end" && rest == number:
			return rows, nil
		case word == "%error" && rest == number:
			return nil, fmt.Errorf("tmux: %.200q", rows)
		default:
			rows = append(rows, line)
		}
	}
	return nil, errors.New("tmux answers too much")
}
