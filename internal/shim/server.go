package shim

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// maxConns is how many clients a guest hears at once; more are turned away.
	// There is one agentform at a time that acts, and a few that look.
	maxConns = 16
	// lineTimeout is how long a client may take to send a request, and to take
	// its reply. It frees the place of one that says nothing.
	lineTimeout = 5 * time.Second
)

// server hears a protocol of JSON lines. No client can hold it up: lines are bounded
// in size and time, and so are the clients.
type server struct {
	listener net.Listener
	limit    int              // of a request, in bytes
	answer   func([]byte) any // the reply to a request
	places   chan struct{}
	busy     sync.RWMutex // read-held while a request is answered
}

// listen opens the guest's socket, 0600. A socket of that name is left over:
// the run is claimed, so no other guest has it.
func listen(path string) (net.Listener, error) {
	if err := checkSocket(path); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	old := syscall.Umask(0o177)
	defer syscall.Umask(old)
	return net.Listen("unix", path)
}

func serve(l net.Listener, limit int, answer func([]byte) any) *server {
	s := &server{listener: l, limit: limit, answer: answer, places: make(chan struct{}, maxConns)}
	go s.accept()
	return s
}

func (s *server) accept() {
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of file descriptors: goes by
			time.Sleep(100 * time.Millisecond)
			continue
		}
		select {
		case s.places <- struct{}{}:
			go func() {
				defer func() { <-s.places }()
				s.hear(conn)
			}()
		default:
			conn.Close()
		}
	}
}

// hear answers one client, request by request, until it says nothing more. A client that
// holds something may be silent for as long as it likes.
func (s *server) hear(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 1024), s.limit)
	lasts := false
	for {
		if conn.SetDeadline(time.Now().Add(lineTimeout)); lasts {
			conn.SetDeadline(time.Time{})
		}
		if !lines.Scan() {
			if errors.Is(lines.Err(), bufio.ErrTooLong) {
				send(conn, refuse(CodeInvalid, fmt.Sprintf("the request is longer than %d KiB", s.limit>>10)))
			}
			return
		}
		r, sent := s.reply(conn, lines.Bytes())
		if k, ok := r.(keeperReply); ok && k.release != nil {
			lasts = true
			defer k.release()
		}
		if !sent {
			return
		}
	}
}

func (s *server) reply(conn net.Conn, line []byte) (r any, sent bool) {
	s.busy.RLock()
	defer s.busy.RUnlock()
	r = s.answer(line)
	return r, send(conn, r)
}

func send(conn net.Conn, r any) bool {
	b, err := json.Marshal(r)
	if err != nil {
		return false
	}
	conn.SetWriteDeadline(time.Now().Add(lineTimeout))
	_, err = conn.Write(append(b, '\n'))
	return err == nil
}

// close takes the socket away and lets answers under way be sent, for at most
// a second.
func (s *server) close() {
	s.listener.Close()
	sent := make(chan struct{})
	go func() {
		s.busy.Lock() // never unlocked: the process is about to leave
		close(sent)
	}()
	select {
	case <-sent:
	case <-time.After(time.Second):
	}
}
