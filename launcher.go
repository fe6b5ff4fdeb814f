package agentform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

// Launcher launches sessions without a manifest and without a state file. Open returns
// one for this machine; for another runtime, such as a sessiontest.Scripted, set the
// fields. A Launcher may be used by many goroutines once its fields are set.
type Launcher struct {
	Runtime session.Runtime
	// Agents are the agents by the name in Spec.Agent.Name. There is no registry.
	Agents map[string]session.Agent
	// Adapt returns the agent of a spec whose name is not in Agents, as agent.For does.
	// Nil: such a spec is an error.
	Adapt func(session.AgentSpec) session.Agent
	// Complete fills in what an agent's spec leaves out, as agent.Complete does. Nil: a
	// spec is used as it is.
	Complete func(session.AgentSpec) session.AgentSpec
	// Project marks the sessions of this program; empty: "library".
	Project string
	// Environ is the environment, as NAME=VALUE, of which agents get the part that
	// session.Inherit returns; nil: nothing.
	Environ []string
	// Env is given to all agents, as NAME=VALUE, and overrides Environ.
	Env []string
	// Secrets returns the values of Spec.Secrets; nil: there are none.
	Secrets func(name string) (value string, set bool)
	// Dir is where runs are kept, for a runtime that shares this machine's file system.
	// Agents are then observed by their session files and hooks as well, and it is
	// verified that they take what is typed. Empty: the runtime shows all that is known.
	Dir string
	// Hook is the command of agents' hooks, without the run's directory; nil: no hooks.
	Hook []string
	// Facts returns what is known of a run whose tmux session or container cannot be
	// found. Nil: what its directory in Dir holds.
	Facts func(run string) session.RunFacts
	// Now returns the time; nil: time.Now. A scripted runtime has a clock of its own.
	Now  func() time.Time
	Root bool // agents run as root

	tmux     *tmux.Runtime // of Open
	once     sync.Once
	reader   *activity.Reader // nil without Dir
	observer launch.Observer
}

// defaultGrace is the grace period of a spec that sets none.
const defaultGrace = 10 * time.Second

// DefaultReadyTimeout is how long Launch waits for an agent whose spec sets no
// ReadyTimeout.
const DefaultReadyTimeout = launch.DefaultReadyTimeout

// Launch starts an agent and returns when the agent can take a prompt and has the one of
// its spec. An agent without a Ready pattern is ready at once. The name is that of the
// tmux session or container (letters, digits, dashes and underscores); empty: task- and
// eight hex digits.
//
// It uses these fields of the spec: Agent (Name, and Command for another program than
// the built-in ones), Workspace.Path (absolute), Prompt, Profile, Args, Env, Secrets,
// InheritEnv, Conversation, Timeout, Stop, and Agent.ReadyTimeout: 0 is
// DefaultReadyTimeout, a negative value means not to wait.
//
// The error is session.ErrExists (errors.Is) if the name is taken, a *ReadyTimeoutError
// with the screen if the agent was not ready in time, and else a *LaunchError. Nothing
// of the session is left then.
func (l *Launcher) Launch(ctx context.Context, name string, spec session.Spec) (*Session, error) {
	name = cmp.Or(name, "task-"+launch.RandomHex(8))
	s, err := l.session(name, spec)
	if err == nil {
		if err = s.start(ctx); err != nil {
			err = errors.Join(launchError(name, spec.Agent.Name, err), s.discard(context.WithoutCancel(ctx)))
			return nil, err
		}
		return s, nil
	}
	return nil, launchError(name, spec.Agent.Name, err)
}

// With launches a session, calls a function with it, and stops it in the end, also if
// the function panics or the context is canceled. The error joins those of Launch, the
// function and Stop.
func (l *Launcher) With(ctx context.Context, name string, spec session.Spec, do func(context.Context, *Session) error) (err error) {
	s, err := l.Launch(ctx, name, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop(context.WithoutCancel(ctx))) }()
	return do(ctx, s)
}

// Find returns a session that an earlier process of the program launched under the name
// and that still exists, whether its agent lives or not. The spec is the one with which
// it was launched. The error is session.ErrGone (errors.Is) if the Project has no such
// session.
func (l *Launcher) Find(ctx context.Context, name string, spec session.Spec) (*Session, error) {
	s, err := l.session(name, spec)
	if err == nil {
		err = s.find(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("find session %q: %w", name, err)
	}
	return s, nil
}

var nameForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,99}$`)
})

// session returns a session of the name that is not running yet.
func (l *Launcher) session(name string, spec session.Spec) (*Session, error) {
	if l.Runtime == nil {
		return nil, errors.New("no Launcher.Runtime: use agentform.Open, or sessiontest.New in tests")
	}
	if !nameForm().MatchString(name) {
		return nil, fmt.Errorf("invalid name %q: use letters, digits, dashes and underscores", name)
	}
	l.once.Do(l.initialize)
	if l.Complete != nil {
		spec.Agent = l.Complete(spec.Agent)
	}
	spec.Address = cmp.Or(spec.Address, session.Single(name))
	spec.Stop.Signal = cmp.Or(spec.Stop.Signal, "SIGTERM")
	spec.Stop.Grace = cmp.Or(spec.Stop.Grace, session.Duration(defaultGrace))
	a := l.adapt(spec.Agent)
	if a == nil {
		return nil, fmt.Errorf("no agent %q in Launcher.Agents", spec.Agent.Name)
	}
	s := &Session{launcher: l}
	s.rec = session.Record{Address: spec.Address, ID: name, Spec: spec, Tree: session.WorkspaceState{Path: spec.Workspace.Path},
		Run: session.Run{ID: launch.RandomHex(16), Number: 1}}
	s.run = launch.Run{Record: &s.rec, Agent: a, Runtime: l.Runtime, Reader: l.reader, Facts: l.Facts, Now: l.Now,
		Lives: func(ctx context.Context) ([]session.Live, error) { return l.observer.Lives(ctx, 0) }}
	if l.Facts == nil && l.Dir != "" {
		s.run.Facts = func(run string) session.RunFacts { return activity.Facts(l.runDir(run)) }
	}
	return s, nil
}

func (l *Launcher) initialize() {
	l.observer.Observe = func(ctx context.Context) ([]session.Live, error) { return l.Runtime.Observe(ctx, true) }
	if l.Dir != "" {
		l.reader = activity.New(l.Dir, launch.Home(append(os.Environ(), l.Env...)), l.adapt)
	}
}

func (l *Launcher) adapt(spec session.AgentSpec) session.Agent {
	if a := l.Agents[spec.Name]; a != nil || l.Adapt == nil {
		return a
	}
	return l.Adapt(spec)
}

func (l *Launcher) now() time.Time {
	if l.Now != nil {
		return l.Now()
	}
	return time.Now()
}

func (l *Launcher) project() string { return cmp.Or(l.Project, "library") }

// runDir returns the directory of a run; empty: runs have none.
func (l *Launcher) runDir(run string) string {
	if l.Dir == "" {
		return ""
	}
	return filepath.Join(l.Dir, "runs", run)
}

// removeRun removes the directory of a run that is over.
func (l *Launcher) removeRun(run string) error {
	if l.Dir == "" {
		return nil
	}
	return os.RemoveAll(l.runDir(run))
}

// inherited returns the part of the environment that an agent gets, with Env.
func (l *Launcher) inherited(spec session.Spec, a session.Agent) session.Inherited {
	in, given := session.Inherit(l.Environ, spec, a), session.SplitSecrets(l.Env)
	in.Env = append(in.Env, given.Env...)
	if in.Secrets == nil {
		in.Secrets = given.Secrets
	}
	maps.Copy(in.Secrets, given.Secrets)
	return in
}
