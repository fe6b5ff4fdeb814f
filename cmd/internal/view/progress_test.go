package view

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// gather keeps each write separately. It is not safe for concurrent use; Progress and Lines
// serialize their writes.
type gather struct{ writes []string }

func (g *gather) Write(b []byte) (int, error) {
	g.writes = append(g.writes, string(b))
	return len(b), nil
}

// Concurrent events are each written whole, in one write.
func TestManyAtOnce(t *testing.T) {
	var text, lines gather
	progress := NewProgress(&text, Style{})
	stream, err := NewLines(&lines, "0.1.0", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	const many, each = 16, 25
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			for j := range each {
				e := history.Event{Time: at, Address: session.Indexed("pool", i), Kind: history.ApplyErrored, Action: "create", Detail: fmt.Sprintf("try %d\nsecond line", j)}
				progress.Event(e)
				stream.Event(e)
			}
		})
	}
	wg.Wait()
	if len(text.writes) != many*each || len(lines.writes) != many*each+1 {
		t.Fatalf("%d and %d writes", len(text.writes), len(lines.writes))
	}
	for _, w := range text.writes {
		if !strings.HasPrefix(w, "session.pool[") || !strings.HasSuffix(w, "\n  second line\n") {
			t.Errorf("not a whole event: %q", w)
		}
	}
	for _, w := range lines.writes {
		if !json.Valid([]byte(w)) || strings.Count(w, "\n") != 1 {
			t.Errorf("not a whole line: %q", w)
		}
	}
}

func TestStyleFor(t *testing.T) {
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer ptmx.Close()
	defer tty.Close()
	if err := pty.Setsize(ptmx, &pty.Winsize{Rows: 30, Cols: 90}); err != nil {
		t.Fatal(err)
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, c := range map[string]struct{ got, want Style }{
		"a terminal":       {StyleFor(tty, false, []string{"TERM=xterm", "NO_COLOR="}), Style{Color: true, Width: 90, Rows: 30}},
		"--no-color":       {StyleFor(tty, true, nil), Style{Width: 90, Rows: 30}},
		"NO_COLOR":         {StyleFor(tty, false, []string{"NO_COLOR=1"}), Style{Width: 90, Rows: 30}},
		"a dumb terminal":  {StyleFor(tty, false, []string{"TERM=dumb"}), Style{Width: 90, Rows: 30}},
		"a file":           {StyleFor(file, false, nil), Style{}},
		"not even a file":  {StyleFor(&strings.Builder{}, false, nil), Style{}},
		"a file in colour": {StyleFor(file, false, []string{"TERM=xterm"}), Style{}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", name, c.got, c.want)
		}
	}
}
