package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"

	"github.com/agentform/agentform/internal/tmuxwire"
)

// Size is the size of a terminal in cells.
type Size struct {
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

// The least and the greatest size. Agents' dialogs do not fit in less.
const (
	MinCols, MinRows = 20, 5
	MaxCols, MaxRows = 500, 200
)

// Clamp returns the nearest size within the limits.
func (s Size) Clamp() Size {
	return Size{Cols: min(max(s.Cols, MinCols), MaxCols), Rows: min(max(s.Rows, MinRows), MaxRows)}
}

func (s Size) winsize() *pty.Winsize {
	return &pty.Winsize{Cols: uint16(s.Cols), Rows: uint16(s.Rows)}
}

// Environ returns the environment of a relay: UTF-8 and colors whatever the hub was started
// with, and no tmux around it.
func Environ(environ []string) []string {
	kept := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == "TMUX" || name == "TMUX_PANE" || name == "TERM" || name == "LANG" || strings.HasPrefix(name, "LC_") ||
			name == "COLUMNS" || name == "LINES"
	})
	return append(kept, "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8")
}

// Relay is a running command on a pseudo-terminal.
type Relay struct {
	file *os.File
	cmd  *exec.Cmd
	done chan struct{} // closed when the command has ended
}

// Start starts a command on a pseudo-terminal of that size.
func Start(argv, env []string, size Size) (*Relay, error) {
	c := exec.Command(argv[0], argv[1:]...)
	c.Env = env
	f, err := pty.StartWithSize(c, size.winsize())
	if err != nil {
		return nil, fmt.Errorf("attach a terminal: %w", err)
	}
	r := &Relay{file: f, cmd: c, done: make(chan struct{})}
	go func() {
		_ = c.Wait() // Read returns the end
		close(r.done)
	}()
	return r, nil
}

// Read reads what the command prints. The error is io.EOF once the command has ended.
func (r *Relay) Read(b []byte) (int, error) {
	n, err := r.file.Read(b)
	// Linux returns EIO for a pseudo-terminal that no process has open.
	if errors.Is(err, syscall.EIO) || errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

// Write types into the command.
func (r *Relay) Write(b []byte) (int, error) { return r.file.Write(b) }

// Resize changes the size of the pseudo-terminal.
func (r *Relay) Resize(size Size) error { return pty.Setsize(r.file, size.winsize()) }

// hangupTime is how long a command may take to end after a hangup. A client of Docker
// detaches a terminal in the container first.
const hangupTime = 5 * time.Second

// Close hangs up and returns when the command has ended.
func (r *Relay) Close() {
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGHUP) // it may have ended
	late := time.AfterFunc(hangupTime, func() { _ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) })
	go func() { _, _ = io.Copy(io.Discard, r) }() // what it still prints must not block it
	<-r.done
	late.Stop()
	_ = r.file.Close()
}

// View is what a session's terminal shows at one moment.
type View struct {
	// Size is that of a client: of the window, and the lines of tmux's status.
	Size    Size
	History []byte // the last lines that have scrolled out of the screen, each ends with CR and LF
	// Prefixed means that tmux has a prefix for all clients: it is not a server of agentform.
	Prefixed bool
}

// historyLimit bounds the bytes of a history: a line has colors and more.
const historyLimit = 1 << 20

// Look returns the size of a session's window and the last lines of its history, with their
// colors. attach is the command that would attach to the session.
func Look(ctx context.Context, attach, env []string, lines int) (View, error) {
	// A runtime's command may ask for a terminal.
	c := exec.CommandContext(ctx, attach[0])
	c.Args = tmuxwire.Describe(attach, lines)
	c.Env = env
	f, err := pty.StartWithSize(c, (&Size{Cols: MaxCols, Rows: MaxRows}).winsize())
	if err != nil {
		return View{}, fmt.Errorf("read the terminal's size: %w", err)
	}
	text, err := io.ReadAll(f)
	_ = f.Close()
	if errors.Is(err, syscall.EIO) {
		err = nil
	}
	if err = errors.Join(c.Wait(), err); err != nil {
		return View{}, fmt.Errorf("read the terminal's size: %w: %s", err, bytes.TrimSpace(text[:min(len(text), 200)]))
	}
	first, rest, _ := bytes.Cut(text, []byte("\r\n"))
	d, err := tmuxwire.ParseDescription(string(first))
	if err != nil {
		return View{}, err
	}
	v := View{Size: Size{Cols: d.Columns, Rows: d.Rows + d.Status}, Prefixed: d.Prefix != tmuxwire.NoPrefix}
	if d.History > 0 {
		if v.History = rest; len(rest) > historyLimit {
			_, v.History, _ = bytes.Cut(rest[len(rest)-historyLimit:], []byte("\r\n"))
		}
	}
	return v, nil
}
