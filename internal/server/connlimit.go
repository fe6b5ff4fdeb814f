package server

import (
	"context"
	"net"
	"slices"
	"sync"
)

// connLimiter is a listener that limits open connections. At the limit, a new one
// replaces the oldest on which no token has come, so that clients without a token cannot
// keep out those with one.
type connLimiter struct {
	net.Listener
	limit int

	mu              sync.Mutex
	unauthenticated []*limitedConn // oldest first
	authenticated   int
}

// limitedConn is a connection of a connLimiter.
type limitedConn struct {
	net.Conn
	limiter       *connLimiter
	authenticated bool
}

// Accept waits for a connection within the limit.
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

// remove removes a connection without a token, and reports whether it was there.
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

// withConn puts a connection into the context of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// markAuthenticated keeps the connection of a request with the token open when others
// come.
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
