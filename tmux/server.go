package tmux

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/tmuxwire"
)

// server is one tmux server: a socket, and what waits for it.
type server struct {
	program  program
	socket   string
	borrowed bool // somebody else's: only what is marked as ours counts

	requests queue
	shows    queue
	roster   roster

	mu       sync.Mutex
	counted  bool
	sessions int  // about how many it holds, once counted
	reduced  bool // a session of it was ended: it may be about to leave
}

// running reports whether a server listens on the socket. A file that is left
// of one that has gone does not count, and is left alone.
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

// reserve counts a session that is about to be made, unless the server is full.
func (s *server) reserve(ctx context.Context) (bool, error) {
	s.mu.Lock()
	counted := s.counted
	s.mu.Unlock()
	there := 0
	if !counted {
		var err error
		if there, err = s.holds(ctx); err != nil {
			return false, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.counted {
		s.counted, s.sessions = true, there
	}
	if s.sessions >= perServer {
		return false, nil
	}
	s.sessions++
	return true, nil
}

func (s *server) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions, s.reduced = max(0, s.sessions-1), true
}

// leaves waits until a server whose last session was ended has left, so that its
// going has been seen.
func (s *server) leaves() {
	s.mu.Lock()
	reduced := s.reduced
	s.mu.Unlock()
	if !reduced {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lingers)
	defer cancel()
	for ctx.Err() == nil {
		if names, err := s.ask(ctx, tmuxwire.Command{"list-sessions", "-F", "#{session_id}"}); err != nil || names != "" {
			return
		}
		_ = sleep(ctx, 2*time.Millisecond)
	}
}
