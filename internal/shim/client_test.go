package shim

import (
	"bufio"
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestDialWithoutShim(t *testing.T) {
	if _, err := Dial(filepath.Join(t.TempDir(), "g-1")); err == nil {
		t.Error("connected to nothing")
	}
}

// A hostile shim can neither block a client nor make it read without limit.
func TestClientOfAHostileShim(t *testing.T) {
	for name, answer := range map[string]string{
		"endless": strings.Repeat("x", 2*LineLimit), "garbage": "{]\n", "empty": "{}\n", "lacking": `{"ok":true}` + "\n", "silent": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			go func() {
				bufio.NewReader(theirs).ReadString('\n')
				io.WriteString(theirs, answer)
			}()
			lines := bufio.NewScanner(ours)
			lines.Buffer(nil, LineLimit)
			c := &Client{conn: ours, lines: lines}
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			if s, err := c.Status(ctx); err == nil {
				t.Errorf("%s: %+v", name, s)
			}
			cancel()
			c.Close()
			theirs.Close()
		})
	}
}
