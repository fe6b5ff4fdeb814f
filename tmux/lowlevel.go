package tmux

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Available returns an error that wraps ErrNotAvailable, with a remedy, if there is no tmux program
// on PATH.
func Available() error {
	_, err := program{}.path()
	return err
}

// Server is one tmux server with the plain operations of tmux, for programs that need panes without
// agents. Its methods may be called concurrently, and each runs one tmux.
type Server struct {
	Socket string // absolute; tmux -S
	Bin    string // tmux program; empty: tmux on PATH
}

// Info is one session of a server.
type Info struct {
	Name string
	Pane string // of its first pane, %42
	PID  int    // of the process in that pane
	Dead bool   // that process has ended, but the pane was kept
}

// PaneInfo is one pane of a server, of all sessions and windows.
type PaneInfo struct {
	Info
	Window   int       // its index in the session
	Dir      string    // of the process in the pane's foreground
	ActiveAt time.Time // the last output in its window
	// Mark is the session's mark of agentform; zero: agentform does not manage the session.
	Mark session.Mark
}

// SocketDir returns tmux's directory of sockets for this user, used by plain tmux and tmux -L.
func SocketDir() string { return filepath.Dir(resolveSocket("default")) }

func (s Server) run(ctx context.Context, args ...string) (string, error) {
	if !filepath.IsAbs(s.Socket) {
		return "", fmt.Errorf("tmux %s: the socket's path is not absolute: %q", args[0], s.Socket)
	}
	text, err := program{bin: s.Bin}.run(ctx, s.Socket, nil, args...)
	if errors.Is(err, tmuxwire.ErrNoServer) {
		err = &Error{Command: args[0], Err: session.ErrGone}
	}
	return text, err
}

// Has reports whether a session has exactly that name. Without a server it returns false.
func (s Server) Has(ctx context.Context, name string) (bool, error) {
	_, err := s.run(ctx, "has-session", "-t", tmuxwire.Session(name))
	if errors.Is(err, session.ErrGone) {
		return false, nil
	}
	return err == nil, err
}

// List returns the sessions of the server, ordered by name. Without a server it returns none.
func (s Server) List(ctx context.Context) ([]Info, error) {
	nonce := newNonce()
	text, err := s.run(ctx, "list-panes", "-a", "-F", nonce+"|"+tmuxwire.ProcessFormat)
	if errors.Is(err, session.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Info
	seen := map[string]bool{}
	for _, row := range tmuxwire.Rows(text, nonce) {
		if p, err := tmuxwire.ParseProcess(row); err == nil && !seen[p.Session] {
			seen[p.Session] = true
			all = append(all, Info{Name: p.Session, Pane: p.ID, PID: p.PID, Dead: p.Dead})
		}
	}
	return all, nil
}

// Panes lists the panes of all sessions, in tmux's order. It never starts a server: without
// one the error is session.ErrGone.
func (s Server) Panes(ctx context.Context) ([]PaneInfo, error) {
	nonce := newNonce()
	text, err := s.run(ctx, "list-panes", "-a", "-F", nonce+"|#{window_index}|"+tmuxwire.ProcessFormat)
	if err != nil {
		return nil, err
	}
	var all []PaneInfo
	for _, row := range tmuxwire.Rows(text, nonce) {
		window, rest, _ := strings.Cut(row, "|")
		p, err := tmuxwire.ParseProcess(rest)
		if err != nil {
			return nil, err
		}
		info := PaneInfo{Info: Info{Name: p.Session, Pane: p.ID, PID: p.PID, Dead: p.Dead}, Dir: p.Cwd, ActiveAt: p.ActiveAt}
		info.Window, _ = strconv.Atoi(window)
		if json.Unmarshal([]byte(p.Mark), &info.Mark) != nil {
			info.Mark = session.Mark{}
		}
		all = append(all, info)
	}
	return all, nil
}

// New creates a session with one pane, 200 columns by 50 rows, and returns the pane's id. tmux runs
// a single word by a shell and several words directly; without a command the pane runs a shell. New
// starts the server if necessary, without a configuration file and with little of this program's
// environment. The error is session.ErrExists if the name is in use. tmux replaces . and : in a
// name by _.
func (s Server) New(ctx context.Context, name, dir string, argv ...string) (pane string, err error) {
	text, err := s.run(ctx, tmuxwire.NewSession(name, "", dir, argv...)...)
	return strings.TrimSpace(text), err
}

// SendKeys types into a pane, like tmux's send-keys: a key by its name (Enter, Escape, C-c, Up),
// other text by letter. target is a pane's id or a session's name.
func (s Server) SendKeys(ctx context.Context, target string, keys ...string) error {
	_, err := s.run(ctx, append([]string{"send-keys", "-t", targetOf(target), "--"}, keys...)...)
	return err
}

// Capture returns the last lines of a pane's screen and history as plain text, without
// blanks at the ends; 0 returns all.
func (s Server) Capture(ctx context.Context, target string, lines int) (string, error) {
	text, err := s.run(ctx, tmuxwire.Capture(targetOf(target), 0)...)
	if err != nil {
		return "", err
	}
	return tmuxwire.LastLines(text, lines), nil
}

// Kill ends a session; its processes get a hangup. It is not an error if the session does not
// exist.
func (s Server) Kill(ctx context.Context, name string) error {
	_, err := s.run(ctx, "kill-session", "-t", tmuxwire.Session(name))
	if errors.Is(err, session.ErrGone) {
		return nil
	}
	return err
}

// Attach returns the command that attaches a terminal to a session. Inside another tmux it
// needs TMUX unset; see Inside.
func (s Server) Attach(name string) []string {
	return tmuxwire.Attach(cmp.Or(s.Bin, "tmux"), s.Socket, tmuxwire.Session(name))
}

func targetOf(target string) string {
	if strings.HasPrefix(target, "%") {
		return target
	}
	return tmuxwire.Session(target)
}
