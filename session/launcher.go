package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
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
	// Project marks the sessions as this program's; empty: "library".
	Project string
	// Env is the environment that agents get, as NAME=VALUE, below what their
	// adapter and the spec say.
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
	// Root and Sandbox are StartInput's.
	Root, Sandbox bool
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
	if err = s.becomeReady(ctx); err == nil && paste != "" {
		err = s.Send(ctx, paste)
		s.rec.Run.DeliveredAt = time.Now()
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

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,99}$`)

// begin starts the run, and returns the session with what is still to be typed.
func (l *Launcher) begin(ctx context.Context, name string, spec Spec) (*Session, string, error) {
	if name == "" {
		name = "task-" + randomHex(4)
	}
	if spec.Address == "" {
		spec.Address = Single(name)
	}
	fail := func(err error) (*Session, string, error) {
		return nil, "", &LaunchError{Name: name, Agent: spec.Agent.Name, Err: err}
	}
	if !nameForm.MatchString(name) {
		return fail(fmt.Errorf("invalid name %q: letters, digits, dashes and underscores are possible", name))
	}
	agent := l.Agents[spec.Agent.Name]
	if agent == nil && l.Adapt != nil {
		agent = l.Adapt(spec.Agent)
	}
	if agent == nil {
		return fail(fmt.Errorf("no agent %q among Launcher.Agents", spec.Agent.Name))
	}
	spec.Stop.Signal = cmp.Or(spec.Stop.Signal, "SIGTERM")
	spec.Stop.Grace = cmp.Or(spec.Stop.Grace, Duration(defaultGrace))
	rec := Record{Address: spec.Address, ID: name, Spec: spec, Tree: Tree{Path: spec.Workspace.Path}, Run: Run{ID: randomHex(8), Number: 1}}
	secrets, err := l.secrets(spec.Secrets)
	if err != nil {
		return fail(err)
	}
	in := StartInput{Spec: spec, Prompt: spec.Prompt.Text, Conversation: spec.Conversation.ID, Fresh: uuid(), Root: l.Root, Sandbox: l.Sandbox}
	folder := ""
	if l.Runs != nil {
		folder = l.Runs.Folder(rec.Run.ID)
		in.Private, in.Notify = path.Join(folder, Private), l.Runs.Notify(rec.Run.ID)
	}
	start := agent.Start(in)
	if l.Runs != nil {
		if err := l.Runs.Keep(rec.Run.ID, start.Files); err != nil {
			return fail(err)
		}
	}
	rec.Run.Conversation = cmp.Or(start.Conversation, in.Conversation)
	rec.Run.StartedAt = time.Now()
	if in.Prompt != "" && start.Paste == "" {
		rec.Run.DeliveredAt = rec.Run.StartedAt
	}
	rec.Place, err = l.Runtime.Create(ctx, Launch{
		Mark:   Mark{Project: cmp.Or(l.Project, "library"), Address: rec.Address, ID: rec.ID, Run: rec.Run.ID, Hash: spec.Hash()},
		Name:   name,
		RunDir: folder, Dir: spec.Workspace.Path, Argv: start.Argv, Env: l.environ(start.Env, spec),
		Secrets: secrets, Timeout: spec.Timeout.D(), Stop: spec.Stop, Spec: spec,
	})
	if err != nil {
		return fail(err)
	}
	return &Session{launcher: l, agent: agent, rec: rec, prs: map[string]bool{}}, start.Paste, nil
}

// environ is the environment of an agent: what everything gets, then what the
// adapter, the agent's spec and the session's spec say.
func (l *Launcher) environ(adapter map[string]string, spec Spec) []string {
	env := append([]string(nil), l.Env...)
	for _, layer := range []map[string]string{adapter, spec.Agent.Env, spec.Env} {
		for name, value := range layer {
			env = append(env, name+"="+value)
		}
	}
	return env
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
