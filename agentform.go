// Package agentform launches coding-agent sessions from Go programs.
//
// Open returns a Launcher for this machine: tmux servers of its own, a shim as every
// agent's parent, the adapters of the agents, and the reading of their own session
// files. Launch starts an agent and returns its Session, With also stops it in the end,
// and Find finds what an earlier process of the program left running.
//
//	func main() {
//		shim := agentform.Init()
//		sessions, err := agentform.Open(".sessions", agentform.Options{Shim: shim})
//		…
//		defer sessions.Close()
//		err = sessions.With(ctx, "api", spec, func(ctx context.Context, s *agentform.Session) error {
//			for o, err := range s.Watch(ctx, time.Second) {
//				…
//			}
//			return nil
//		})
//	}
//
// Sessions live in tmux, so they outlive a program that does not stop them. Package
// session has the values that describe a session, package effect the same operations
// as values, and package sessiontest a runtime for tests without tmux.
package agentform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/install"
	"github.com/agentform/agentform/internal/shim/program"
	"github.com/agentform/agentform/internal/shim/socketdir"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

// Init makes a program its own shim: agentform starts it again as every agent's parent,
// and Init then runs the agent and does not return. Call it first in main; otherwise it
// does nothing and returns the value of Options.Shim. A program that is installed beside
// agentform-shim does not need it.
func Init() []string {
	self, err := os.Executable()
	if len(os.Args) > 2 && os.Args[1] == "guest" {
		os.Exit(program.Main(os.Args[2:]))
	}
	if err != nil {
		return nil // Open then looks for agentform-shim
	}
	return []string{self, "guest"}
}

// Options configure Open.
type Options struct {
	// Shim is the command that runs every agent, as Init returns it. Nil: the
	// program agentform-shim beside this one or on PATH.
	Shim []string
	// Env is the environment of agents, as NAME=VALUE; nil: what session.Inherit
	// returns of this program's own. What looks like a secret is never written down.
	Env []string
	// Agents are the program's own agents, by name. The built-in ones (claude, codex,
	// gemini) need no entry, and every other name is a custom agent of the spec's command.
	Agents map[string]session.Agent
	// Secrets returns the values of Spec.Secrets; nil: os.LookupEnv.
	Secrets func(name string) (value string, set bool)
}

// Open returns a Launcher that keeps its files in the directory, which it creates if
// necessary. Its sessions run in tmux servers of its own. The error is
// tmux.ErrNotAvailable (errors.Is) if there is no tmux.
func Open(dir string, o Options) (*Launcher, error) {
	l, err := open(dir, o)
	if err != nil {
		return nil, fmt.Errorf("open sessions in %s: %w", dir, err)
	}
	return l, nil
}

func open(dir string, o Options) (*Launcher, error) {
	if err := tmux.Available(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := layout.MakeDataDir(dir); err != nil {
		return nil, err
	}
	if o.Shim == nil {
		if o.Shim, err = findShim(dir); err != nil {
			return nil, err
		}
	}
	sockets, err := socketdir.Create(dir)
	if err != nil {
		return nil, err
	}
	if err := socketdir.Remember(dir, sockets); err != nil {
		return nil, err
	}
	l := &Launcher{
		Agents: o.Agents, Adapt: agent.For, Complete: agent.Complete, Env: o.Env, Secrets: o.Secrets,
		Dir: dir, Hook: append(slices.Clone(o.Shim), shim.NotifyMode), Root: os.Geteuid() == 0,
	}
	if o.Env == nil {
		l.Environ = os.Environ()
	}
	if o.Secrets == nil {
		l.Secrets = os.LookupEnv
	}
	l.tmux = tmux.New(tmux.Config{SocketDir: sockets, DataDir: dir, Shim: o.Shim})
	l.Runtime = l.tmux
	return l, nil
}

// Close waits until tmux servers that hold no session have exited. Sessions that were
// not stopped keep running.
func (l *Launcher) Close() {
	if l.tmux != nil {
		l.tmux.Close()
	}
}

// Attach connects this program's terminal to a session, also inside another tmux, and
// returns when the user detaches (Ctrl-b d) or the session ends.
func (l *Launcher) Attach(ctx context.Context, s *Session) error {
	argv := s.Attach()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return tmux.Inside([]string{e}) })
	if err := c.Run(); err != nil {
		return fmt.Errorf("attach to session %q: %w", s.rec.ID, err)
	}
	return nil
}

// Available returns an error if the program of a built-in agent, such as agent.Claude,
// is not on PATH.
func Available(name string) error {
	spec, known := agent.Builtins()[name]
	if !known {
		return fmt.Errorf("no built-in agent %q: use claude, codex or gemini", name)
	}
	if _, err := exec.LookPath(spec.Command[0]); err != nil {
		return fmt.Errorf("agent %q is not installed: %q is not on PATH", name, spec.Command[0])
	}
	return nil
}

// findShim returns the command of agentform-shim.
func findShim(dir string) ([]string, error) {
	_, argv, err := install.Install(dir)
	if err != nil {
		return nil, err
	}
	if len(argv) == 1 {
		return argv, nil
	}
	// Without the program, Install returns this one, which is a shim only after Init.
	path, err := exec.LookPath(install.Binary)
	if err != nil {
		return nil, errors.New("there is no " + install.Binary + " beside this program or on PATH; call agentform.Init first in main and set Options.Shim to what it returns, or go install github.com/agentform/agentform/cmd/agentform-shim@latest")
	}
	return []string{path}, nil
}
