// Package attach attaches a terminal to a session.
package attach

import (
	"context"
	"fmt"
	"io"
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
	away     bool // its tmux server does not have the terminal
}

// To returns the command that attaches a terminal to a running session.
func To(ctx context.Context, t *target.Target) (*Command, error) {
	argv, env := t.Runtime.Attach(t.Place()), t.Project.Environ
	if _, found := env.Program(argv[0], t.Project.Dir); !found {
		name := target.Quoted(t.Record.Address)
		return nil, fmt.Errorf("attach %s: the command %s, which is needed to attach, is not on PATH: install it\nagentform capture %s shows the screen, agentform send %s TEXT types into it", t.Record.Address, argv[0], name, name)
	}
	x := &Command{address: t.Record.Address, away: !t.Place().Traits().HostProcesses}
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
	if !x.away {
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

// leave ends what a tmux client asks of a terminal: another screen, no cursor, keys of applications, the mouse, focus
// events, bracketed paste and colors (invisible-island.net/xterm/ctlseqs/ctlseqs.html).
const leave = "\x1b[?1049l\x1b[?25h\x1b[?1l\x1b>\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[0m\r\x1b[K"

// Attach attaches the terminal until it is detached. A tmux server of this machine leaves the terminal as it was
// whatever becomes of the client. That of a container that ended, or to which the connection was cut off, cannot.
func (x *Command) Attach() error {
	err := x.Run()
	if err != nil && x.away && x.ran() {
		_, _ = io.WriteString(x.Stdout, leave) // the error counts
	}
	return err
}

// ran reports whether the command may have started a client. 125 to 127 mean that it has not.
func (x *Command) ran() bool {
	code := x.ProcessState.ExitCode()
	return x.ProcessState != nil && (code < 125 || code > 127)
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
