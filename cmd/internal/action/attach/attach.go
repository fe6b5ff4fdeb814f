// Package attach attaches a terminal to a session.
package attach

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

// Command is the command that attaches a terminal, without streams.
type Command struct {
	*exec.Cmd
	Keys     string // to detach
	Switches bool   // the terminal is in the session's own tmux server: Switch shows the session there
	address  session.Address
}

// To returns the command that attaches a terminal to a running session.
func To(ctx context.Context, t *target.Target) (*Command, error) {
	argv, env := t.Runtime.Attach(t.Place()), t.Project.Environ
	if _, found := env.Program(argv[0], t.Project.Dir); !found {
		name := target.Quoted(t.Record.Address)
		return nil, fmt.Errorf("attach %s: the command %s, which is needed to attach, is not on PATH: install it\nagentform capture %s shows the screen, agentform send %s TEXT types into it", t.Record.Address, argv[0], name, name)
	}
	x := &Command{address: t.Record.Address}
	if insideServer(env, t.Place().Socket) {
		argv = slices.Clone(argv)
		if i := slices.Index(argv, "attach-session"); i >= 0 {
			argv[i] = "switch-client"
		}
		x.Switches, x.Cmd = true, exec.CommandContext(ctx, argv[0], argv[1:]...)
		x.Env = env
		return x, nil
	}
	bin := "tmux"
	if t.Place().Traits().HostProcesses {
		bin = argv[0]
	}
	x.Keys = tmux.DetachKeys(ctx, env, bin)
	if t.Record.Origin != session.FromAdopt { // otherwise it is the user's own tmux
		argv = append(argv, ";", "set-option", tmuxwire.DetachOption, x.Keys)
	}
	x.Cmd = exec.CommandContext(ctx, argv[0], argv[1:]...)
	// An outer tmux must not keep the session's tmux from starting in this terminal.
	x.Env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return strings.HasPrefix(kv, "TMUX=") || strings.HasPrefix(kv, "TMUX_PANE=")
	})
	return x, nil
}

// Switch shows the session in the terminal of its own tmux server, which cannot be attached to itself.
func (x *Command) Switch() error {
	if out, err := x.CombinedOutput(); err != nil {
		return fmt.Errorf("attach %s: %s: %s: %w", x.address, x.Args[0], strings.TrimSpace(string(out)), err)
	}
	return nil
}

func insideServer(env environ.Vars, socket string) bool {
	around, _, _ := strings.Cut(env.Get("TMUX"), ",")
	return tmux.Inside(env) && socket != "" && around == socket
}
