// Package preflight reports what sessions need and this machine lacks: programs, logins, secrets,
// commits and images.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/cmd/internal/secret"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/kubernetes"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Host is this machine in the context of a project.
type Host struct {
	Environ  environ.Vars
	Dir      string // start of relative entries of PATH
	Secrets  *secret.Store
	Manifest *config.Manifest
	Runtime  func(lineage string, spec session.RuntimeSpec) (session.Runtime, error)
}

// FirstCommit is the command that creates a repository's first commit.
const FirstCommit = "git commit --allow-empty -m init"

// Plan returns what the machine lacks for the sessions that a plan starts, and the bases that it
// sets but do not exist.
func (h Host) Plan(ctx context.Context, p plan.Plan, how session.Severity) []session.Diagnostic {
	bases, specs := h.missingBases(ctx, p), Starting(p)
	if len(specs) == 0 {
		return bases
	}
	found := append(h.Programs(specs, how), h.withoutCommit(ctx, specs, how)...)
	found = append(found, bases...)
	if how != session.Error { // apply inspects the images itself
		found = append(found, h.missingImages(ctx, p.Lineage, specs)...)
	}
	found = append(found, h.missingInClusters(ctx, p, specs, how)...)
	return append(found, h.Sessions(specs, how)...)
}

// Starting returns the specs of the sessions that a plan starts.
func Starting(p plan.Plan) []session.Spec {
	var specs []session.Spec
	for _, c := range p.Changes {
		switch {
		case c.After == nil:
		case c.Action == plan.Create, c.Action == plan.Restart, c.Action == plan.Replace,
			c.Action == plan.Adopt && (c.Then == plan.Restart || c.Then == plan.Replace):
			specs = append(specs, *c.After)
		}
	}
	return specs
}

// Sessions returns the commands, logins and secrets that sessions lack. It reads secrets if how is
// Error. A missing login is always a warning.
func (h Host) Sessions(specs []session.Spec, how session.Severity) []session.Diagnostic {
	type problem struct {
		how             session.Severity
		summary, detail string
	}
	needed := map[problem][]session.Address{}
	var order []problem
	search, here := apply.Search{}, h.machine()
	report := func(by session.Address, how session.Severity, detail, format string, args ...any) {
		p := problem{how, fmt.Sprintf(format, args...), detail}
		if needed[p] == nil {
			order = append(order, p)
		}
		needed[p] = append(needed[p], by)
	}
	for _, s := range specs {
		for _, name := range s.Secrets {
			err := h.Secrets.Missing(name)
			if how == session.Error { // it is about to be used
				_, err = h.Secrets.Value(name)
			}
			if err != nil {
				report(s.Address, how, err.Error(), "secret %s is not set", name)
			}
		}
		if s.Runtime.Traits().OwnHome {
			continue // apply looks for the command in the image
		}
		switch command, err := h.command(s, search); {
		case err == nil:
			if why, remedy := agent.MissingLogin(s, here.login(s)); why != "" {
				report(s.Address, session.Warning, why+"\n"+remedy, "agent %q is not logged in", s.Agent.Name)
			}
		case strings.Contains(command, "/"), command == "":
			report(s.Address, how, err.Error(), "agent %q cannot be started", s.Agent.Name)
		default:
			report(s.Address, how, "it is not on PATH: install it, or set another command in agent."+s.Agent.Name,
				"agent %q: command %q is not installed", s.Agent.Name, command)
		}
	}
	var found []session.Diagnostic
	for _, p := range order {
		d := session.Diagnostic{Severity: p.how, Summary: p.summary, Detail: p.detail + neededBy(needed[p]), Range: h.declared(needed[p][0])}
		if len(needed[p]) == 1 {
			d.Address, d.Detail = needed[p][0], p.detail
		}
		found = append(found, d)
	}
	return append(found, here.obstacles(specs)...)
}

// command also returns why apply cannot start the program.
func (h Host) command(s session.Spec, search apply.Search) (command string, err error) {
	start, env := h.start(s)
	if len(start.Argv) > 0 {
		command = start.Argv[0]
	}
	return command, search.Startable(s, start.Argv, env)
}

// start also returns this environment with the variables that the session sets.
func (h Host) start(s session.Spec) (session.Start, environ.Vars) {
	start := agent.For(s.Agent).Start(session.StartInput{Spec: s})
	env := slices.Clone(h.Environ)
	for _, layer := range []map[string]string{start.Env, s.Agent.Env, s.Env} {
		for name, value := range layer {
			env = append(env, name+"="+value)
		}
	}
	return start, env
}

func neededBy(addresses []session.Address) string {
	words := make([]string, len(addresses))
	for i, a := range addresses {
		words[i] = string(a)
	}
	return "\nneeded by " + strings.Join(words, ", ")
}

func (h Host) declared(a session.Address) *session.Range {
	if at, known := h.Manifest.Ranges[a]; known {
		return &at
	}
	return nil
}

func (m *machine) obstacles(specs []session.Spec) []session.Diagnostic {
	var found []session.Diagnostic
	reported := map[string]bool{}
	for _, s := range specs {
		why := agent.Refusal(session.StartInput{Spec: s, Root: os.Geteuid() == 0, Sandbox: s.Runtime.Traits().Sandbox})
		if why != "" && !reported[s.Agent.Name] {
			reported[s.Agent.Name] = true
			found = append(found, session.Diagnostic{Severity: session.Warning, Summary: fmt.Sprintf("agent %q will not start", s.Agent.Name), Detail: why, Address: s.Address})
		}
	}
	for _, d := range m.dotfiles(specs) {
		remedy := "agentform doctor --fix adds the missing settings to " + d.Path
		if d.Err != nil {
			remedy = fmt.Sprintf("the missing settings cannot be added: %v", d.Err)
		}
		found = append(found, session.Diagnostic{Severity: session.Warning, Summary: fmt.Sprintf("agent %q will ask before it starts working", d.agent), Detail: d.Problem + "\n" + remedy + neededBy(d.needed)})
	}
	return found
}

// Programs returns which of tmux and git are needed and not on PATH.
func (h Host) Programs(specs []session.Spec, how session.Severity) []session.Diagnostic {
	var found []session.Diagnostic
	need := func(name, why, version string) {
		if _, there := h.Environ.Program(name, h.Dir); !there {
			found = append(found, session.Diagnostic{Severity: how, Summary: name + " is not on PATH",
				Detail: fmt.Sprintf("%s: install %s %s or later (apt-get install %s, brew install %s)", why, name, version, name, name)})
		}
	}
	if len(specs) == 0 || slices.ContainsFunc(specs, func(s session.Spec) bool { return !s.Runtime.Traits().OwnHome }) {
		need("tmux", "sessions run in it", "3.2")
	}
	if slices.ContainsFunc(specs, func(s session.Spec) bool { return s.Workspace.Mode != session.Plain }) {
		need("git", "worktrees need it", "2.30")
	}
	return found
}

// Tmux returns an error if sessions need tmux and it is not on PATH.
func (h Host) Tmux(specs ...session.Spec) error {
	for _, d := range h.Programs(specs, session.Error) {
		if strings.HasPrefix(d.Summary, "tmux") {
			return d
		}
	}
	return nil
}

// hasOwnBranch reports whether a branch is created in a repository of this machine.
func hasOwnBranch(w session.Workspace) bool {
	return w.Mode == session.Worktree || w.Mode == session.Clone && !session.Remote(w.Repo)
}

func (h Host) withoutCommit(ctx context.Context, specs []session.Spec, how session.Severity) []session.Diagnostic {
	var found []session.Diagnostic
	checked := map[string]bool{}
	for _, s := range specs {
		repo := s.Workspace.Repo
		if !hasOwnBranch(s.Workspace) || checked[repo] {
			continue
		}
		checked[repo] = true
		if has, err := git.HasCommits(ctx, repo); err == nil && !has { // apply reports other errors
			found = append(found, session.Diagnostic{Severity: how, Summary: fmt.Sprintf("repository %s has no commit yet", repo),
				Detail: "a branch starts at a commit. Create one with:\n  " + FirstCommit})
		}
	}
	return found
}

func (h Host) missingBases(ctx context.Context, made plan.Plan) []session.Diagnostic {
	var found []session.Diagnostic
	reported := map[git.BaseError]bool{}
	for _, c := range made.Changes {
		s := c.After
		creates := c.Action == plan.Create || c.Action == plan.Replace || c.Holds == plan.Create
		changed := slices.ContainsFunc(c.Fields, func(f plan.Field) bool { return f.Path == "workspace.base" })
		if s == nil || !creates && !changed || s.Workspace.Base == "" || !hasOwnBranch(s.Workspace) {
			continue
		}
		if has, err := git.HasCommits(ctx, s.Workspace.Repo); err != nil || !has {
			continue // withoutCommit reports it
		}
		branch := s.Branch
		if changed {
			branch = "" // it exists, and would land in the base
		}
		missing, is := errors.AsType[*git.BaseError](git.CheckBase(ctx, s.Workspace.Repo, branch, s.Workspace.Base))
		if !is || reported[*missing] {
			continue
		}
		reported[*missing] = true
		d := session.Diagnostic{Severity: session.Error, Address: c.Address, Summary: "base does not exist", Detail: missing.Error(), Range: h.declared(c.Address)}
		if at, known := h.Manifest.Bases[c.Address]; known {
			d.Range = &at
		}
		found = append(found, d)
	}
	return found
}

// missingImages leaves an unresponsive engine to the plan.
func (h Host) missingImages(ctx context.Context, lineage string, specs []session.Spec) []session.Diagnostic {
	needed := map[[2]string][]session.Address{} // by engine and image
	runtimes := map[[2]string]session.RuntimeSpec{}
	for _, s := range specs {
		if d := s.Runtime.Docker; d != nil {
			key := [2]string{s.Runtime.Engine(), d.Image}
			needed[key] = append(needed[key], s.Address)
			runtimes[key] = s.Runtime
		}
	}
	var found []session.Diagnostic
	for _, key := range slices.SortedFunc(maps.Keys(needed), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		rt, _ := h.Runtime(lineage, runtimes[key])
		engine, is := rt.(*docker.Runtime)
		if !is {
			continue
		}
		if missing, is := errors.AsType[*docker.ImageError](docker.CheckImage(ctx, engine, key[1])); is {
			found = append(found, session.Diagnostic{Severity: session.Warning, Address: needed[key][0], Range: h.declared(needed[key][0]),
				Summary: fmt.Sprintf("image %s does not exist", key[1]), Detail: missing.Error() + neededBy(needed[key])})
		}
		engine.Close()
	}
	return found
}

// missingInClusters leaves an unresponsive cluster to the plan.
func (h Host) missingInClusters(ctx context.Context, p plan.Plan, specs []session.Spec, how session.Severity) []session.Diagnostic {
	in := map[string][]session.Spec{} // by cluster and namespace
	for _, s := range specs {
		if s.Runtime.Kubernetes != nil {
			in[s.Runtime.Engine()] = append(in[s.Runtime.Engine()], s)
		}
	}
	created := map[session.Address]bool{}
	for _, c := range p.Changes {
		created[c.Address] = c.Action == plan.Create
	}
	var found []session.Diagnostic
	for _, key := range slices.Sorted(maps.Keys(in)) {
		rt, _ := h.Runtime(p.Lineage, in[key][0].Runtime)
		cluster, is := rt.(*kubernetes.Runtime)
		if !is {
			continue
		}
		for _, s := range kubernetes.Shortages(ctx, cluster, in[key], func(a session.Address) bool { return created[a] }) {
			d := session.Diagnostic{Severity: session.Warning, Address: s.Needed[0], Range: h.declared(s.Needed[0]), Summary: s.Summary, Detail: s.Detail}
			if len(s.Needed) > 1 {
				d.Detail += neededBy(s.Needed)
			}
			if s.Final {
				d.Severity = how
			}
			found = append(found, d)
		}
		cluster.Close()
	}
	return found
}
