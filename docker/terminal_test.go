package docker_test

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/agentform/agentform/internal/terminal"
	"github.com/agentform/agentform/internal/tmuxwire"
)

// TestTerminalIsRelayed shows that a page that watches a session in a container sees its
// screen, does not change its size, and that one that controls it does both.
func TestTerminalIsRelayed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.launch(t, "app"))
	b.listening(t, p)
	attach, env := b.runtime.Attach(p), terminal.Environ(os.Environ())
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
	sized := func(columns, rows int) func() bool {
		return func() bool { seen, _ := b.see(t, p); return seen.Size == [2]int{columns, rows} }
	}
	watches := relay(tmuxwire.Watching(attach), view.Size)
	until(t, "the watching client is attached", func() bool { seen, _ := b.see(t, p); return seen.Attached == 1 && sized(200, 50)() })
	if _, err := watches.Write([]byte("say unasked\r")); err != nil {
		t.Fatal(err)
	}
	controls := relay(attach, terminal.Size{Cols: 90, Rows: 20})
	until(t, "the window has the size of who controls", sized(90, 19))
	if _, err := controls.Write([]byte("say he''llo\r")); err != nil {
		t.Fatal(err)
	}
	until(t, "the screen shows what was said", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(shown.String(), "he''llo")
	})
	if strings.Contains(shown.String(), "unasked") {
		t.Error("a client that watches has typed")
	}
}
