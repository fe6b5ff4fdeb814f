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

	"github.com/agentform/agentform/internal/shim/rundir"
)

func PrintError(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "agentform: "+format+"\r\n", args...)
}

const (
	// MaxConns is how many clients a shim hears at once; more are turned away.
	// There is one agentform at a time that acts, and a few that look.
	MaxConns = 16
	// LineTimeout is how long a client may take to send a request, and to take
	// its reply. It frees the place of one that says nothing.
	LineTimeout = 5 * time.Second
)

// Server hears a protocol of JSON lines. No client can hold it up: lines are bounded
// in size and time, and so are the clients.
type Server struct {
	listener net.Listener
	Limit    int // of a request, in bytes
	Answer   Answer
	places   chan struct{}
	busy     sync.RWMutex // read-held while a request is answered
}

// Listen opens the shim's socket, 0600. A socket of that name is left over:
// the run is claimed, so no other shim has it.
func Listen(path string) (net.Listener, error) {
	if err := rundir.CheckSocket(path); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	old := syscall.Umask(0o177)
	defer syscall.Umask(old)
	return net.Listen("unix", path)
}

// Answer answers a request with a value that becomes the reply's JSON. release, if it is
// not nil, keeps the connection open and is called when it is closed.
type Answer func(line []byte) (reply any, release func())

// Serve answers the clients of a listener with one goroutine each.
func Serve(l net.Listener, limit int, answer Answer) *Server {
	s := &Server{listener: l, Limit: limit, Answer: answer, places: make(chan struct{}, MaxConns)}
	go s.accept()
	return s
}

func (s *Server) accept() {
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
				s.Handle(conn)
			}()
		default:
			conn.Close()
		}
	}
}

// Handle answers one client, request by request, until it says nothing more. A client that
// holds something may be silent for as long as it likes.
func (s *Server) Handle(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 1024), s.Limit)
	lasts := false
	for {
		if conn.SetDeadline(time.Now().Add(LineTimeout)); lasts {
			conn.SetDeadline(time.Time{})
		}
		if !lines.Scan() {
			if errors.Is(lines.Err(), bufio.ErrTooLong) {
				send(conn, Refuse(CodeInvalid, fmt.Sprintf("the request is longer than %d KiB", s.Limit>>10)))
			}
			return
		}
		release, sent := s.reply(conn, lines.Bytes())
		if release != nil {
			lasts = true
			defer release()
		}
		if !sent {
			return
		}
	}
}

func (s *Server) reply(conn net.Conn, line []byte) (release func(), sent bool) {
	s.busy.RLock()
	defer s.busy.RUnlock()
	r, release := s.Answer(line)
	return release, send(conn, r)
}

func send(conn net.Conn, r any) bool {
	b, err := json.Marshal(r)
	if err != nil {
		return false
	}
	conn.SetWriteDeadline(time.Now().Add(LineTimeout))
	_, err = conn.Write(append(b, '\n'))
	return err == nil
}

// Close takes the socket away and lets answers under way be sent, for at most
// a second.
func (s *Server) Close() {
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
