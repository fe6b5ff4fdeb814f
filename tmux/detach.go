package tmux

import (
	"context"
	"os/exec"
	"strings"

	"github.com/agentform/agentform/internal/tmuxwire"
)

// DetachKeys returns the keys that detach from a session on agentform's own servers in an
// environment. An outer tmux with the same prefix takes the first key. bin is the tmux program to
// query for the prefix.
func DetachKeys(ctx context.Context, environ []string, bin string) string {
	const ours = "C-b"
	if !Inside(environ) {
		return "Ctrl-b d"
	}
	c := exec.CommandContext(ctx, bin, "show-options", "-gv", "prefix")
	c.Env = environ
	if out, err := c.Output(); err == nil {
		// A server of agentform has no prefix, but Ctrl-b acts like one.
		if outer := strings.TrimSpace(string(out)); outer != ours && outer != tmuxwire.NoPrefix {
			return "Ctrl-b d"
		}
	}
	return "Ctrl-b Ctrl-b d" // tmux's default, also if the outer one does not answer
}
