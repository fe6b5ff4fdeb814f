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
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// server is one tmux server: a socket, and the requests that wait for it.
type server struct {
	program  program
	scope    []string // see Config.Scope
	socket   string
	external bool // not of the project: only sessions with its mark count

	requests batcher
	captures batcher
	reduced  atomic.Bool // a session was removed, so that it may be about to exit
}

func (s *server) running(ctx context.Context) (bool, error) {
	conn, err := (&net.Dialer{Timeout: answerTimeout}).DialContext(ctx, "unix", s.socket)
	switch {
	case err == nil:
		return true, conn.Close()
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return false, nil
	case errors.Is(err, syscall.EAGAIN): // too many wait to connect
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
		_ = sleep(ctx, 2*time.Millisecond)
	}
}

// look lists the session of that name. The error is session.ErrGone if there is none.
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

// capture prints the last lines of a pane; 0 prints all. What an agent has written may be
// many megabytes, so captures run apart from other requests and few at a time.
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

// screens returns what panes show, by their ids, in one call. Each screen is in front of
// a line with a nonce, which is not in any argument of a process, so that no screen can
// pretend to be another pane's. Panes that are gone are left out. The error is
// session.ErrGone if no server runs.
func (s *server) screens(ctx context.Context, panes []string) (map[string]string, error) {
	nonce := newNonce()
	var script strings.Builder
	for _, id := range panes {
		// One line a pane, so that a failure ends only its own. tmux writes the id, since
		// display-message takes %3 for a format of the time.
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
	// exitLimit bounds the wait for a killed server to exit. More than 3 s have been seen
	// on a busy machine.
	exitLimit = 10 * time.Second
	// terminateAfter is the time that a server has to exit before it is terminated.
	terminateAfter = 3 * time.Second
)

// retry calls f until it fails for another reason than that a server is about to exit, or
// for too long. on returns that server; nil: none.
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
		if sleep(ctx, wait) != nil {
			return err
		}
	}
}

// retry is the function retry on s. The error is session.ErrGone if no server runs, or if
// it exits meanwhile: its sessions exit with it.
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

// terminateStuck terminates a server that was killed and cannot exit. tmux (3.3a,
// server_loop in server.c) waits until it has no session. One that was created by a client
// that had connected before the kill stays, and the server closes all new connections, so
// that its sessions could never be seen or ended. On a signal it ends them and exits.
//
// Only such a server closes a connection on which nothing was sent. External servers are
// left alone.
func (s *server) terminateStuck() {
	if s.external {
		return
	}
	conn, err := net.DialTimeout("unix", s.socket, answerTimeout)
	if err != nil {
		return // it has exited, or is too busy to be about to exit
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

// restoreSocket makes a run's server create its socket again if a clean-up job has removed
// it. The server is recognized as the parent of the run's shim with the socket in its
// command line. A failure does not keep the run from being stopped.
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
