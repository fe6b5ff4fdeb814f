package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

// Init has to be called first in main, by a program that is to be its own guest:
// agentform starts it again as every agent's parent, and then Init does that work
// and does not return. Otherwise it returns what Options.Guest wants, and does
// nothing. A program that is installed beside agentform-shim needs it not.
func Init() []string {
	self, err := os.Executable()
	if len(os.Args) > 2 && os.Args[1] == "guest" {
		os.Exit(shim.Main(os.Args[2:]))
	}
	if err != nil {
		return nil // Open then looks for agentform-shim
	}
	return []string{self, "guest"}
}

// Options are how sessions are run.
type Options struct {
	// Guest is the command that runs every agent, as Init returns it. Nil: the
	// program agentform-shim beside this one or on PATH.
	Guest []string
	// Env is the environment that agents get, as NAME=VALUE; nil: what
	// session.Inherit returns of this program's own, as for the command line. In
	// either case what looks like a secret is not written down.
	Env []string
	// Agents are agents of one's own, by name. The built-in ones (claude, codex,
	// gemini) are there without it, and every other name is a custom agent of the
	// spec's command.
	Agents map[string]session.Agent
	// Secrets gives the values of Spec.Secrets; nil: this program's environment
	// does.
	Secrets func(name string) (value string, set bool)
}

// Sessions launches sessions on this machine.
type Sessions struct {
	*session.Launcher
	tmux *tmux.Runtime
}

// Open opens the folder in which the program keeps what belongs to its sessions,
// and makes it if need be. Its sessions are in tmux servers of its own; a
// person's tmux is not touched. The error is tmux.ErrNotAvailable (errors.Is)
// when there is no tmux.
func Open(dir string, o Options) (*Sessions, error) {
	s, err := open(dir, o)
	if err != nil {
		return nil, fmt.Errorf("open sessions in %s: %w", dir, err)
	}
	return s, nil
}

func open(dir string, o Options) (*Sessions, error) {
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
	if o.Guest == nil {
		if o.Guest, err = findGuest(dir); err != nil {
			return nil, err
		}
	}
	sockets, err := shim.SocketDir(dir)
	if err != nil {
		return nil, err
	}
	if err := shim.KeepSocketDir(dir, sockets); err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	var own []string
	if o.Env == nil {
		own = os.Environ()
	}
	if o.Secrets == nil {
		o.Secrets = os.LookupEnv
	}
	adapt := func(spec session.AgentSpec) session.Agent {
		if a := o.Agents[spec.Name]; a != nil {
			return a
		}
		return agent.For(spec)
	}
	rt := tmux.New(tmux.Config{SocketDir: sockets, DataDir: dir, Guest: o.Guest})
	e := eyes{rt, activity.New(dir, home, adapt)}
	return &Sessions{
		tmux: rt,
		Launcher: &session.Launcher{
			Runtime: rt, Agents: o.Agents, Adapt: adapt, Complete: agent.Complete, Environ: own, Env: o.Env, Secrets: o.Secrets,
			Runs: runs{dir: filepath.Join(dir, "runs"), guest: o.Guest}, Root: os.Geteuid() == 0,
			Read: e.read, Type: e.typed, Facts: facts(dir),
		},
	}, nil
}

// Attach gives this program's terminal to a session, and returns when the person
// detaches (with tmux's keys: Ctrl-B D) or the session ends. It works inside
// another tmux as well.
func (s *Sessions) Attach(ctx context.Context, to *session.Session) error {
	argv := to.Attach()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return tmux.Inside([]string{e}) })
	if err := c.Run(); err != nil {
		return fmt.Errorf("attach to session %q: %w", to.Handle().Name, err)
	}
	return nil
}

// Available reports whether the program of a built-in agent, such as agent.Claude, is
// on PATH; the error says what is missing.
func Available(name string) error {
	spec, known := agent.Builtins()[name]
	if !known {
		return fmt.Errorf("no built-in agent %q: there are claude, codex and gemini", name)
	}
	if _, err := exec.LookPath(spec.Command[0]); err != nil {
		return fmt.Errorf("agent %q is not installed: %q is not on PATH", name, spec.Command[0])
	}
	return nil
}

// facts returns what the directories of runs tell.
func facts(dir string) func(run string) session.RunFacts {
	return func(run string) session.RunFacts { return activity.Facts(filepath.Join(dir, "runs", run)) }
}

// Close returns when tmux servers that hold nothing any more have left. Sessions
// that were not stopped live on.
func (s *Sessions) Close() { s.tmux.Close() }

// findGuest finds the program that runs agents.
func findGuest(dir string) ([]string, error) {
	_, argv, err := shim.Install(dir)
	if err != nil {
		return nil, err
	}
	if len(argv) == 1 {
		return argv, nil
	}
	// The program itself, which serves only if it has called Init.
	path, err := exec.LookPath(shim.Binary)
	if err != nil {
		return nil, errors.New("there is no " + shim.Binary + " beside this program or on PATH; call local.Init first in main and give what it returns as Options.Guest, or go install github.com/agentform/agentform/cmd/agentform-shim@latest")
	}
	return []string{path}, nil
}

// runs keeps the folders of runs.
type runs struct {
	dir   string
	guest []string
}

func (r runs) Folder(run string) string { return filepath.Join(r.dir, run) }

func (r runs) Notify(run string) []string {
	return append(slices.Clone(r.guest), shim.NotifyMode, r.Folder(run))
}

func (r runs) Keep(run string, files map[string]string) error {
	private := filepath.Join(r.Folder(run), session.Private)
	if err := os.MkdirAll(private, 0o700); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(private, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (r runs) Drop(run string) error { return os.RemoveAll(r.Folder(run)) }
