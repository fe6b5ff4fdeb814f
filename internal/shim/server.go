package shim

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/shim/rundir"
)

func PrintError(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "agentform: "+format+"\r\n", args...)
}

const (
	// MaxConns is the number of concurrent clients; more are refused. One agentform at a time acts,
	// and a few look.
	MaxConns = 16
	// LineTimeout bounds sending a request and receiving its reply. It frees the slot of a silent
	// client.
	LineTimeout = 5 * time.Second
)

// Server serves a protocol of JSON lines. No client can block it: requests, their time, and the
// number of clients are bounded.
type Server struct {
	listener *os.File
	Limit    int // of a request, in bytes
	Answer   Answer
	places   chan struct{}
	busy     sync.RWMutex // read-locked while a request is answered
}

// Listen opens the shim's socket, 0600. An existing socket is a leftover: the run is claimed, so no
// other shim uses it. See Close.
//
// Listen avoids package net, which would take a tenth of a shim's start-up time.
func Listen(path string) (*os.File, error) {
	if err := rundir.CheckSocket(path); err != nil {
		return nil, err
	}
	old := syscall.Umask(0o177)
	defer syscall.Umask(old)
	return open(path, func(fd int) error {
		address := &syscall.SockaddrUnix{Name: path}
		err := syscall.Bind(fd, address)
		if errors.Is(err, syscall.EADDRINUSE) {
			if err = os.Remove(path); err == nil {
				err = syscall.Bind(fd, address)
			}
		}
		if err == nil {
			err = syscall.Listen(fd, syscall.SOMAXCONN)
		}
		return err
	})
}

// ListenTCP listens on a port of all addresses, for IPv4 and IPv6 where the system has both.
func ListenTCP(port int) (*os.File, error) {
	name := "port " + strconv.Itoa(port)
	listen := func(family int, address syscall.Sockaddr) (*os.File, error) {
		return socket(name, func() (int, error) { return syscall.Socket(family, syscall.SOCK_STREAM, 0) }, func(fd int) error {
			err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
			if err == nil && family == syscall.AF_INET6 {
				err = syscall.SetsockoptInt(fd, syscall.IPPROTO_IPV6, syscall.IPV6_V6ONLY, 0)
			}
			if err == nil {
				err = syscall.Bind(fd, address)
			}
			if err == nil {
				err = syscall.Listen(fd, syscall.SOMAXCONN)
			}
			return err
		})
	}
	l, err := listen(syscall.AF_INET6, &syscall.SockaddrInet6{Port: port})
	if err != nil {
		l, err = listen(syscall.AF_INET, &syscall.SockaddrInet4{Port: port})
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", name, err)
	}
	return l, nil
}

// Close closes a listener of Listen and removes its socket.
func Close(listener *os.File) {
	_ = os.Remove(listener.Name()) // it may be gone
	_ = listener.Close()
}

// Connect connects to the socket at a path.
func Connect(path string) (*os.File, error) {
	return open(path, func(fd int) error {
		return syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
	})
}

func open(path string, ready func(fd int) error) (*os.File, error) {
	conn, err := socket(path, func() (int, error) { return syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0) }, ready)
	if err != nil {
		return nil, &os.PathError{Op: "open socket", Path: path, Err: err}
	}
	return conn, nil
}

// socket creates a socket that Go's runtime polls, and returns it once it is ready.
func socket(path string, create func() (int, error), ready func(fd int) error) (*os.File, error) {
	syscall.ForkLock.RLock()
	fd, err := create()
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	_ = syscall.SetNonblock(fd, true) // no other process uses it
	if err := ready(fd); err != nil {
		syscall.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Answer answers a request with a value that is encoded as the reply's JSON. If hold is not nil, the
// connection stays open.
type Answer func(line []byte) (reply any, hold *Hold)

// Hold is what a client holds with its connection.
type Hold struct {
	Release func()        // called when the connection is closed
	Silence time.Duration // the client is gone if it sends nothing for so long; 0: no limit
}

// Serve answers the clients of a listener with one goroutine each.
func Serve(l *os.File, limit int, answer Answer) *Server {
	s := &Server{listener: l, Limit: limit, Answer: answer, places: make(chan struct{}, MaxConns)}
	go s.accept()
	return s
}

func (s *Server) accept() {
	Accept(s.listener, func(conn *os.File) {
		select {
		case s.places <- struct{}{}:
			go func() {
				defer func() { <-s.places }()
				s.Handle(conn)
			}()
		default:
			_ = conn.Close()
		}
	})
}

// Accept calls handle with each client of a listener until the listener is closed.
func Accept(l *os.File, handle func(*os.File)) {
	listener, err := l.SyscallConn()
	for err == nil {
		var conn *os.File
		var refused error
		err = listener.Read(func(fd uintptr) bool {
			conn, refused = socket(l.Name(), func() (int, error) {
				client, _, err := syscall.Accept(int(fd))
				return client, err
			}, func(int) error { return nil })
			return !errors.Is(refused, syscall.EAGAIN)
		})
		if err != nil { // closed
			return
		}
		if refused != nil { // out of file descriptors, temporarily
			time.Sleep(100 * time.Millisecond)
			continue
		}
		handle(conn)
	}
}

// Conn is a connection to a client.
type Conn interface {
	io.ReadWriteCloser
	SetDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// Handle answers the requests of one client until it disconnects, or is silent for too long.
func (s *Server) Handle(conn Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 1024), s.Limit)
	silence := LineTimeout
	for {
		if _ = conn.SetDeadline(time.Now().Add(silence)); silence == 0 {
			_ = conn.SetDeadline(time.Time{})
		}
		if !lines.Scan() {
			if errors.Is(lines.Err(), bufio.ErrTooLong) {
				send(conn, Refuse(CodeInvalid, fmt.Sprintf("the request is longer than %d KiB", s.Limit>>10)))
			}
			return
		}
		hold, sent := s.reply(conn, lines.Bytes())
		if hold != nil {
			silence = hold.Silence
			defer hold.Release()
		}
		if !sent {
			return
		}
	}
}

func (s *Server) reply(conn Conn, line []byte) (hold *Hold, sent bool) {
	s.busy.RLock()
	defer s.busy.RUnlock()
	r, hold := s.Answer(line)
	return hold, send(conn, r)
}

func send(conn Conn, r any) bool {
	b, err := json.Marshal(r)
	if err != nil {
		return false
	}
	_ = conn.SetWriteDeadline(time.Now().Add(LineTimeout))
	_, err = conn.Write(append(b, '\n'))
	return err == nil
}

// Close removes the socket and waits at most a second for replies under way.
func (s *Server) Close() {
	Close(s.listener)
	sent := make(chan struct{})
	go func() {
		s.busy.Lock() // never unlocked: the process is about to exit
		close(sent)
	}()
	select {
	case <-sent:
	case <-time.After(time.Second):
	}
}
