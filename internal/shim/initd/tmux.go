package initd

import (
	"bufio"
	"bytes"
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

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/tmuxwire"
)

const tmuxOutput = 1 << 20

// rowTimeout is how long tmux may take to tell about its one pane.
const rowTimeout = time.Second

// screenLimit bounds what is sent of a screen.
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
	making  bool // a session is being made: nobody may begin to watch
}

func (t *terminal) socket() string { return filepath.Join(t.folder, shim.TmuxSocketName) }

// screen is the file to which tmux writes a screen that is asked for: its text in tmux's
// answers could pass for the end of them.
func (t *terminal) screen() string { return filepath.Join(t.folder, "screen") }

// begin ends the server that there is, with all in it, starts one, and makes the session
// on it with the tmux command args. Until that is done nobody watches.
func (t *terminal) begin(args []string) (*shim.TmuxReply, error) {
	t.unwatch()
	defer func() {
		t.asking.Lock()
		defer t.asking.Unlock()
		t.making = false
	}()
	if err := t.anew(); err != nil {
		return nil, err
	}
	return t.run(append(append(tmuxwire.Terminal(), ";"), args...), "")
}

// anew ends the server that there is, with all in it, and starts one.
func (t *terminal) anew() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.server != nil {
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			_ = t.server.Process.Signal(s) // it may have left
			select {
			case <-t.left:
			case <-time.After(shim.ServerTimeout / 5):
			}
		}
	}
	if err := os.Remove(t.socket()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// In the foreground, so that it is known as a child.
	c := exec.Command("tmux", append(tmuxwire.Flags(t.socket()), "-D")...)
	c.Dir = "/"
	if err := t.init.begin(c); err != nil {
		return fmt.Errorf("start tmux: %w", err)
	}
	left := make(chan struct{})
	t.server, t.left = c, left
	go func() {
		_ = t.init.wait(c) // how it left counts for nothing
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
	var out, said bounded
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

// bounded keeps the beginning of what is written to it.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := tmuxOutput - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// look is what tmux tells of a pane, in the format that is asked for, and what the
// pane shows. Both are empty where there is none. watching says that a client is
// this process's.
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
		<-t.watcher.gone // a pause has detached it with the session's other clients
	}
	if screen {
		if text, _, err := rundir.ReadFile(t.screen(), screenLimit); err == nil {
			shown = string(text)
		}
	}
	return rows[0], shown, true
}

// unwatch ends the watcher of a server that is about to be ended too, and lets nobody
// watch while a session is being made.
func (t *terminal) unwatch() {
	t.asking.Lock()
	defer t.asking.Unlock()
	t.making = true
	if t.watcher != nil {
		t.watcher.kill()
		t.watcher = nil
	}
}

// watcher is a client in control mode, kept open: a process for each look would
// cost fifty times what asking does.
//
// A tmux server before 3.7 crashes, and takes the agent with it, when a session is made,
// or the client leaves, after the client has said that it is in control mode and before
// it has said all that a client says of itself. So none begins to watch while a session
// is made, and none is killed before it has got an answer.
type watcher struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *os.File
	lines    *bufio.Reader
	answered bool          // the server knows all of the client
	leaving  bool          // nothing is asked of it any more
	gone     chan struct{} // closed when the client has left
}

// watch opens a client of the session; nil: there is none to open it on.
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
		_ = t.init.wait(c) // how it left is seen by its silence
		close(gone)
	}()
	return &watcher{cmd: c, in: in, out: out, lines: bufio.NewReaderSize(out, shim.LineLimit), gone: gone}
}

// leave tells the client to leave, by the end of its input. One that got an answer before
// is made to.
func (w *watcher) leave() {
	w.leaving = true
	w.in.Close()
	if w.answered {
		_ = w.cmd.Process.Kill() // it may have left
	}
}

// left reports whether a client that was told to leave has.
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

// kill ends the client at once, whatever becomes of its server, and returns when it has
// left.
func (w *watcher) kill() {
	w.in.Close()
	_ = w.cmd.Process.Kill() // it may have left
	<-w.gone
	w.out.Close()
}

// ask sends lines of commands and returns what the last of their answers has in it.
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

// reply reads one answer: what stands between %begin and the %end or %error with the
// same numbers. Other lines to a client are skipped, and so is the answer
// to how it was started, whose last number is 0.
func (w *watcher) reply() (rows []string, err error) {
	var number string
	for total := 0; total < tmuxOutput; {
		text, err := w.lines.ReadSlice('\n')
		if err != nil { // too long a line, too
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
