package tmux

import (
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	// answerTimeout is the time that a server has to answer. It is far more than any
	// command takes, and keeps a suspended server from blocking the others.
	answerTimeout = 20 * time.Second
	// silentTimeout replaces it for a server that has not answered just now, since a
	// command of agentform asks several times.
	silentTimeout = 2 * time.Second
	// silenceLasts is for how long that is.
	silenceLasts = time.Minute
)

// silence remembers when a server did not answer. The zero value is of one that does, and
// nil remembers nothing.
type silence struct {
	mu    sync.Mutex
	since time.Time
}

// timeout returns the time that the server has for the next answer.
func (s *silence) timeout() time.Duration {
	if s == nil {
		return answerTimeout
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.since.IsZero() && time.Since(s.since) < silenceLasts {
		return silentTimeout
	}
	return answerTimeout
}

// answered records whether the server answered within a timeout.
func (s *silence) answered(ok bool, timeout time.Duration) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ok:
		s.since = time.Time{}
	case timeout == answerTimeout:
		s.since = time.Now()
	}
}

// noAnswer returns the error of a server that did not answer, with its process, which may
// be suspended.
func noAnswer(socket string, timeout time.Duration) error {
	err := fmt.Errorf("no answer within %v from the server on %s", timeout, socket)
	conn, dialErr := net.DialTimeout("unix", socket, time.Second)
	if dialErr != nil {
		return err
	}
	defer conn.Close()
	if pid := listener(conn); pid != 0 {
		return fmt.Errorf("%w (process %d): kill -CONT %[2]d wakes it if it is suspended", err, pid)
	}
	return err
}
