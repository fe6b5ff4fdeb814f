package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// IDForm is how the id of a session that can be adopted is written.
const IDForm = "tmux:SOCKET/SESSION (SOCKET: a name as of tmux -L, or an absolute path)"

// Find looks up the session that an id names, tmux:SOCKET/SESSION: any session of
// any server of this user, to be adopted. SOCKET is a name as of tmux -L or an
// absolute path, and ends at the last slash. It changes nothing.
//
// Where nothing is there, Err says what there is instead; also when it is another
// project's, or has more panes than the one that a session of agentform is.
func (r *Runtime) Find(ctx context.Context, id string) session.Found {
	l, err := r.find(ctx, id)
	if err != nil {
		return session.Found{Err: err}
	}
	return session.Found{Live: &l}
}

// parseID takes an id apart. Links in the way to the socket are followed, so that
// one server has one name.
func parseID(id string) (socket, name string, err error) {
	rest, ok := strings.CutPrefix(id, "tmux:")
	i := strings.LastIndexByte(rest, '/')
	if !ok || i < 0 {
		return "", "", fmt.Errorf("invalid id %.100q: want %s", id, IDForm)
	}
	socket, name = rest[:i], rest[i+1:]
	switch {
	case strings.ContainsFunc(id, unicode.IsControl):
		return "", "", fmt.Errorf("invalid id %.100q: it has control characters", id)
	case name == "":
		return "", "", fmt.Errorf("invalid id %q: it names no session: want %s", id, IDForm)
	case strings.ContainsAny(name, ".:"), strings.ContainsRune("$@%=", rune(name[0])):
		return "", "", fmt.Errorf("invalid id %q: no tmux session is called %q (tmux makes an underscore of a dot and a colon)", id, name)
	case filepath.IsAbs(socket):
		socket = filepath.Clean(socket)
	case socket == "" || socket == "." || socket == ".." || strings.ContainsRune(socket, '/'):
		return "", "", fmt.Errorf("invalid id %q: the socket %q is neither a name nor an absolute path", id, socket)
	default:
		socket = filepath.Join(socketFolder(), socket)
	}
	if real, err := filepath.EvalSymlinks(socket); err == nil {
		socket = real
	}
	return socket, name, nil
}

// socketFolder is where tmux -L has its sockets.
func socketFolder() string {
	dir := os.Getenv("TMUX_TMPDIR")
	if dir == "" {
		dir = "/tmp"
	}
	return filepath.Join(dir, "tmux-"+strconv.Itoa(os.Getuid()))
}

func (r *Runtime) find(ctx context.Context, id string) (session.Live, error) {
	socket, name, err := parseID(id)
	if err != nil {
		return session.Live{}, err
	}
	s := r.server(socket)
	up, err := s.running(ctx)
	if err == nil && !up {
		err = fmt.Errorf("no tmux server runs on %s", socket)
	}
	if err != nil {
		return session.Live{}, err
	}
	nonce := newNonce()
	text, err := s.program.run(ctx, socket, nil, "list-panes", "-s", "-t", tmuxwire.Session(name), "-F", nonce+"|"+tmuxwire.ProcessFormat)
	if errors.Is(err, session.ErrGone) {
		return session.Live{}, fmt.Errorf("there is no session %q on %s%s", name, socket, s.names(ctx))
	}
	if err != nil {
		return session.Live{}, err
	}
	rows := tmuxwire.Rows(text, nonce)
	if len(rows) != 1 {
		return session.Live{}, fmt.Errorf("session %q has %d panes, and a session of agentform is one: give its agent a session of its own (tmux break-pane, or a new session)", name, len(rows))
	}
	return r.found(ctx, socket, rows[0])
}

// found is the session of a row of tmuxwire.ProcessFormat.
func (r *Runtime) found(ctx context.Context, socket, row string) (session.Live, error) {
	process, err := tmuxwire.ParseProcess(row)
	if err != nil {
		return session.Live{}, err
	}
	p, pid := pane{Pane: process.Pane}, process.PID
	l := r.live(socket, p)
	seen := shim.Seen(pid)
	if l.Dir = seen.Dir; l.Dir == "" {
		l.Dir = process.Cwd
	}
	if l.Command = seen.Argv; len(l.Command) == 0 {
		l.Command = process.Argv
	}
	switch {
	case !l.Foreign:
		r.assess(ctx, &l, p)
		return l, nil
	case l.Mark.Run != "":
		return session.Live{}, fmt.Errorf("it is %s of another agentform project, whose record it is on", l.Mark.Address)
	}
	start, runs := shim.StartTime(pid)
	l.Vital = session.Dead
	if !p.Dead && runs && (shim.Proc{PID: pid, Start: start}).Alive() {
		l.Vital = session.Alive
	}
	l.Agent = session.Process{PID: pid, Start: start}
	l.BootID = shim.BootID()
	l.Started = process.Created
	return l, nil
}

// names tells which sessions there are on a server, for an error.
func (s *server) names(ctx context.Context) string {
	text, err := s.program.run(ctx, s.socket, nil, "list-sessions", "-F", "#{session_name}")
	all := strings.FieldsFunc(text, func(c rune) bool { return c == '\n' })
	if err != nil || len(all) == 0 {
		return ""
	}
	if more := len(all) - 10; more > 0 {
		return fmt.Sprintf("; there are %s and %d more", strings.Join(all[:10], ", "), more)
	}
	return "; there are: " + strings.Join(all, ", ")
}
