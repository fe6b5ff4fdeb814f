//go:build real

package server_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// TestDataOfTheScreenAlone checks that data has what scrolled off the screen of an agent
// without a session file, and says when there was more.
func TestDataOfTheScreenAlone(t *testing.T) {
	t.Parallel()
	s := newRealShop(t, session.Single("api"))
	s.serve()
	var all strings.Builder
	for i := range 200 {
		fmt.Fprintf(&all, "line %d\n", i)
	}
	if _, err := s.client.Send(t.Context(), "api", api.Input{Text: all.String() + "the last"}); err != nil {
		t.Fatal(err)
	}
	data := func(tail int) api.Data {
		d, err := s.client.Data(t.Context(), "api", tail)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	wait.For(t, "the last line is there", func() (any, bool) {
		last := data(1).Screen.Text
		return last, strings.HasSuffix(last, "the last")
	})
	for _, tail := range []int{0, 1000} {
		if d := data(tail); !strings.HasPrefix(d.Screen.Text, "ready\n") || !strings.Contains(d.Screen.Text, "line 7\n") || d.Truncated {
			t.Errorf("tail %d: truncated %v, %d bytes: %.60q", tail, d.Truncated, len(d.Screen.Text), d.Screen.Text)
		}
	}
	if d := data(120); strings.Count(d.Screen.Text, "\n") != 119 || !d.Truncated {
		t.Errorf("of 120 lines there are %d, truncated %v", strings.Count(d.Screen.Text, "\n")+1, d.Truncated)
	}

	// An agent that clears what is below its cursor leaves a screen that is not full.
	tty := s.tmuxSays("list-panes", "-a", "-F", "#{pane_tty}")
	if err := os.WriteFile(tty, []byte("\x1b[20A\x1b[J"), 0); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the hub has seen it", func() (any, bool) {
		x, err := s.client.Session(t.Context(), "api")
		if err != nil {
			t.Fatal(err)
		}
		return x.Screen.Text, !strings.Contains(x.Screen.Text, "the last")
	})
	if d := data(0); !strings.HasPrefix(d.Screen.Text, "ready\n") || d.Truncated {
		t.Errorf("of a screen that is not full: truncated %v, %.60q", d.Truncated, d.Screen.Text)
	}
}
