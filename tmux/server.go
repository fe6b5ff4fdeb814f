package tmux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// server is one tmux server: a socket, and its pending requests.
type server struct {
	program  program
	scope    []string // see Config.Scope
	socket   string
	external bool // not the project's: only sessions with its mark count

	requests batcher
	captures batcher
	reduced  atomic.Bool // a session was removed, so the server may be about to exit
}

func (s *server) running(ctx context.Context) (bool, error) {
	conn, err := (&net.Dialer{Timeout: answerTimeout}).DialContext(ctx, "unix", s.socket)
	switch {
	case err == nil:
		return true, conn.Close()
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return false, nil
	case errors.Is(err, syscall.EAGAIN): // too many clients are waiting
		return true, nil
	}
	return false, fmt.Errorf("connect to tmux server: %w", err)
}

// awaitExit waits until a server whose last session was removed has exited.
func (s *server) awaitExit() {
	if !s.reduced.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), exitLimit)
	defer cancel()
	for ctx.Err() == nil {
		if up, err := s.running(ctx); err == nil && !up {
			return
		}
		if ids, err := s.ask(ctx, tmuxwire.Command{"list-sessions", "-F", "#{session_id}"}); err != nil || ids != "" {
			return
		}
		sleep.For(ctx, 2*time.Millisecond)
	}
}

// look returns the session of that name. The error is session.ErrGone if it does not exist.
func (s *server) look(ctx context.Context, name string) (pane, error) {
	nonce := newNonce()
	text, err := s.ask(ctx, tmuxwire.Command{"list-panes", "-s", "-t", tmuxwire.Session(name), "-F", nonce + "|" + tmuxwire.PaneFormat})
	if err != nil {
		return pane{}, err
	}
	found, err := parsePanes(text, nonce)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("tmux: %d sessions are named %q", len(found), name)
	}
	if err != nil {
		return pane{}, err
	}
	return found[0], nil
}

// capture returns the last lines of a pane; 0 returns all. An agent's output may have many
// megabytes, so captures run apart from other requests and few at a time.
func (s *server) capture(ctx context.Context, target string, lines int) (string, error) {
	text, err := s.submit(&s.captures, &request{ctx: ctx, cmds: []tmuxwire.Command{tmuxwire.Capture(target, lines)}})
	if errors.Is(err, tmuxwire.ErrNoServer) {
		err = session.ErrGone
	}
	if err != nil {
		return "", err
	}
	return tmuxwire.LastLines(text, lines), nil
}

// capturesAtOnce is how many histories, of up to ten megabytes, one process prints.
const capturesAtOnce = 16

// screens returns the screens of panes by their ids, in one call. Each screen is followed by a line
// with a nonce that is in no argument of a process, so that no screen can imitate another pane's.
// It omits panes that are gone. The error is session.ErrGone if no server runs.
func (s *server) screens(ctx context.Context, panes []string) (map[string]string, error) {
	nonce := newNonce()
	var script strings.Builder
	for _, id := range panes {
		// Use a line for each pane, so that a failure affects only its own. The id is written by
		// tmux, since display-message would take %3 for a format of the time.
		script.WriteString(tmuxwire.Line(tmuxwire.Screen(id), tmuxwire.Command{"display-message", "-p", "-t", id, nonce + "#{pane_id}"}) + "\n")
	}
	var text string
	err := s.retry(ctx, func() error {
		var err error
		text, err = s.program.run(ctx, s.socket, strings.NewReader(script.String()), "source-file", "-")
		if errors.Is(err, session.ErrGone) {
			return nil // one of the panes is
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	shown := map[string]string{}
	for screen, rest, more := strings.Cut(text, nonce); more; screen, rest, more = strings.Cut(rest, nonce) {
		id, after, _ := strings.Cut(rest, "\n")
		shown[id] = tmuxwire.Trim(screen)
		rest = after
	}
	return shown, nil
}

const (
	// exitLimit bounds the wait for a killed server to exit. Busy machines have taken more than 3
	// s.
	exitLimit = 10 * time.Second
	// terminateAfter is the time that a server has to exit before it is terminated.
	terminateAfter = 3 * time.Second
)

// retry calls f until it succeeds or fails for another reason than a server's exit, or its time is
// over. on returns that server; nil: none.
func retry(ctx context.Context, on func() *server, f func() error) error {
	began, terminated := time.Now(), false
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		err := f()
		elapsed := time.Since(began)
		if !errors.Is(err, tmuxwire.ErrNoServer) || elapsed > exitLimit {
			return err
		}
		if s := on(); s != nil && elapsed > terminateAfter && !terminated {
			s.terminateStuck()
			terminated = true
		}
		if !sleep.For(ctx, wait) {
			return err
		}
	}
}

// retry is the function retry on s. The error is session.ErrGone if no server runs, or if it exits
// meanwhile, and its sessions with it.
func (s *server) retry(ctx context.Context, f func() error) error {
	return retry(ctx, func() *server { return s }, func() error {
		err := f()
		if !errors.Is(err, tmuxwire.ErrNoServer) {
			return err
		}
		if up, asked := s.running(ctx); asked != nil || up {
			return err
		}
		return fmt.Errorf("tmux server %s: %w", s.socket, session.ErrGone)
	})
}

// terminateStuck terminates a server that was killed and cannot exit. tmux (3.3a, server_loop in
// server.c) waits until it has no session. If a client that connected before the kill then creates
// one, the session stays while the server closes all new connections, so that its sessions could
// never be seen or ended. On a signal it ends them and exits.
//
// Only such a server closes a connection on which nothing was sent. terminateStuck does not affect
// external servers.
func (s *server) terminateStuck() {
	if s.external {
		return
	}
	conn, err := net.DialTimeout("unix", s.socket, answerTimeout)
	if err != nil {
		return // it has exited, or is too busy to be exiting
	}
	defer conn.Close()
	if conn.SetReadDeadline(time.Now().Add(time.Second)) != nil {
		return
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		return
	}
	if pid := listener(conn); pid > 1 && pid != os.Getpid() {
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
}

const socketTimeout = 2 * time.Second

// restoreSocket makes a run's server recreate its socket if a clean-up job has removed it. The
// server is the parent of the run's shim with the socket in its command line. A failure does not
// prevent the run's stop.
func (s *server) restoreSocket(ctx context.Context, f rundir.Facts) {
	if s.external {
		return
	}
	if _, err := os.Lstat(s.socket); !errors.Is(err, os.ErrNotExist) {
		return
	}
	pid := f.Shim.Parent()
	if f.Adopted() || pid <= 1 || !slices.Contains(proc.ReadInfo(pid).Argv, s.socket) {
		return
	}
	if os.MkdirAll(filepath.Dir(s.socket), 0o700) != nil || syscall.Kill(pid, syscall.SIGUSR1) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, socketTimeout)
	defer cancel()
	_ = poll(ctx, 100*time.Millisecond, func() (bool, error) { return s.running(ctx) })
}
