package tmux

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Available says whether there is a tmux program on PATH: nil, or an error that
// is ErrNotAvailable (errors.Is) and says how to get one.
func Available() error {
	_, err := program{}.path()
	return err
}

// Server is one tmux server, by its socket: the plain operations of tmux (Has,
// List, New, SendKeys, Capture, Kill, Attach; beside it Available and Inside), for
// programs that want panes and not agents. What is made with it is not marked, is
// nobody's session for agentform, and has no guest that looks after it; for that
// there is Runtime. Its methods may be called from many goroutines, and each
// takes one short tmux process.
type Server struct {
	Socket string // absolute; tmux -S
	Bin    string // tmux program; empty: tmux on PATH
}

// Info is one session of a server.
type Info struct {
	Name string
	Pane string // of its first pane, %42
	PID  int    // of the process in that pane
	Dead bool   // that process has ended, and the pane was kept
}

// errRelative: a socket path that depends on where the program stands.
var errRelative = errors.New("the socket's path is not absolute")

func (s Server) run(ctx context.Context, args ...string) (string, error) {
	if !filepath.IsAbs(s.Socket) {
		return "", fmt.Errorf("tmux %s: %w: %q", args[0], errRelative, s.Socket)
	}
	text, err := program{bin: s.Bin}.run(ctx, s.Socket, nil, args...)
	if errors.Is(err, tmuxwire.ErrNoServer) {
		err = &Error{Command: args[0], Err: session.ErrGone}
	}
	return text, err
}

// Has reports whether there is a session of exactly that name. No server is no
// session, and no error.
func (s Server) Has(ctx context.Context, name string) (bool, error) {
	_, err := s.run(ctx, "has-session", "-t", tmuxwire.Session(name))
	if errors.Is(err, session.ErrGone) {
		return false, nil
	}
	return err == nil, err
}

// List is every session of the server, in the order of their names. No server is
// no session, and no error.
func (s Server) List(ctx context.Context) ([]Info, error) {
	nonce := newNonce()
	text, err := s.run(ctx, "list-panes", "-a", "-F", nonce+"|#{q:session_name}|#{pane_id}|#{pane_pid}|#{pane_dead}")
	if errors.Is(err, session.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Info
	seen := map[string]bool{}
	for _, row := range tmuxwire.Rows(text, nonce) {
		f := tmuxwire.Fields(row)
		if len(f) != 4 {
			return nil, fmt.Errorf("tmux: a row of %d columns, want 4: %.200q", len(f), row)
		}
		if pid, err := strconv.Atoi(f[2]); !seen[f[0]] && err == nil {
			seen[f[0]] = true
			all = append(all, Info{Name: f[0], Pane: f[1], PID: pid, Dead: f[3] == "1"})
		}
	}
	return all, nil
}

// New makes a session with one pane, 200 columns by 50 rows, that runs the
// command in the folder, and returns the pane's id. tmux runs one word by a shell
// and more as they are; none is a shell. The server is started if need be, with
// no configuration file and little of this program's environment. The error is
// session.ErrExists if the name is taken. tmux writes . and : in a name as _.
func (s Server) New(ctx context.Context, name, dir string, argv ...string) (pane string, err error) {
	text, err := s.run(ctx, tmuxwire.NewSession(name, "", dir, argv...)...)
	return strings.TrimSpace(text), err
}

// SendKeys types into a pane, as tmux's send-keys: a key by its name (Enter,
// Escape, C-c, Up), and what is no key's name letter by letter. target is a pane's
// id or a session's name.
func (s Server) SendKeys(ctx context.Context, target string, keys ...string) error {
	_, err := s.run(ctx, append([]string{"send-keys", "-t", targetOf(target), "--"}, keys...)...)
	return err
}

// Capture is the last lines of a pane's screen and history as plain text, without
// blanks at the ends; 0: all there is.
func (s Server) Capture(ctx context.Context, target string, lines int) (string, error) {
	text, err := s.run(ctx, tmuxwire.Capture(targetOf(target), 0)...)
	if err != nil {
		return "", err
	}
	return tmuxwire.LastLines(text, lines), nil
}

// Kill ends a session; what runs in it is sent a hangup. No such session is no
// error.
func (s Server) Kill(ctx context.Context, name string) error {
	_, err := s.run(ctx, "kill-session", "-t", tmuxwire.Session(name))
	if errors.Is(err, session.ErrGone) {
		return nil
	}
	return err
}

// Attach is the command that shows a session in a terminal until the person
// detaches. Inside another tmux it needs TMUX unset; see Inside.
func (s Server) Attach(name string) []string {
	bin := s.Bin
	if bin == "" {
		bin = "tmux"
	}
	return tmuxwire.Attach(bin, s.Socket, tmuxwire.Session(name))
}

// targetOf is a pane's id as it is, and a session's name exactly.
func targetOf(target string) string {
	if strings.HasPrefix(target, "%") {
		return target
	}
	return tmuxwire.Session(target)
}
