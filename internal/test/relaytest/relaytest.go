// Package relaytest tests that the terminals of a runtime's sessions are relayed to viewers.
package relaytest

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/agentform/agentform/internal/terminal"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Test shows that a page that watches a session sees its screen and does not change its size,
// and that one that controls it does both, with no key or line of tmux. attach is what the
// runtime's Attach returns for a session whose agent prints X for a line "say X", and see
// looks at it.
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
	until := func(what string, is func(session.Live) bool) {
		t.Helper()
		wait.For(t, what, func() (any, bool) {
			live := see()
			mu.Lock()
			defer mu.Unlock()
			return []any{live, shown.String()}, is(live)
		})
	}
	watches := relay(tmuxwire.Watching(attach), view.Size)
	until("the watching client is attached", func(l session.Live) bool { return l.Attached == 1 && l.Size == [2]int{200, 50} })
	if _, err := watches.Write([]byte("say unasked\r")); err != nil {
		t.Fatal(err)
	}
	controls := relay(tmuxwire.Controlling(attach), terminal.Size{Cols: 90, Rows: 20})
	until("the window has the size of who controls", func(l session.Live) bool { return l.Size == [2]int{90, 19} })
	// Ctrl-b is a key of the agent, which prints nothing for it.
	if _, err := controls.Write([]byte("say \x02he''llo\r")); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the screen shows what was said", func() (any, bool) {
		mu.Lock()
		defer mu.Unlock()
		return shown.String(), strings.Contains(shown.String(), "he''llo")
	})
	if strings.Contains(shown.String(), "unasked") {
		t.Error("a client that watches has typed")
	}
	if view.Prefixed || strings.Contains(shown.String(), "detaches") {
		t.Error("tmux has a prefix for pages, or shows them its status line")
	}
}
