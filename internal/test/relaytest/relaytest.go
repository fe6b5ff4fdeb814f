// Package relaytest tests that the terminals of a runtime's sessions are relayed to viewers.
package relaytest

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/terminal"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Test shows that a page that watches a session sees its screen and does not change its size,
// and that one that controls it does both. attach is what the runtime's Attach returns for a
// session whose agent prints X for a line "say X", and see looks at it.
func Test(t *testing.T, attach []string, see func() session.Live) {
	t.Helper()
	env := terminal.Environ(os.Environ())
	view, err := terminal.Look(t.Context(), attach, env, 100)
	if err != nil || view.Size != (terminal.Size{Cols: 200, Rows: 51}) || len(view.History) != 0 {
		t.Fatalf("%+v, %v", view, err)
	}
	var mu sync.Mutex
	var shown bytes.Buffer
	relay := func(argv []string, size terminal.Size) *terminal.Relay {
		r, err := terminal.Start(argv, env, size)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		go func() {
			for b := make([]byte, 4096); ; {
				n, err := r.Read(b)
				mu.Lock()
				shown.Write(b[:n])
				mu.Unlock()
				if err != nil {
					return
				}
			}
		}()
		return r
	}
	until := func(what string, true func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !true(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				mu.Lock()
				defer mu.Unlock()
				t.Fatalf("it is still not so: %s; shown was %q", what, shown.String())
			}
		}
	}
	sized := func(columns, rows int) func() bool {
		return func() bool { return see().Size == [2]int{columns, rows} }
	}
	watches := relay(tmuxwire.Watching(attach), view.Size)
	until("the watching client is attached", func() bool { return see().Attached == 1 && sized(200, 50)() })
	if _, err := watches.Write([]byte("say unasked\r")); err != nil {
		t.Fatal(err)
	}
	controls := relay(attach, terminal.Size{Cols: 90, Rows: 20})
	until("the window has the size of who controls", sized(90, 19))
	if _, err := controls.Write([]byte("say he''llo\r")); err != nil {
		t.Fatal(err)
	}
	until("the screen shows what was said", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(shown.String(), "he''llo")
	})
	if strings.Contains(shown.String(), "unasked") {
		t.Error("a client that watches has typed")
	}
}
