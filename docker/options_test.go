//go:build real

package docker_test

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/tmuxwire"
)

// TestOptions checks that the tmux server in a container has the options that the runtimes share.
func TestOptions(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.launch(t, "app"))
	show := func(args ...string) string {
		return b.docker(t, append([]string{"exec", p.Container, "tmux", "-S", p.Socket}, args...)...)
	}
	for _, c := range append(tmuxwire.Options(1), tmuxwire.Terminal()) {
		scope, name, value := c[1], c[2], c[3]
		if c[0] == "bind-key" {
			continue // what they do is tested where a page types
		}
		if c[0] == "set-hook" {
			if got := show("show-hooks", scope, name); !strings.Contains(got, "session_attached},1}") {
				t.Errorf("hook %s: %s", name, got)
			}
		} else if got := show("show-options", scope+"v", name); strings.TrimRight(got, "\n") != value {
			t.Errorf("option %s: %q, want %q", name, got, value)
		}
	}
}
