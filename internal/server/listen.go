package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// SocketName is the name of the unix socket in the directory of the project's sockets.
const SocketName = "hub.sock"

// ListenUnix listens at a path for its owner only. A socket there was left by an earlier
// hub. Close removes the path.
func ListenUnix(path string) (net.Listener, error) {
	fail := func(err error) (net.Listener, error) {
		return nil, fmt.Errorf("listen on the hub's socket: %w", err)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket == 0 {
		return fail(fmt.Errorf("%s is not a socket: remove it", path))
	}
	// The socket gets its mode under another name, which is short enough for a socket.
	folder, err := os.MkdirTemp(filepath.Dir(path), ".h")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(folder)
	made := filepath.Join(folder, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return fail(err)
	}
	l.SetUnlinkOnClose(false)
	info, err := os.Lstat(made)
	if err == nil {
		err = os.Chmod(made, 0o600)
	}
	if err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		return fail(errors.Join(err, l.Close()))
	}
	return &unixListener{Listener: l, path: path, info: info}, nil
}

// unixListener removes its path when it is closed, unless another hub has replaced it.
type unixListener struct {
	net.Listener
	path string
	info os.FileInfo
	once sync.Once
}

func (d *unixListener) Close() error {
	d.once.Do(func() {
		if now, err := os.Lstat(d.path); err == nil && os.SameFile(now, d.info) {
			_ = os.Remove(d.path) // the next hub replaces it
		}
	})
	return d.Listener.Close()
}

// ListenTCP listens at HOST:PORT. Since nothing is encrypted, the host must be a loopback
// address, the default, unless remote is set. It returns the host's name, if it has one.
func ListenTCP(address string, remote bool) (l net.Listener, host string, err error) {
	host, _, err = net.SplitHostPort(address)
	if err != nil {
		return nil, "", fmt.Errorf("listen at %q: expected HOST:PORT, such as 127.0.0.1:7171", address)
	}
	if host == "" {
		host, address = "127.0.0.1", "127.0.0.1"+address
	}
	l, err = net.Listen("tcp", address)
	if err != nil {
		return nil, "", fmt.Errorf("listen at %s: %w", address, err)
	}
	at := netip.MustParseAddrPort(l.Addr().String()).Addr()
	if !at.IsLoopback() && !remote {
		_ = l.Close()
		return nil, "", fmt.Errorf("listen at %s: other machines can reach this address, and traffic, including the token, is not encrypted\nlisten at 127.0.0.1 and connect with ssh -L, or set --allow-remote", address)
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		host = ""
	}
	return l, host, nil
}

// connLimiter limits open connections. At the limit, a new one replaces the oldest on
// which no token has come: clients without a token cannot keep out those with one.
type connLimiter struct {
	net.Listener
	limit int

	mu              sync.Mutex
	unauthenticated []*limitedConn // oldest first
	authenticated   int
}

type limitedConn struct {
	net.Conn
	limiter       *connLimiter
	authenticated bool
}

func (l *connLimiter) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &limitedConn{Conn: conn, limiter: l}
		drop := l.add(c)
		if drop != nil {
			_ = drop.Close()
		}
		if drop != c {
			return c, nil
		}
	}
}

// add adds a connection. It returns the one to close: nil, or c itself.
func (l *connLimiter) add(c *limitedConn) (drop *limitedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.authenticated+len(l.unauthenticated) >= l.limit {
		if len(l.unauthenticated) == 0 {
			return c
		}
		drop = l.unauthenticated[0]
	}
	l.unauthenticated = append(l.unauthenticated, c)
	return drop
}

func (l *connLimiter) remove(c *limitedConn) bool {
	i := slices.Index(l.unauthenticated, c)
	if i >= 0 {
		l.unauthenticated = slices.Delete(l.unauthenticated, i, i+1)
	}
	return i >= 0
}

// Close closes the connection and makes room for another.
func (c *limitedConn) Close() error {
	c.limiter.mu.Lock()
	if !c.limiter.remove(c) && c.authenticated {
		c.authenticated = false
		c.limiter.authenticated--
	}
	c.limiter.mu.Unlock()
	return c.Conn.Close()
}

type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// markAuthenticated keeps the connection of a request open when others come.
func markAuthenticated(ctx context.Context) {
	c, ok := ctx.Value(connKey{}).(*limitedConn)
	if !ok {
		return
	}
	c.limiter.mu.Lock()
	defer c.limiter.mu.Unlock()
	if c.limiter.remove(c) {
		c.authenticated = true
		c.limiter.authenticated++
	}
}
