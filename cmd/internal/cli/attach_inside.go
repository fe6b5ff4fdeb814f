package cli

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/agentform/agentform/tmux"
)

// detachKey is what a person types to come back from a session. Inside another
// tmux that one sees the keys first: its own prefix has to be typed twice to
// reach ours, if it is the same.
func detachKey(ctx context.Context, a *app, bin string) string {
	const ours = "C-b"
	if !tmux.Inside(a.env.Environ) {
		return "Ctrl-b d"
	}
	c := exec.CommandContext(ctx, bin, "show-options", "-gv", "prefix")
	c.Env = a.env.Environ
	if out, err := c.Output(); err == nil && strings.TrimSpace(string(out)) != ours {
		return "Ctrl-b d"
	}
	return "Ctrl-b Ctrl-b d" // also when it does not answer: this is what tmux begins with
}

// within reports whether agentform runs inside the tmux server of that socket.
func insideServer(a *app, socket string) bool {
	if !tmux.Inside(a.env.Environ) {
		return false
	}
	around, _, _ := strings.Cut(a.env.Environ.Get("TMUX"), ",")
	return socket != "" && around == socket
}

// switchOver shows the session in the terminal that agentform's own tmux server
// has already: there one would only see itself in itself.
func switchOver(ctx context.Context, a *app, t *target, attach []string) error {
	argv := make([]string, len(attach))
	for i, word := range attach {
		if argv[i] = word; word == "attach-session" {
			argv[i] = "switch-client"
		}
	}
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Env = a.env.Environ
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("attach %s: %s: %s: %w", t.Record.Address, argv[0], strings.TrimSpace(string(out)), err)
	}
	fmt.Fprintf(a.env.Stderr, "%s: Ctrl-b L returns here; the agent keeps running.\n", t.Record.Address)
	return nil
}
