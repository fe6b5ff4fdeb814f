//go:build real

package shim

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// A client gives up on an init that neither answers nor reads, or answers slowly without end, when
// its time is over.
func TestInitThatNeverAnswers(t *testing.T) {
	for name, answer := range map[string]func(net.Conn){
		"silent": func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"deaf":   func(c net.Conn) { <-t.Context().Done() },
		"slow": func(c net.Conn) {
			for { // the client disconnects
				if _, err := c.Write([]byte(" ")); err != nil {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := impostor(t, answer)
			for op, q := range asked {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				began := time.Now()
				if err := q.ask(k, ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 10*time.Second {
					t.Errorf("%s: after %s %v", op, time.Since(began), err)
				}
				cancel()
			}
			// A request that exceeds the socket's buffer waits for a reader.
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, err := k.Tmux(ctx, strings.Repeat("x", 4<<20), "load-buffer", "-"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a long request: %v", err)
			}
		})
	}
}

// Without a deadline of its caller, a look has one of its own.
func TestInitIsGivenUpByItself(t *testing.T) {
	t.Parallel()
	k := impostor(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	began := time.Now()
	_, err := k.Look(context.Background(), "/runs/r", "=s:", "", false)
	if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took < lookTimeout || took > lookTimeout+30*time.Second {
		t.Errorf("after %s %v", took, err)
	}
}
