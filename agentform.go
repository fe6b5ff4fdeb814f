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
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/install"
	"github.com/agentform/agentform/internal/shim/program"
	"github.com/agentform/agentform/internal/shim/socketdir"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

// Init makes a program its own shim: started again as an agent's parent, it runs the agent
// in Init, which does not return. Call it first in main and set Options.Shim to what it
// returns. A program that is installed beside agentform-shim does not need it.
func Init() []string {
	self, err := os.Executable()
	if len(os.Args) > 2 && os.Args[1] == "shim" {
		os.Exit(program.Main(os.Args[2:]))
	}
	if err != nil {
		return nil // Open then looks for agentform-shim
	}
	return []string{self, "shim"}
}

// Options configure Open.
type Options struct {
	// Shim is the command that runs every agent, as returned by Init. Nil: the program
	// agentform-shim next to this one or on PATH.
	Shim []string
	// Env is the environment of agents, as NAME=VALUE; nil: what session.Inherit
	// returns of this program's own. What looks like a secret is never written down.
	Env []string
	// Agents are the program's own agents, by name. Built-in ones need no entry, and every
	// other name is a custom agent of the spec's command.
	Agents map[string]session.Agent
	// Secrets returns the values of Spec.Secrets; nil: os.LookupEnv.
	Secrets func(name string) (value string, set bool)
}

// Open returns a Launcher with tmux servers of its own, which keeps its files in the
// directory. The error is tmux.ErrNotAvailable (errors.Is) if there is no tmux.
func Open(dir string, o Options) (_ *Launcher, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("open sessions in %s: %w", dir, err)
		}
	}()
	if err := tmux.Available(); err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
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

// Close waits until tmux servers without sessions have exited. Sessions keep running.
func (l *Launcher) Close() {
	if l.tmux != nil {
		l.tmux.Close()
	}
}

// Attach connects this program's terminal to a session until the user detaches (Ctrl-b d,
// inside another tmux Ctrl-b Ctrl-b d) or the session ends.
func (l *Launcher) Attach(ctx context.Context, s *Session) error {
	argv := s.Attach()
	if _, is := l.Runtime.(*tmux.Runtime); is {
		argv = append(argv, ";", "set-option", tmuxwire.DetachOption, tmux.DetachKeys(ctx, os.Environ(), argv[0]))
	}
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
		return fmt.Errorf("no built-in agent %q: use %s", name, plaintext.List(agent.Names(), "or"))
	}
	if _, err := exec.LookPath(spec.Command[0]); err != nil {
		return fmt.Errorf("agent %q is not installed: %q is not on PATH", name, spec.Command[0])
	}
	return nil
}

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
		return nil, errors.New("there is no " + install.Binary + " next to this program or on PATH; call agentform.Init first in main and set Options.Shim to what it returns, or go install github.com/agentform/agentform/cmd/agentform-shim@latest")
	}
	return []string{path}, nil
}

// Launcher launches sessions without a manifest and without a state file. Open returns
// one for this machine; for another runtime, such as a sessiontest.Scripted, set the
// fields. A Launcher may be used by many goroutines once its fields are set.
type Launcher struct {
	Runtime session.Runtime
	Agents  map[string]session.Agent // by Spec.Agent.Name
	// Adapt returns the agent of a spec whose name is not in Agents, as agent.For does.
	// Nil: such a spec is an error.
	Adapt func(session.AgentSpec) session.Agent
	// Complete sets the defaults of an agent's spec, as agent.Complete does. Nil: specs are
	// complete.
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
	// Agents are then observed by their session files and hooks as well, and what is typed
	// is verified.
	Dir string
	// Hook is the command of agents' hooks, without the run's directory; nil: no hooks.
	Hook []string
	// Facts returns what is known of a run; nil: what its directory in Dir holds.
	Facts func(run string) session.RunFacts
	// Now returns the time; nil: time.Now. A scripted runtime has a clock of its own.
	Now  func() time.Time
	Root bool // agents run as root

	tmux     *tmux.Runtime // of Open
	others   others
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
// its spec. The name is that of the tmux session or container (letters, digits, dashes and
// underscores); empty: task- and eight hex digits.
//
// It uses these fields of the spec: Agent (Name, and Command for another program than
// the built-in ones), Workspace.Path (absolute), Prompt, Profile, Args, Env, Secrets,
// InheritEnv, Conversation, Timeout, Stop, and Agent.ReadyTimeout: 0 is
// DefaultReadyTimeout, a negative value means not to wait.
//
// The error is session.ErrExists (errors.Is) if the name is taken, an *OccupiedError
// (errors.As) if an agent that is none of the Launcher's works in the directory, a
// *ReadyTimeoutError with the screen if the agent was not ready in time, and else a
// *LaunchError. Nothing of the session is left then.
func (l *Launcher) Launch(ctx context.Context, name string, spec session.Spec) (*Session, error) {
	name = cmp.Or(name, "task-"+launch.RandomHex(8))
	s, err := l.session(name, spec)
	if err != nil {
		return nil, launchError(name, spec.Agent.Name, err)
	}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(launchError(name, spec.Agent.Name, err), s.discard(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// With launches a session, calls a function with it, and stops it in the end, also if
// the function panics or the context is canceled.
func (l *Launcher) With(ctx context.Context, name string, spec session.Spec, do func(context.Context, *Session) error) (err error) {
	s, err := l.Launch(ctx, name, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop(context.WithoutCancel(ctx))) }()
	return do(ctx, s)
}

// Find returns a session that an earlier process launched with the name and the spec and that still
// exists, whether its agent is alive or not. The error is session.ErrGone (errors.Is) if the
// Project has no such session.
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
		l.reader = activity.New(l.Dir, environ.Vars(append(os.Environ(), l.Env...)).Get("HOME"), l.adapt)
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

// runDir returns the directory of a run; empty, which os.RemoveAll ignores: there is none.
func (l *Launcher) runDir(run string) string {
	if l.Dir == "" {
		return ""
	}
	return layout.Data{Dir: l.Dir}.Run(run)
}

func (l *Launcher) inherited(spec session.Spec, a session.Agent) session.Inherited {
	in, given := session.Inherit(l.Environ, spec, a), session.SplitSecrets(l.Env)
	in.Env = append(in.Env, given.Env...)
	if in.Secrets == nil {
		in.Secrets = given.Secrets
	}
	maps.Copy(in.Secrets, given.Secrets)
	return in
}

// Session is one session that a Launcher started or found. Its methods may be called by
// many goroutines.
type Session struct {
	launcher *Launcher
	rec      session.Record
	run      launch.Run // of rec
	tracker  tracker
}

// Handle names a session. It can be copied, compared and kept.
type Handle struct {
	Name     string // of the tmux session or container
	Pane     string // of tmux, %42; empty elsewhere
	Agent    string // name of the agent
	Dir      string // where it works
	Run      string // run id
	Location session.Location
}

// Handle returns the session's name and location.
func (s *Session) Handle() Handle {
	return Handle{Name: s.rec.ID, Pane: s.rec.Location.Pane, Agent: s.rec.Spec.Agent.Name, Dir: s.rec.Spec.Workspace.Path, Run: s.rec.Run.ID, Location: s.rec.Location}
}

// Record returns the session as a state file would have it.
func (s *Session) Record() session.Record { return s.rec }

func (s *Session) start(ctx context.Context) error {
	l, spec := s.launcher, s.rec.Spec
	if l.tmux != nil {
		if err := l.others.in(spec.Workspace.Path, layout.Data{Dir: l.Dir}.Runs()); err != nil {
			return err
		}
	}
	secrets, err := launch.Secrets(spec, l.Secrets)
	if err != nil {
		return err
	}
	started, err := s.run.Prepare(launch.Options{
		Name: s.rec.ID, Project: l.project(), Dir: l.runDir(s.rec.Run.ID), Hook: l.Hook, Root: l.Root,
		Prompt: spec.Prompt.Text, Conversation: spec.Conversation.ID, Fresh: launch.UUID(launch.RandomHex),
		Inherited: l.inherited(spec, s.run.Agent), Secrets: secrets,
	})
	if err != nil {
		return err
	}
	if err := s.run.Start(ctx, started, nil, nil); err != nil {
		return err
	}
	if spec.Agent.ReadyTimeout >= 0 {
		if err := s.run.Ready(ctx); err != nil {
			return err
		}
	}
	outcome, err := s.run.Deliver(ctx)
	s.tracker.given, s.tracker.queued = s.rec.Run.DeliveredAt, outcome == input.Queued
	return err
}

// find completes the record from the session that the runtime shows under its name.
func (s *Session) find(ctx context.Context) error {
	lives, err := s.launcher.observer.Lives(ctx, 0)
	if err != nil {
		return err
	}
	for _, l := range lives {
		if l.Foreign || l.Location.Name != s.rec.ID || l.Mark.Project != s.launcher.project() {
			continue
		}
		s.rec.Address, s.rec.ID, s.rec.Location = l.Mark.Address, l.Mark.ID, l.Location
		// Launch leaves no session that was not ready or has not got its prompt.
		s.rec.Run = session.Run{ID: l.Mark.Run, Number: 1, StartedAt: l.Started, BootID: l.BootID, Agent: l.Agent, ReadyAt: l.Started}
		if s.rec.Spec.Prompt.Text != "" {
			s.rec.Run.DeliveredAt = l.Started
		}
		s.tracker.given = s.rec.Run.DeliveredAt
		return nil
	}
	return fmt.Errorf("it %w", session.ErrGone)
}

// Send types a text into the session and presses Enter.
func (s *Session) Send(ctx context.Context, text string) error {
	return s.SendInput(ctx, session.Input{Text: text})
}

// SendInput types a text, with or without Enter, or presses a key.
func (s *Session) SendInput(ctx context.Context, in session.Input) error {
	given, outcome, err := s.launcher.now(), input.Outcome(""), error(nil)
	switch {
	case in.Key != "" || in.NoEnter:
		outcome, err = s.run.Press(ctx, in)
	default:
		outcome, err = s.run.Type(ctx, in.Text)
	}
	if err != nil {
		return fmt.Errorf("send to session %q: %w", s.rec.ID, err)
	}
	s.tracker.sent(given, outcome == input.Queued)
	return nil
}

// Answer answers a question of an Observation: with yes, always or no, with the number or
// the label of an option, or with a text where the question takes one. It returns once the
// question is gone. The error is an *UnknownAnswerError, a *NoQuestionError or an
// *OtherQuestionError if nothing was answered.
func (s *Session) Answer(ctx context.Context, q session.Question, answer string) error {
	given := s.launcher.now()
	if err := s.run.Answer(ctx, input.Reply{Text: answer, Question: q.ID}); err != nil {
		return fmt.Errorf("answer session %q: %w", s.rec.ID, err)
	}
	s.tracker.sent(given, false)
	return nil
}

// Status returns the status of the last observation. Before any it is StatusRunning.
func (s *Session) Status() session.Status { return s.tracker.lastStatus() }

// Capture returns the last lines of the screen and its history as plain text; 0: all.
func (s *Session) Capture(ctx context.Context, lines int) (string, error) {
	text, err := s.launcher.Runtime.Capture(ctx, s.rec.Location, lines)
	if err != nil {
		return "", fmt.Errorf("capture session %q: %w", s.rec.ID, err)
	}
	return text, nil
}

// Attach returns the command that connects a terminal to the session.
func (s *Session) Attach() []string { return s.launcher.Runtime.Attach(s.rec.Location) }

// Stop ends the agent and all its processes, removes the tmux session or container and
// the run's directory, and verifies that nothing is left. Stopping a session that is gone
// is not an error.
func (s *Session) Stop(ctx context.Context) error {
	err := s.launcher.Runtime.Stop(ctx, s.rec.Location, s.rec.Run.ID, s.rec.Spec.Stop)
	if err == nil || errors.Is(err, session.ErrGone) {
		err = s.launcher.Runtime.Remove(ctx, s.rec.Location)
	}
	if err == nil || errors.Is(err, session.ErrGone) {
		err = os.RemoveAll(s.launcher.runDir(s.rec.Run.ID))
	}
	if err != nil {
		return fmt.Errorf("stop session %q: %w", s.rec.ID, err)
	}
	s.tracker.stop()
	return nil
}

func (s *Session) discard(ctx context.Context) error {
	if s.rec.Location == (session.Location{}) {
		return os.RemoveAll(s.launcher.runDir(s.rec.Run.ID))
	}
	return s.Stop(ctx)
}

// live returns the session as shown by the runtime at most age ago; nil: it is gone.
func (s *Session) live(ctx context.Context, age time.Duration) (*session.Live, error) {
	lives, err := s.launcher.observer.Lives(ctx, age)
	if err != nil {
		return nil, err
	}
	for _, l := range lives {
		if !l.Foreign && l.Mark.Run == s.rec.Run.ID {
			return &l, nil
		}
	}
	return nil, nil
}

// Observation is what is known of a session at one time.
type Observation struct {
	At       time.Time
	Status   session.Status
	Activity session.Activity
	Detail   string // for people: the question, the limit, the failure
	// Question is what the agent asks, with its answers; nil: nothing, or they are not known.
	Question *session.Question
	// Changed reports whether the screen without its status bar differs from the last one.
	Changed bool
	PR      string        // URL of a pull request on the screen; empty: none
	Snippet string        // the last SnippetLimit characters of the screen
	Exit    *session.Exit // how the agent exited; nil: it did not
	// TurnEnded reports whether the agent has finished its last input, and rests. Detecting that
	// takes several observations.
	TurnEnded bool
	Answer    string // the agent's last message in its own session file, if any
}

// SnippetLimit is how many characters of the screen an Observation has.
const SnippetLimit = 500

// Callbacks are called by Monitor, in its goroutine. Each may be nil.
type Callbacks struct {
	// StatusChanged is called when the status differs from that of the last
	// observation, with at most session.TailLimit bytes of the screen.
	StatusChanged func(old, now session.Status, output string)
	// PRDetected is called once for each URL.
	PRDetected func(url string)
	// Idle is called once for each turn that has ended.
	Idle func(Observation)
}

// Until is the end of a watch.
type Until string

// A session is watched until its turn has ended or until it exits.
const (
	UntilTurn Until = "turn"
	UntilExit Until = "exit"
)

// Observe observes the session once.
func (s *Session) Observe(ctx context.Context) (Observation, error) {
	return s.Monitor(ctx, Callbacks{})
}

// Monitor observes the session once and calls back with the changes since the last observation. The
// error is that of an unreachable runtime.
func (s *Session) Monitor(ctx context.Context, tell Callbacks) (Observation, error) {
	return s.monitor(ctx, 0, tell)
}

func (s *Session) monitor(ctx context.Context, age time.Duration, tell ...Callbacks) (Observation, error) {
	l, err := s.live(ctx, age)
	if err != nil {
		return Observation{}, fmt.Errorf("monitor session %q: %w", s.rec.ID, err)
	}
	o, n := s.tracker.observe(&s.run, l, s.launcher.now())
	for _, t := range tell {
		if n.statusChanged && t.StatusChanged != nil {
			t.StatusChanged(n.old, o.Status, n.screen)
		}
		if n.request && t.PRDetected != nil {
			t.PRDetected(o.PR)
		}
		if n.turnEnded && t.Idle != nil {
			t.Idle(o)
		}
	}
	return o, nil
}

// Watch observes the session at the interval until its turn has ended (Observation.TurnEnded), it
// has ended (Status.Terminal), or ctx ends. It continues if the loop sends more, and after an
// error, which means that the runtime is unreachable. Observations can be a quarter of the interval
// old.
func (s *Session) Watch(ctx context.Context, every time.Duration, tell ...Callbacks) iter.Seq2[Observation, error] {
	return s.watch(ctx, every, UntilTurn, tell)
}

// WatchExit is Watch until the agent has ended.
func (s *Session) WatchExit(ctx context.Context, every time.Duration, tell ...Callbacks) iter.Seq2[Observation, error] {
	return s.watch(ctx, every, UntilExit, tell)
}

func (s *Session) watch(ctx context.Context, every time.Duration, until Until, tell []Callbacks) iter.Seq2[Observation, error] {
	return func(yield func(Observation, error) bool) {
		for age := time.Duration(0); ; age = every / 4 {
			o, err := s.monitor(ctx, age, tell...)
			if !yield(o, err) || err == nil && (o.Status.Terminal() || until == UntilTurn && o.TurnEnded && s.tracker.resting()) {
				return
			}
			if !sleep.For(ctx, every) {
				return
			}
		}
	}
}

const turnInterval = 250 * time.Millisecond

// WaitTurn returns the observation in which the agent has finished what it was last given.
// The error is that of ctx, or ErrOver (errors.Is) if the session failed or exited first.
func (s *Session) WaitTurn(ctx context.Context) (Observation, error) {
	for {
		o, err := s.Observe(ctx)
		switch {
		case err != nil:
		case o.TurnEnded || o.Status == session.StatusDone:
			return o, nil
		case o.Status.Terminal():
			return o, fmt.Errorf("wait for the turn of session %q: it is %s (%s) and %w", s.rec.ID, o.Status, o.Detail, ErrOver)
		}
		if !sleep.For(ctx, turnInterval) {
			return o, errors.Join(context.Cause(ctx), err)
		}
	}
}

// tracker compares the observations of one session.
type tracker struct {
	mu      sync.Mutex
	stopped bool
	status  session.Status // of the last observation
	given   time.Time      // when the agent was last given something; zero: never
	queued  bool           // it was working then
	turn    turn.Course
	rested  bool   // the turn had ended at the last observation
	shown   string // the last screen, without its status bar
	prs     map[string]bool
}

// news returns what an observation shows for the first time.
type news struct {
	statusChanged, request, turnEnded bool

	old    session.Status
	screen string // at most session.TailLimit bytes
}

func (t *tracker) sent(at time.Time, queued bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.given, t.queued, t.rested = at, queued, false
}

func (t *tracker) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped, t.status = true, session.StatusStopped
}

func (t *tracker) lastStatus() session.Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	return cmp.Or(t.status, session.StatusRunning)
}

// resting reports whether the turn had ended at the last observation, and nothing was
// sent since.
func (t *tracker) resting() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rested
}

// observe returns the observation of a run, which the runtime does not show if l is nil.
func (t *tracker) observe(r *launch.Run, l *session.Live, now time.Time) (Observation, news) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := Observation{At: now}
	switch {
	case t.stopped:
		o.Status = session.StatusStopped
	case l == nil:
		t.lost(&o, r)
	case l.Liveness == session.Unknown:
		t.unknown(&o, l.UnknownReason)
	default:
		t.seen(&o, r, l)
	}
	n := news{old: t.status, statusChanged: t.status != "" && t.status != o.Status, turnEnded: o.TurnEnded && !t.rested}
	if l != nil {
		n.screen, o.Snippet = launch.Clip(l.Screen), lastCharacters(l.Screen, SnippetLimit)
		shown := withoutBar(l.Screen, r.Record.Spec.Agent.StatusBarLines)
		o.Changed, t.shown = shown != t.shown, shown
	}
	if n.request = o.PR != "" && !t.prs[o.PR]; n.request {
		if t.prs == nil {
			t.prs = map[string]bool{}
		}
		t.prs[o.PR] = true
	}
	t.status, t.rested = o.Status, o.TurnEnded
	return o, n
}

// lost observes a session that the runtime does not have. If its agent is alive, its state is
// unknown.
func (t *tracker) lost(o *Observation, r *launch.Run) {
	var facts session.RunFacts
	if r.Facts != nil {
		facts = r.Facts(r.Record.Run.ID)
	}
	if facts.Alive {
		t.unknown(o, fmt.Sprintf("it cannot be reached, and its agent is running (process %d)", facts.Agent.PID))
		return
	}
	o.Status, o.Activity, o.Detail, o.Exit = session.StatusExited, session.Exited, "the session is gone", facts.Exit
	if r.Record.Spec.Agent.Finished(facts.Exit) {
		o.Status, o.Activity = session.StatusDone, session.Done
	}
}

// unknown keeps status and turn of a session whose state is unknown.
func (t *tracker) unknown(o *Observation, why string) {
	o.Status, o.Activity, o.Detail = cmp.Or(t.status, session.StatusPending), session.NoActivity, why
	o.TurnEnded = t.rested
}

// seen observes a session that the runtime has. A live agent counts as running while only a phrase
// on its screen shows that it is done or has failed, and it does not rest.
func (t *tracker) seen(o *Observation, r *launch.Run, l *session.Live) {
	look, state, spec := r.Activity(l), session.StateRunning, r.Record.Spec.Agent
	does := look.Activity
	if l.Liveness == session.Dead {
		state, o.Exit = session.StateStale, l.Exit
		if spec.Finished(l.Exit) {
			state, does = session.StateStopped, session.Done
		}
	}
	o.Status, o.Activity, o.Detail, o.PR = session.StatusOf(state, does), does, look.Detection.Detail, look.Detection.PR
	o.Question = look.Detection.Question
	shown := activity.TurnLook(*r.Record, look, l.Liveness == session.Alive, l.MovedAt, nil, o.At)
	shown.Activity = does
	shown.Given, shown.Queued = t.given, t.queued
	t.turn.See(shown)
	if t.turn.Unconfirmed() {
		o.Status = session.StatusOf(state, session.Working)
	}
	o.TurnEnded = t.turn.Ended()
	if n := look.Transcript; n != nil {
		o.Answer = n.LastMessage
		if !n.Answered(t.given) && t.turn.Held() < turn.FileLag {
			o.TurnEnded = false // its file has the answer in a moment
		}
	}
}

// withoutBar returns a screen without its status bar, which changes by itself.
func withoutBar(screen string, bar int) string {
	lines := strings.Split(strings.TrimRight(screen, "\n "), "\n")
	return strings.Join(lines[:max(0, len(lines)-bar)], "\n")
}

func lastCharacters(text string, n int) string {
	r := []rune(strings.TrimRight(text, "\n "))
	return string(r[max(0, len(r)-n):])
}

// DialogError means that nothing was typed because the agent shows a question. Answer it with
// Session.Answer, or with a key (Input.Key).
type DialogError = input.DialogError

// NoQuestionError means that nothing was answered because the agent asks no question that can be
// answered.
type NoQuestionError = input.NoQuestionError

// OtherQuestionError means that nothing was answered because the agent asks another question.
type OtherQuestionError = input.OtherQuestionError

// UnknownAnswerError means that nothing was answered because the question has no such answer.
type UnknownAnswerError = input.UnknownAnswerError

// NotTakenError means that nothing shows whether the agent received a typed text.
type NotTakenError = input.NotTakenError

// ErrOver means that an awaited event cannot happen because the session has ended.
var ErrOver = errors.New("does nothing more by itself")

// LaunchError means that an agent could not be started.
type LaunchError struct {
	Name   string // of the session
	Agent  string
	Screen string        // what it showed, at most session.TailLimit bytes; empty: nothing
	Exit   *session.Exit // how it exited; nil: it did not
	Err    error
}

// Error returns the reason and the end of the screen.
func (e *LaunchError) Error() string {
	if errors.Is(e.Err, session.ErrExists) {
		return fmt.Sprintf("session %q already exists; use Find or Stop", e.Name)
	}
	s := fmt.Sprintf("launch session %q (%s): %v", e.Name, e.Agent, e.Err)
	if e.Screen != "" {
		s += "\n" + launch.Tail(e.Screen, 10)
	}
	return s
}

// Unwrap returns the reason: session.ErrExists, an *OccupiedError, a *tmux.Error, the agent's exit.
func (e *LaunchError) Unwrap() error { return e.Err }

// ReadyTimeoutError means that an agent was not ready in time.
type ReadyTimeoutError struct {
	Name   string // of the session
	Agent  string
	After  time.Duration
	Screen string // the last screen, at most session.TailLimit bytes
}

// Error returns the timeout and the end of the screen.
func (e *ReadyTimeoutError) Error() string {
	s := fmt.Sprintf("launch session %q (%s): not ready after %v", e.Name, e.Agent, e.After)
	if e.Screen != "" {
		s += "; it shows\n" + launch.Tail(e.Screen, 10)
	}
	return s
}

// launchError returns the reason of a failed launch as one of the exported types.
func launchError(name, agent string, err error) error {
	var late *launch.NotReadyError
	var failed *launch.FailedStartError
	switch {
	case errors.As(err, &late) && late.Exit == nil:
		return &ReadyTimeoutError{Name: name, Agent: agent, After: late.After, Screen: late.Excerpt()}
	case errors.As(err, &late):
		return &LaunchError{Name: name, Agent: agent, Screen: late.Excerpt(), Exit: late.Exit, Err: errors.New(late.Why)}
	case errors.As(err, &failed):
		return &LaunchError{Name: name, Agent: agent, Exit: &failed.Exit, Err: err}
	}
	return &LaunchError{Name: name, Agent: agent, Err: err}
}
