package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/session"
)

// dotfile is a file of the person's own that lacks what an agent looks for in it.
type dotfile struct {
	agent.DotfileFix
	agent  string // the name of the first agent that looks for it
	text   []byte // with it
	err    error  // why that is not known
	needed []session.Address
}

// dotfiles are those of the agents of some sessions, each file once.
func (a *app) dotfiles(specs []session.Spec) []*dotfile {
	var all []*dotfile
	known := map[string]*dotfile{}
	for _, s := range specs {
		if s.Runtime.Traits().OwnHome {
			continue // a container has a home of its own
		}
		for _, fix := range agent.DotfileFixes(s, a.whereabouts(s)) {
			if d := known[fix.Path]; d != nil {
				d.needed = append(d.needed, s.Address)
				continue
			}
			d := &dotfile{DotfileFix: fix, agent: s.Agent.Name, needed: []session.Address{s.Address}}
			var changed bool
			now, err := os.ReadFile(fix.Path)
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				d.text, changed, err = fix.Apply(now)
			}
			if d.err = err; changed || err != nil {
				known[fix.Path] = d
				all = append(all, d)
			}
		}
	}
	return all
}

// whereabouts are the home and the environment that a session's agent would have,
// and of its secrets those that are variables here.
func (a *app) whereabouts(s session.Spec) session.Lookup {
	declared := map[string]string{}
	held := a.secretsOf(a.open())
	for _, name := range s.Secrets {
		if value, set := a.env.lookup(held.variable(name)); set {
			declared[name] = value
		}
	}
	inherited, secrets := session.Inherit(held.base(), s, agent.For(s.Agent)).With(declared, s.Agent.Env, s.Env)
	env := maps.Clone(secrets)
	for _, kv := range inherited {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return session.Lookup{Dir: s.Workspace.Path, Home: env["HOME"], Env: env}
}

// obstacles are what will keep agents from starting, though they are installed:
// they are no reason not to try, so each is a warning.
func (a *app) obstacles(specs []session.Spec) []session.Diagnostic {
	var found []session.Diagnostic
	told := map[string]bool{}
	for _, s := range specs {
		why := agent.Refusal(session.StartInput{Spec: s, Root: os.Geteuid() == 0, Sandbox: s.Runtime.Traits().Sandbox})
		if why != "" && !told[s.Agent.Name] {
			told[s.Agent.Name] = true
			found = append(found, session.Diagnostic{Severity: session.Warning, Summary: fmt.Sprintf("agent %q will not start", s.Agent.Name), Detail: why, Address: s.Address})
		}
	}
	for _, d := range a.dotfiles(specs) {
		found = append(found, session.Diagnostic{Severity: session.Warning, Summary: fmt.Sprintf("agent %q will ask before it works", d.agent), Detail: d.Problem + "\n" + d.remedy() + "\nneeded by " + names(d.needed)})
	}
	return found
}

func (d *dotfile) remedy() string {
	if d.err != nil {
		return fmt.Sprintf("what it looks for cannot be added: %v", d.err)
	}
	return "agentform doctor --fix adds what it looks for to " + d.Path
}

// fix writes what agents look for into the person's own files, and says so.
func (x *examination) fix() {
	for _, d := range x.app.dotfiles(x.project.manifest.Sessions) {
		err := d.err
		if err == nil {
			err = d.write()
		}
		if err != nil {
			x.add(view.Fault, d.Path, err.Error(), "mend the file, and run agentform doctor --fix again")
			continue
		}
		x.add(view.Fine, d.Path, "written. Without what was added, "+d.Problem, "")
	}
}

// write replaces the file at once; a link stays one, and rights stay as they are.
func (d *dotfile) write() error {
	path := d.Path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return renameio.WriteFile(path, d.text, 0o600, renameio.WithExistingPermissions())
}
