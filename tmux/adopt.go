package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// IDForm is the format of ids for Find and Adopt.
const IDForm = "tmux:SOCKET/SESSION (SOCKET: a name as of tmux -L, or an absolute path)"

// Find looks up a session by its id (see IDForm), on any server of this user, and changes
// nothing. A session of another project or of several panes is an error.
func (r *Runtime) Find(ctx context.Context, id string) session.Found {
	l, err := r.find(ctx, id)
	if err != nil {
		return session.Found{Err: err}
	}
	return session.Found{Live: &l}
}

func (r *Runtime) find(ctx context.Context, id string) (session.Live, error) {
	socket, name, err := parseID(id)
	if err != nil {
		return session.Live{}, err
	}
	s := r.servers.at(socket)
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
		return session.Live{}, fmt.Errorf("no session %q on %s%s", name, socket, s.otherNames(ctx))
	}
	if err != nil {
		return session.Live{}, err
	}
	rows := tmuxwire.Rows(text, nonce)
	if len(rows) != 1 {
		return session.Live{}, fmt.Errorf("session %q has %d panes, and a session has one pane: give its agent its own session (tmux break-pane, or a new session)", name, len(rows))
	}
	process, err := tmuxwire.ParseProcess(rows[0])
	if err != nil {
		return session.Live{}, err
	}
	return r.observer.found(ctx, s, process)
}

func parseID(id string) (socket, name string, err error) {
	rest, ok := strings.CutPrefix(id, "tmux:")
	i := strings.LastIndexByte(rest, '/')
	if !ok || i < 0 {
		return "", "", fmt.Errorf("invalid id %.100q: expected %s", id, IDForm)
	}
	socket, name = rest[:i], rest[i+1:]
	switch {
	case strings.ContainsFunc(id, unicode.IsControl):
		return "", "", fmt.Errorf("invalid id %.100q: it has control characters", id)
	case name == "":
		return "", "", fmt.Errorf("invalid id %q: it names no session: expected %s", id, IDForm)
	case strings.ContainsAny(name, ".:"), strings.ContainsRune("$@%=", rune(name[0])):
		return "", "", fmt.Errorf("invalid id %q: no tmux session is called %q (tmux makes an underscore of a dot and a colon)", id, name)
	case !filepath.IsAbs(socket) && (socket == "" || socket == "." || socket == ".." || strings.ContainsRune(socket, '/')):
		return "", "", fmt.Errorf("invalid id %q: the socket %q is neither a name nor an absolute path", id, socket)
	}
	return resolveSocket(socket), name, nil
}

func (o *observer) found(ctx context.Context, s *server, process tmuxwire.Process) (session.Live, error) {
	p, pid := pane{Pane: process.Pane}, process.PID
	l := o.live(s, p)
	seen := proc.ReadInfo(pid)
	if l.Dir = seen.Dir; l.Dir == "" {
		l.Dir = process.Cwd
	}
	if l.Command = seen.Argv; len(l.Command) == 0 {
		l.Command = process.Argv
	}
	switch {
	case !l.Foreign:
		o.assess(ctx, s, &l, p)
		return l, nil
	case l.Mark.Run != "":
		return session.Live{}, fmt.Errorf("it is %s of another agentform project, which manages it", l.Mark.Address)
	}
	start, runs := proc.StartTime(pid)
	l.Liveness = session.Dead
	if !p.Dead && runs && (proc.Process{PID: pid, Start: start}).Alive() {
		l.Liveness = session.Alive
	}
	l.Agent = session.Process{PID: pid, Start: start}
	l.BootID, l.Started = proc.BootID(), process.Created
	return l, nil
}

func (s *server) otherNames(ctx context.Context) string {
	text, err := s.program.run(ctx, s.socket, nil, "list-sessions", "-F", "#{session_name}")
	all := strings.Split(strings.TrimSpace(text), "\n")
	if err != nil || all[0] == "" {
		return ""
	}
	if more := len(all) - 10; more > 0 {
		return fmt.Sprintf("; sessions: %s and %d more", strings.Join(all[:10], ", "), more)
	}
	return "; sessions: " + strings.Join(all, ", ")
}

// Adopt adopts the session with an id of Find while it runs. It sets the project's mark and keeps
// the pane after its process has exited; nothing else on the server is changed. The error is
// session.ErrExists if the session already belongs to the project.
//
// The session has no shim until Restart: the pane and its process show whether it is alive, Stop
// ends that process and its descendants, and the session cannot be frozen.
func (r *Runtime) Adopt(ctx context.Context, id string, m session.Mark) (p session.Location, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("adopt %s: %w", id, err)
		}
	}()
	if err := checkRun(m.Run); err != nil {
		return session.Location{}, err
	}
	l, err := r.find(ctx, id)
	switch {
	case err != nil:
		return session.Location{}, err
	case !l.Foreign:
		return session.Location{}, fmt.Errorf("it is %s: it %w", l.Mark.Address, session.ErrExists)
	case l.Liveness != session.Alive:
		return session.Location{}, fmt.Errorf("the session in it is %s", l.Liveness)
	}
	mark, err := setMark(m, l.Location.Name)
	if err != nil {
		return session.Location{}, err
	}
	dir := r.runs.dir(m.Run)
	c := rundir.Config{Run: m.Run, Address: string(m.Address), Dir: l.Dir, Socket: r.runs.socket(m.Run), Argv: l.Command}
	if err := rundir.Adopt(dir, c, proc.Process{PID: l.Agent.PID, Start: l.Agent.Start}, l.Started); err != nil {
		return session.Location{}, err
	}
	s := r.servers.at(l.Location.Socket)
	if err = r.servers.link(s); err == nil {
		_, err = s.ask(ctx,
			tmuxwire.Command{"set-option", "-p", "-t", l.Location.Pane, "remain-on-exit", "on"},
			tmuxwire.Command{"set-option", "-t", tmuxwire.Session(l.Location.Name), tmuxwire.PaneOption, l.Location.Pane},
			mark)
	}
	if err != nil {
		r.servers.unlink(context.WithoutCancel(ctx), r.observer, s)
		return session.Location{}, errors.Join(err, os.RemoveAll(dir))
	}
	return l.Location, nil
}
