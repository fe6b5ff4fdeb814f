package launch

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/sessionfile"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

// Private is the directory, in a run's directory, that holds the run's own settings.
const Private = "private"

// Options are the settings of a run's launch, in addition to its record.
type Options struct {
	Name         string            // of the tmux session or container
	Project      string            // the owner in the session's mark
	ProjectDir   string            // passed to the agent; empty: none
	Dir          string            // the run's directory; empty: the run has none
	Prompt       string            // to deliver; empty: none
	Conversation string            // to resume; empty: a new one
	Fresh        string            // a UUID for a new conversation
	Hook         []string          // the command of the agent's hooks, without the run's directory; nil: no hooks
	Root         bool              // the agent runs as root
	Inherited    session.Inherited // the part of the caller's environment that the agent gets
	Secrets      map[string]string // values of the declared secrets, by name
	Identity     map[string]string // variables that name the committer, where git cannot find one
}

// Environ returns the environment of a session's agent (NAME=VALUE) and its secrets. The
// session's own variables override those of the agent block, the given ones, those of the
// runtime block, and the inherited ones.
func Environ(s session.Spec, in session.Inherited, declared map[string]string, given ...map[string]string) (env []string, secrets map[string]string) {
	var layers []map[string]string
	if d := s.Runtime.Docker; d != nil {
		layers = append(layers, d.Env)
	}
	if k := s.Runtime.Kubernetes; k != nil {
		layers = append(layers, k.Env)
	}
	return in.With(declared, append(append(layers, given...), s.Agent.Env, s.Env)...)
}

// Secrets returns the values of the secrets that a session declares.
func Secrets(s session.Spec, lookup func(name string) (string, bool)) (map[string]string, error) {
	values := make(map[string]string, len(s.Secrets))
	for _, name := range s.Secrets {
		set := false
		if lookup != nil {
			values[name], set = lookup(name)
		}
		if !set {
			return nil, fmt.Errorf("secret %s is not set", name)
		}
	}
	return values, nil
}

// Prepare returns what the runtime needs to start the run. It writes the files that the
// agent wants, records the conversation, and sets Paste.
func (r *Run) Prepare(o Options) (l session.Launch, err error) {
	s := r.Record.Spec
	in := session.StartInput{Spec: s, Prompt: o.Prompt, Conversation: o.Conversation, Fresh: o.Fresh, Root: o.Root, Sandbox: r.Runtime.Traits().Sandbox}
	private := ""
	if o.Dir != "" {
		if err := os.MkdirAll(o.Dir, 0o700); err != nil {
			return l, fmt.Errorf("create the run's directory: %w", err)
		}
		dir, hook := inside(*r.Record, o)
		private, in.Private = filepath.Join(o.Dir, Private), filepath.Join(dir, Private)
		if hook != nil {
			in.Notify = append(hook, dir)
		}
	}
	start := r.Agent.Start(in)
	r.Record.Run.Conversation = cmp.Or(start.Conversation, o.Conversation)
	r.Paste, r.prompted = start.Paste, o.Prompt != "" && start.Paste == ""
	if err := writeFiles(private, start.Files); err != nil {
		return l, fmt.Errorf("write the run's settings: %w", err)
	}
	if s.Telemetry.Endpoint != "" {
		if start.Env == nil {
			start.Env = map[string]string{}
		}
		// They distinguish the sessions in telemetry.
		start.Env["OTEL_RESOURCE_ATTRIBUTES"] = "agentform.session=" + url.PathEscape(string(r.Record.Address)) + ",agentform.run=" + r.Record.Run.ID
	}
	env, secrets := Environ(s, o.Inherited, o.Secrets, o.Identity, start.Env)
	env = append(env, rundir.SessionVariable+"="+string(r.Record.Address))
	if o.ProjectDir != "" {
		env = append(env, rundir.ProjectVariable+"="+o.ProjectDir)
	}
	r.Record.Run.Credential = agent.Credential(s, agent.CredentialFacts{Salt: o.Project, ID: r.Record.ID, Env: env, Secrets: secrets})
	l = Place(*r.Record, o.Name, o.Project)
	l.RunDir, l.Argv, l.Env, l.Secrets, l.Timeout = o.Dir, start.Argv, env, secrets, s.Timeout.D()
	l.SessionFolders = r.sessionFolders(env)
	return l, nil
}

// inside returns the run's directory and the command of the hooks as the agent sees them. A
// workspace that cannot be on a volume is refused by its runtime.
func inside(rec session.Record, o Options) (dir string, hook []string) {
	root, ok := layout.Of(rec.Tree.Path)
	if hook = slices.Clone(o.Hook); !ok || rec.Spec.Runtime.Traits().HostFiles {
		return o.Dir, hook
	}
	if hook != nil {
		hook[0] = root.Program(hook[0])
	}
	return root.Run(rec.Run.ID), hook
}

// Place returns the part of a run's launch that its place is made from: all but the agent.
func Place(rec session.Record, name, project string) session.Launch {
	s := rec.Spec
	return session.Launch{
		Mark: session.Mark{Project: project, Address: rec.Address, ID: rec.ID, Run: rec.Run.ID, Hash: s.Hash()},
		Name: name, Dir: rec.Tree.Path, Stop: s.Stop, Spec: s,
	}
}

// sessionFolders returns the directories below which the agent will keep its session files, if
// this machine does not see them.
func (r *Run) sessionFolders(env []string) []string {
	traits := r.Record.Spec.Runtime.Traits()
	of := session.Lookup{Dir: r.Record.Tree.Path, Home: session.HomeInside, Env: environ.Vars(env).Map()}
	if !traits.OwnHome || traits.HostFiles && of.Env["HOME"] != "" {
		return nil
	}
	return sessionfile.Folders(r.Agent, of)
}

// writeFiles writes files, by name, to a directory that only the user can read; empty:
// the run keeps none.
func writeFiles(dir string, files map[string]string) error {
	if dir == "" || len(files) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// RandomHex returns random hex digits.
func RandomHex(digits int) string {
	b := make([]byte, (digits+1)/2)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)[:digits]
}

// UUID returns a UUID (version 4) of hex digits.
func UUID(random func(digits int) string) string {
	d := random(30)
	return d[:8] + "-" + d[8:12] + "-4" + d[12:15] + "-a" + d[15:18] + "-" + d[18:30]
}
