package shim

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// impostor listens on the socket of an init and answers every client with answer.
func impostor(t *testing.T, answer func(net.Conn)) Init {
	t.Helper()
	dir := short(t)
	l, err := net.Listen("unix", filepath.Join(dir, InitSocket))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				answer(conn)
			}()
		}
	}()
	return Init{Dir: dir}
}

// says reads a request and always returns the same answer.
func says(answer string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = bufio.NewReader(conn).ReadString('\n')
		_, _ = io.WriteString(conn, answer)
	}
}

// asked has the requests to an init, each with the limit of its answer.
var asked = map[string]struct {
	limit int
	ask   func(Init, context.Context) error
}{
	"hello": {lookLine, func(k Init, ctx context.Context) error { _, err := k.Hello(ctx); return err }},
	"look": {lookLine, func(k Init, ctx context.Context) error {
		_, err := k.Look(ctx, "/runs/r", "=s:", "#{pane_id}", true)
		return err
	}},
	"begin": {lookLine, func(k Init, ctx context.Context) error {
		return k.Begin(ctx, "/runs/r", []string{"new-session"}, nil, nil)
	}},
	"end":  {lookLine, func(k Init, ctx context.Context) error { return k.End(ctx, "r", "/runs/r", "SIGTERM", 0) }},
	"tmux": {InitLineLimit, func(k Init, ctx context.Context) error { _, err := k.Tmux(ctx, "", "list-sessions"); return err }},
}

// An invalid answer is an error, never an empty result or a panic.
func TestInitThatAnswersWrongly(t *testing.T) {
	for name, answer := range map[string]func(net.Conn){
		"hangs up at once":      func(net.Conn) {},
		"hangs up":              says(""),
		"garbage":               says("\x00\xff{]\n"),
		"half an answer":        says(`{"ok":tr`),
		"an empty line":         says("\n"),
		"nothing":               says("{}\n"),
		"a list":                says("[]\n"),
		"neither":               says(`{"ok":false}` + "\n"),
		"of another type":       says(`{"ok":true,"seen":7,"tmux":[],"protocol":"1"}` + "\n"),
		"deep":                  says(strings.Repeat("[", 1<<16) + "\n"),
		"an impossible process": says(`{"ok":true,"protocol":-1,"seen":{"process":{"pid":-1}}}` + "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := impostor(t, answer)
			for op, q := range asked {
				err := q.ask(k, t.Context())
				// Whoever gets only "done" reads the truth in the run's directory.
				if acted := op == "begin" || op == "end"; err == nil && (!acted || name != "an impossible process") {
					t.Errorf("%s is answered", op)
				}
			}
		})
	}
}

// An answer to another question is an error.
func TestInitThatAnswersAnotherQuestion(t *testing.T) {
	answers := map[string]string{
		"hello": `{"ok":true,"protocol":1}`,
		"look":  `{"ok":true,"seen":{"claimed":true,"process":{"pid":1,"start":1}}}`,
		"tmux":  `{"ok":true,"tmux":{"code":0,"stdout":"x"}}`,
	}
	for told, answer := range answers {
		k := impostor(t, says(answer+"\n"))
		for op := range answers {
			if err := asked[op].ask(k, t.Context()); (err == nil) != (op == told) {
				t.Errorf("%s, answered as %s: %v", op, told, err)
			}
		}
	}
}

// The client reads no more of an endless answer than its limit.
func TestInitThatFloods(t *testing.T) {
	for op, q := range asked {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			taken := make(chan int, 1)
			k := impostor(t, func(c net.Conn) {
				n, chunk := 0, bytes.Repeat([]byte("x"), 64<<10)
				for {
					m, err := c.Write(chunk)
					n += m
					if err != nil {
						taken <- n
						return
					}
				}
			})
			if err := q.ask(k, t.Context()); !errors.Is(err, bufio.ErrTooLong) {
				t.Errorf("it is told as %v", err)
			}
			const buffered = 2 << 20 // buffered by the kernel, in both directions
			if n := <-taken; n > q.limit+buffered {
				t.Errorf("%d bytes were taken, of at most %d", n, q.limit)
			}
		})
	}
}

// The reason of a refusal is shown as one short line.
func TestInitThatRefusesAtLength(t *testing.T) {
	k := impostor(t, says(`{"error":{"code":"busy","message":"no\n\u001b[2Jno`+strings.Repeat("é", 100_000)+`"}}`+"\n"))
	_, err := k.Hello(t.Context())
	refusal, ok := errors.AsType[*Error](err)
	if !ok || refusal.Code != CodeBusy {
		t.Fatalf("%.200v", err)
	}
	if m := refusal.Message; len(m) > 2*refusalLimit || strings.ContainsAny(m, "\n\x1b") || !strings.HasPrefix(m, "no ") {
		t.Errorf("%d bytes: %.80q", len(m), m)
	}
}

func TestInitRequestIsBounded(t *testing.T) {
	k := impostor(t, says(`{"ok":true,"tmux":{}}`+"\n"))
	if _, err := k.Tmux(t.Context(), strings.Repeat("x", InitLineLimit), "load-buffer", "-"); err == nil || !strings.Contains(err.Error(), "longer than 8 MiB") {
		t.Errorf("%v", err)
	}
}

// short returns a directory with a short path: a unix socket's may have 107 bytes.
func short(t *testing.T) string {
	dir, err := os.MkdirTemp("/tmp", "g")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
