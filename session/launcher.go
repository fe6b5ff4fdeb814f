package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Launcher starts sessions for a program, without a manifest and without a
// state file: who launches a session keeps its Session and stops it. Any Runtime
// will do. Package local opens one that is ready for use on this machine; a
// sessiontest.Scripted needs no more than its own New.
//
// A Launcher may be used by many goroutines, once its fields are set.
type Launcher struct {
	Runtime Runtime
	// Agents are the agents by the name that Spec.Agent.Name gives. There is no
	// registry besides it: an agent of one's own is one more entry.
	Agents map[string]Agent
	// Adapt is the agent of a spec whose name is not in Agents, such as agent.For,
	// which knows the built-in ones and makes a custom one of every other command.
	// Nil: such a spec is an error.
	Adapt func(AgentSpec) Agent
	// Complete fills in what an agent's spec leaves out, such as agent.Complete.
	// Nil: a spec is taken as it is.
	Complete func(AgentSpec) AgentSpec
	// Project marks the sessions as this program's; empty: "library".
	Project string
	// Environ is the environment, as NAME=VALUE, of which agents get what Inherit
	// returns; nil: nothing.
	Environ []string
	// Env is what all agents get besides, as NAME=VALUE, below what their adapter and
	// the spec say.
	Env []string
	// Secrets gives the values of Spec.Secrets; nil: there are none.
	Secrets func(name string) (value string, set bool)
	// Runs keeps the folders of runs, for a Runtime that needs them; nil: none
	// does.
	Runs Runs
	// Read says what an agent does, from its record and from what is seen of it.
	// Nil: its adapter's Read, of the title, the screen and the exit. Package
	// local's reads the agent's own session file and its hooks as well.
	Read func(r Record, l *Live) Reading
	// Type types a text and submits it. Nil: Runtime.Send. Package local's sees that
	// the agent has taken it, and refuses to type over a dialog.
	Type func(ctx context.Context, r Record, a Agent, text string) error
	// Facts is what is known of a run whose place cannot be found: an agent that lives
	// is unknown then, and not gone. Nil: nothing.
	Facts func(run string) RunFacts
	// Now is the time; nil: time.Now. A scripted runtime has its own.
	Now func() time.Time
	// Root and Sandbox are StartInput's.
	Root, Sandbox bool

	looks looks
}

// Runs keeps a folder for each run.
type Runs interface {
	// Folder is where the run's folder is, or will be.
	Folder(run string) string
	// Notify is the command line that the agent's hooks call; nil: none.
	Notify(run string) []string
	// Keep makes the folder (0700), and in a folder "private" of it the files
	// (0600), by name.
	Keep(run string, files map[string]string) error
	// Drop removes the folder of a run that is over, with all in it. One that is
	// not there is no error.
	Drop(run string) error
}

// Private is the folder of a run's own settings, in the run's folder.
const Private = "private"

// DefaultReadyTimeout is how long Launch waits for an agent when its spec does
// not say.
const DefaultReadyTimeout = 30 * time.Second

// defaultGrace is what an agent gets to leave by itself when its spec does not
// say.
const defaultGrace = 10 * time.Second

// Launch starts an agent and returns when it can be typed to, which for an agent
// without a Ready pattern is at once. A prompt that is not part of its command
// line is typed then. The name is that of the place (letters, digits, dashes and
// underscores); empty: task- and eight hex digits.
//
// Of the spec it takes Agent (Name, and Command for a program of one's own),
// Workspace.Path (where it works, absolute), Prompt, Profile, Args, Env, Secrets,
// Conversation, Timeout, Stop, and Agent.ReadyTimeout: 0 is DefaultReadyTimeout,
// below 0 means not to wait.
//
// The error is ErrExists (errors.Is) when the name is taken, a
// *ReadyTimeoutError with the screen when the agent could not be typed to in
// time, and a *LaunchError for all else. In each case nothing of it is left.
func (l *Launcher) Launch(ctx context.Context, name string, spec Spec) (*Session, error) {
	s, paste, err := l.begin(ctx, name, spec)
	if err != nil {
		return nil, err
	}
	if err = s.becomeReady(ctx); err == nil {
		s.rec.Run.ReadyAt = l.now()
	}
	if err == nil && paste != "" {
		given := l.now()
		err = s.Send(ctx, paste)
		s.rec.Run.DeliveredAt = given
	}
	if err == nil {
		return s, nil
	}
	return nil, errors.Join(s.failure(err), s.Stop(context.WithoutCancel(ctx)))
}

// With launches a session, hands it to a function, and stops it in the end, also
// when the function panics or the context is canceled meanwhile. It returns what
// Launch, the function and Stop had to complain about.
func (l *Launcher) With(ctx context.Context, name string, spec Spec, do func(context.Context, *Session) error) (err error) {
	s, err := l.Launch(ctx, name, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop(context.WithoutCancel(ctx))) }()
	return do(ctx, s)
}

// Find is a session that was launched under the name before and is still there,
// dead or alive: what an earlier life of this program left running. The spec is
// the one that it was launched with; it says how to read the agent and how to stop
// it. The error is ErrGone (errors.Is) when there is no such session of this
// Project.
func (l *Launcher) Find(ctx context.Context, name string, spec Spec) (*Session, error) {
	fail := func(err error) (*Session, error) { return nil, fmt.Errorf("find session %q: %w", name, err) }
	spec, agent, err := l.prepare(name, spec)
	if err != nil {
		return fail(err)
	}
	lives, err := l.look(ctx, 0)
	if err != nil {
		return fail(err)
	}
	for i := range lives {
		live := &lives[i]
		if live.Foreign || live.Place.Name != name || live.Mark.Project != l.project() {
			continue
		}
		rec := Record{Address: live.Mark.Address, ID: live.Mark.ID, Spec: spec, Place: live.Place, Tree: WorkspaceState{Path: spec.Workspace.Path}}
		rec.Run = Run{ID: live.Mark.Run, Number: 1, StartedAt: live.Started, BootID: live.BootID, Agent: live.Agent}
		rec.Run.ReadyAt = live.Started // Launch leaves nothing that was not
		if spec.Prompt.Text != "" {
			rec.Run.DeliveredAt = live.Started // nor that has not got it
		}
		return newSession(l, agent, rec), nil
	}
	return fail(fmt.Errorf("it %w", ErrGone))
}

var nameForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,99}$`)
})

// prepare fills in what the spec leaves out, and finds its agent.
func (l *Launcher) prepare(name string, spec Spec) (Spec, Agent, error) {
	if l.Runtime == nil {
		return spec, nil, errors.New("no Launcher.Runtime: package local opens one, sessiontest.New is one for tests")
	}
	if !nameForm().MatchString(name) {
		return spec, nil, fmt.Errorf("invalid name %q: letters, digits, dashes and underscores are possible", name)
	}
	if l.Complete != nil {
		spec.Agent = l.Complete(spec.Agent)
	}
	if spec.Address == "" {
		spec.Address = Single(name)
	}
	spec.Stop.Signal = cmp.Or(spec.Stop.Signal, "SIGTERM")
	spec.Stop.Grace = cmp.Or(spec.Stop.Grace, Duration(defaultGrace))
	agent := l.Agents[spec.Agent.Name]
	if agent == nil && l.Adapt != nil {
		agent = l.Adapt(spec.Agent)
	}
	if agent == nil {
		return spec, nil, fmt.Errorf("no agent %q among Launcher.Agents", spec.Agent.Name)
	}
	return spec, agent, nil
}

// begin starts the run, and returns the session with what is still to be typed.
func (l *Launcher) begin(ctx context.Context, name string, spec Spec) (_ *Session, paste string, err error) {
	if name == "" {
		name = "task-" + randomHex(4)
	}
	run := ""
	defer func() {
		if err != nil {
			err = &LaunchError{Name: name, Agent: spec.Agent.Name, Err: errors.Join(err, l.drop(run))}
		}
	}()
	spec, agent, err := l.prepare(name, spec)
	if err != nil {
		return nil, "", err
	}
	secrets, err := l.secrets(spec.Secrets)
	if err != nil {
		return nil, "", err
	}
	run = randomHex(8)
	rec := Record{Address: spec.Address, ID: name, Spec: spec, Tree: WorkspaceState{Path: spec.Workspace.Path}, Run: Run{ID: run, Number: 1}}
	in := StartInput{Spec: spec, Prompt: spec.Prompt.Text, Conversation: spec.Conversation.ID, Fresh: uuid(), Root: l.Root, Sandbox: l.Sandbox}
	folder := ""
	if l.Runs != nil {
		folder = l.Runs.Folder(run)
		in.Private, in.Notify = path.Join(folder, Private), l.Runs.Notify(run)
	}
	start := agent.Start(in)
	if l.Runs != nil {
		if err := l.Runs.Keep(run, start.Files); err != nil {
			return nil, "", err
		}
	}
	rec.Run.Conversation = cmp.Or(start.Conversation, in.Conversation)
	rec.Run.StartedAt = l.now()
	if in.Prompt != "" && start.Paste == "" {
		rec.Run.DeliveredAt = rec.Run.StartedAt
	}
	inherited, given := Inherit(l.Environ, spec, agent), SplitSecrets(l.Env)
	inherited.Env = append(inherited.Env, given.Env...)
	maps.Copy(inherited.Secrets, given.Secrets)
	env, secrets := inherited.With(secrets, start.Env, spec.Agent.Env, spec.Env)
	rec.Place, err = l.Runtime.Create(ctx, Launch{
		Mark:   Mark{Project: l.project(), Address: rec.Address, ID: rec.ID, Run: run, Hash: spec.Hash()},
		Name:   name,
		RunDir: folder, Dir: spec.Workspace.Path, Argv: start.Argv, Env: env,
		Secrets: secrets, Timeout: spec.Timeout.D(), Stop: spec.Stop, Spec: spec,
	})
	if err != nil {
		return nil, "", err
	}
	return newSession(l, agent, rec), start.Paste, nil
}

func newSession(l *Launcher, agent Agent, rec Record) *Session {
	return &Session{launcher: l, agent: agent, rec: rec, given: rec.Run.DeliveredAt, prs: map[string]bool{}}
}

func (l *Launcher) now() time.Time {
	if l.Now != nil {
		return l.Now()
	}
	return time.Now()
}

func (l *Launcher) project() string { return cmp.Or(l.Project, "library") }

// drop removes the folder of a run that is over, if there is one.
func (l *Launcher) drop(run string) error {
	if l.Runs == nil || run == "" {
		return nil
	}
	return l.Runs.Drop(run)
}

func (l *Launcher) secrets(names []string) (map[string]string, error) {
	values := map[string]string{}
	var missing []string
	for _, name := range names {
		value, set := "", false
		if l.Secrets != nil {
			value, set = l.Secrets(name)
		}
		if !set {
			missing = append(missing, name)
		}
		values[name] = value
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("Launcher.Secrets has no value for %s", strings.Join(missing, ", "))
	}
	return values, nil
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// uuid is a random UUID (version 4), the form in which agents take an id.
func uuid() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
