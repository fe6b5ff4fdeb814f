package tmux

import (
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	// answerTimeout is how long a tmux server may take to answer. It is far beyond
	// what any command takes, and there so that a stopped server stops nobody else.
	answerTimeout = 20 * time.Second
	// silentTimeout is how long a server may take that has not answered just now: a
	// command asks several times, and is to end in bounded time.
	silentTimeout = 2 * time.Second
	// silenceLasts is for how long a server that did not answer has silentTimeout.
	silenceLasts = time.Minute
)

// silence remembers since when a server does not answer. The zero value is one that does,
// and so is nil, of which nothing is remembered.
type silence struct {
	mu    sync.Mutex
	since time.Time
}

// timeout returns how long the server may take to answer the next question.
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

// answered notes that the server answered, or that it did not within a time.
func (s *silence) answered(did bool, within time.Duration) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case did:
		s.since = time.Time{}
	case within == answerTimeout:
		s.since = time.Now()
	}
}

// noAnswer is the error of a server that did not answer within a time. It names the
// server's process, which may be stopped.
func noAnswer(socket string, within time.Duration) error {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return fmt.Errorf("no answer within %v from the server on %s", within, socket)
	}
	defer conn.Close()
	pid := listener(conn)
	if pid == 0 {
		return fmt.Errorf("no answer within %v from the server on %s", within, socket)
	}
	return fmt.Errorf("no answer within %v from the server on %s (process %d): kill -CONT %[3]d wakes it if it is suspended", within, socket, pid)
}
