package server

import (
	"container/list"
	"context"
	"net"
	"sync"
)

// crowd is a listener that takes so many connections at most. When it is full, a new
// connection takes the place of the oldest on which no token came: whoever has none
// cannot keep out who has one, however many connections they hold.
type crowd struct {
	net.Listener
	most int

	mu        sync.Mutex
	strangers list.List // *visitor, the oldest first
	known     int       // connections on which the token came
}

// visitor is a connection that a crowd took.
type visitor struct {
	net.Conn
	crowd *crowd
	place *list.Element // among the strangers; nil: the token came, or it is closed
	known bool
	gone  bool
}

// Accept waits for the next connection that there is room for.
func (c *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		v := &visitor{Conn: conn, crowd: c}
		c.mu.Lock()
		var out *visitor
		if c.known+c.strangers.Len() >= c.most {
			if oldest := c.strangers.Front(); oldest != nil {
				out, _ = oldest.Value.(*visitor)
			} else {
				out = v
			}
		}
		if out != v {
			v.place = c.strangers.PushBack(v)
		}
		c.mu.Unlock()
		if out != nil {
			_ = out.Close()
		}
		if out != v {
			return v, nil
		}
	}
}

// Close closes the connection and gives its place away.
func (v *visitor) Close() error {
	c := v.crowd
	c.mu.Lock()
	if !v.gone {
		v.gone = true
		if v.place != nil {
			c.strangers.Remove(v.place)
			v.place = nil
		} else if v.known {
			c.known--
		}
	}
	c.mu.Unlock()
	return v.Conn.Close()
}

// trust keeps the connection when others come.
func (v *visitor) trust() {
	c := v.crowd
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.gone || v.known {
		return
	}
	c.strangers.Remove(v.place)
	v.place, v.known = nil, true
	c.known++
}

type visitorKey struct{}

// withVisitor puts a connection into the context of its requests.
func withVisitor(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, visitorKey{}, c)
}

// trusted says that the token came with a request on this connection.
func trusted(ctx context.Context) {
	if v, ok := ctx.Value(visitorKey{}).(*visitor); ok {
		v.trust()
	}
}
