package tmux

import (
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

const (
	// answerTimeout keeps a suspended server from blocking the others.
	answerTimeout = 20 * time.Second
	// silentTimeout replaces answerTimeout for silenceLasts after a server has not answered,
	// since a command of agentform asks several times.
	silentTimeout = 2 * time.Second
	silenceLasts  = time.Minute
)

// silence remembers when a server did not answer. The zero value is of one that does, and
// nil remembers nothing.
type silence struct{ since atomic.Int64 } // in nanoseconds

// timeout returns the time that the server has for the next answer.
func (s *silence) timeout() time.Duration {
	if s != nil && time.Since(time.Unix(0, s.since.Load())) < silenceLasts {
		return silentTimeout
	}
	return answerTimeout
}

// answered records whether the server answered within a timeout.
func (s *silence) answered(ok bool, timeout time.Duration) {
	switch {
	case s == nil:
	case ok:
		s.since.Store(0)
	case timeout == answerTimeout:
		s.since.Store(time.Now().UnixNano())
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
