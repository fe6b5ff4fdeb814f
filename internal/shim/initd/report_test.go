//go:build real

package initd

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/test/wait"
)

// lines collects what an init prints.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// events returns the printed events, each with its HEAD.
func (l *lines) events(t *testing.T) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for line := range bytes.Lines(l.text.Bytes()) {
		var o shim.Occurrence
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		text := o.Event
		if o.Event == shim.Head {
			text += "(" + o.Head + ")"
		}
		if o.Gone {
			text += " gone"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// TestReport checks what an init prints about a workspace, also after its agent has ended.
func TestReport(t *testing.T) {
	t.Parallel()
	k, head := running(t, "main")
	write(t, head, "ref: refs/heads/main\n")
	var out lines
	go k.report(&out)
	want := "started, head(ref: refs/heads/main)"
	await := func(event string) {
		t.Helper()
		want = strings.TrimPrefix(want+event, ", ")
		wait.For(t, "it has printed "+want, func() (any, bool) { events := out.events(t); return events, events == want })
	}
	await("")
	write(t, head, "ref: refs/heads/other\n")
	await(", head(ref: refs/heads/other)")
	if err := rundir.WriteExit(k.lastRun().dir, rundir.Exit{Cause: rundir.CauseSelf, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	await(", exited")
	if err := os.Remove(head); err != nil {
		t.Fatal(err)
	}
	await(", head()")
	if err := os.RemoveAll(k.lastRun().workspace); err != nil {
		t.Fatal(err)
	}
	await(", head() gone")
}
