//go:build real

package tmux_test

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/tmuxwire"
)

// A server has the options that the runtimes share, even one that agentform did not start.
func TestOptions(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.tmux(t, b.socket(0), "new-session", "-d", "-s", "theirs", "--", "sleep", "1000")
	p := b.create(t, b.launch(t, "app"))
	for _, c := range append(tmuxwire.Options(0), tmuxwire.Terminal()) {
		scope, name, value := c[1], c[2], c[3]
		if c[0] == "bind-key" {
			continue // what they do is tested where a page types
		}
		if c[0] == "set-hook" {
			if got := b.tmux(t, p.Socket, "show-hooks", scope, name); !strings.Contains(got, "session_attached},0}") {
				t.Errorf("hook %s: %s", name, got)
			}
		} else if got := b.tmux(t, p.Socket, "show-options", scope+"v", name); strings.TrimRight(got, "\n") != value {
			t.Errorf("option %s: %q, want %q", name, got, value)
		}
	}
}
