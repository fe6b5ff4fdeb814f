package tmux

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

func (s *server) again(ctx context.Context, f func() error) error {
	return again(ctx, func() *server { return s }, f)
}

// remind tells a server once more to leave that was told to and does not. tmux (3.3a,
// server_loop in server.c) waits until it holds no session; one that was made by a
// client which had connected before it was told stays, and with it a server that lets
// nobody in any more: its sessions could neither be seen nor ended, for ever. Told by a
// signal it ends them and leaves.
//
// Only such a server closes a connection over which nothing was said. One of somebody
// else is not ours to tell.
func (s *server) remind() {
	if s.borrowed {
		return
	}
	conn, err := net.DialTimeout("unix", s.socket, answerTimeout)
	if err != nil {
		return // it has gone, or is too busy to be one that leaves
	}
	defer conn.Close()
	if conn.SetReadDeadline(time.Now().Add(time.Second)) != nil {
		return
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		return
	}
	if pid := listener(conn); pid > 1 && pid != os.Getpid() {
		_ = syscall.Kill(pid, syscall.SIGTERM) // it has gone meanwhile: as well
	}
}
