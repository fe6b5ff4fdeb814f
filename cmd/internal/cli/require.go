package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// lacking lists what sessions need of this machine and do not find: the commands
// of their agents, their logins and their secrets. Each is told once, with the sessions
// that need it. It is a warning while nothing is to be started, and an error before;
// then the secrets are read. A missing login is a warning always.
func (a *app) lacking(specs []session.Spec, how session.Severity) []session.Diagnostic {
	type lack struct {
		how             session.Severity
		summary, detail string
	}
	needed := map[lack][]session.Address{}
	var order []lack
	search := apply.Search{}
	miss := func(by session.Address, l lack) {
		if needed[l] == nil {
			order = append(order, l)
		}
		needed[l] = append(needed[l], by)
	}
	for _, s := range specs {
		for _, name := range s.Secrets {
			if err := a.lackingSecret(name, how); err != nil {
				miss(s.Address, lack{how, fmt.Sprintf("secret %s is not set", name), err.Error()})
			}
		}
		if s.Runtime.Traits().OwnHome {
			continue // the command is in the image, which apply looks into
		}
		switch command, err := a.lackingCommand(s, search); {
		case err == nil:
			if why, remedy := missingLogin(a, s); why != "" {
				miss(s.Address, lack{session.Warning, fmt.Sprintf("agent %q is not logged in", s.Agent.Name), why + "\n" + remedy})
			}
		case strings.Contains(command, "/"), command == "":
			miss(s.Address, lack{how, fmt.Sprintf("agent %q cannot be started", s.Agent.Name), err.Error()})
		default:
			miss(s.Address, lack{how, fmt.Sprintf("agent %q: command %q is not installed", s.Agent.Name, command),
				"it is not on PATH: install it, or give agent." + s.Agent.Name + " another command"})
		}
	}
	var found []session.Diagnostic
	for _, l := range order {
		d := session.Diagnostic{Severity: l.how, Summary: l.summary, Detail: l.detail + "\nneeded by " + names(needed[l])}
		if len(needed[l]) == 1 {
			d.Address, d.Detail = needed[l][0], l.detail
		}
		d.Range = declaredAt(a.open(), needed[l][0])
		found = append(found, d)
	}
	return append(found, a.obstacles(specs)...)
}

// lackingSecret says what a secret lacks; nil: nothing. Only what is about to be
// started is worth reading it.
func (a *app) lackingSecret(name string, how session.Severity) error {
	s := a.secretsOf(a.open())
	if how != session.Error {
		return s.lacking(name)
	}
	_, err := s.value(name)
	return err
}

// lackingCommand says why the program that a session would be started with
// cannot be; nil: it can. What stands in apply's way is said in its words.
func (a *app) lackingCommand(s session.Spec, search apply.Search) (command string, err error) {
	start := agent.For(s.Agent).Start(session.StartInput{Spec: s})
	env := slices.Clone(a.env.Environ)
	for _, layer := range []map[string]string{start.Env, s.Agent.Env, s.Env} {
		if path, own := layer["PATH"]; own {
			env = append(env, "PATH="+path)
		}
	}
	if len(start.Argv) > 0 {
		command = start.Argv[0]
	}
	return command, search.Startable(s, start.Argv, env)
}

func names(addresses []session.Address) string {
	var words []string
	for _, a := range addresses {
		words = append(words, string(a))
	}
	return strings.Join(words, ", ")
}

// starting are the specs of what the plan brings to life.
func starting(p plan.Plan) []session.Spec {
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

// programs lists which of tmux and git is needed and not there: sessions live
// in tmux, and git makes the workspaces of all that are not plain folders.
func (a *app) programs(specs []session.Spec, how session.Severity) []session.Diagnostic {
	var found []session.Diagnostic
	need := func(name, why, version string) {
		if _, there := a.env.findCommand(name, a.env.Dir); !there {
			found = append(found, session.Diagnostic{Severity: how, Summary: name + " is not on PATH",
				Detail: fmt.Sprintf("%s: install %s %s or later (apt-get install %s, brew install %s)", why, name, version, name, name)})
		}
	}
	if len(specs) == 0 || slices.ContainsFunc(specs, func(s session.Spec) bool { return !s.Runtime.Traits().OwnHome }) {
		need("tmux", "sessions live in it", "3.2")
	}
	if slices.ContainsFunc(specs, func(s session.Spec) bool { return s.Workspace.Mode != session.Plain }) {
		need("git", "workspaces are made with it", "2.30")
	}
	return found
}

// tmux makes sure that there is tmux, for a command that speaks to sessions; those
// in containers have their own.
func (a *app) tmux(specs ...session.Spec) error {
	for _, lack := range a.programs(specs, session.Error) {
		if strings.HasPrefix(lack.Summary, "tmux") {
			return lack
		}
	}
	return nil
}

// startable lists what this machine lacks for what the plan is to start.
func (a *app) startable(ctx context.Context, p plan.Plan, how session.Severity) []session.Diagnostic {
	specs := starting(p)
	if len(specs) == 0 {
		return nil
	}
	found := append(a.programs(specs, how), a.withoutCommit(ctx, specs, how)...)
	found = append(found, missingBases(ctx, a.open(), p)...)
	if how != session.Error { // apply looks into the images itself
		found = append(found, missingImages(ctx, a, p.Lineage, specs)...)
	}
	return append(found, a.lacking(specs, how)...)
}

// withoutCommit returns the repositories without a commit in which a worktree is needed.
func (a *app) withoutCommit(ctx context.Context, specs []session.Spec, how session.Severity) []session.Diagnostic {
	var found []session.Diagnostic
	looked := map[string]bool{}
	for _, s := range specs {
		repo := s.Workspace.Repo
		if s.Workspace.Mode != session.Worktree && s.Workspace.Mode != session.Clone || looked[repo] {
			continue
		}
		looked[repo] = true
		if has, err := git.HasCommits(ctx, repo); err == nil && !has { // what else is wrong with it is apply's to say
			found = append(found, session.Diagnostic{Severity: how, Summary: fmt.Sprintf("repository %s has no commit yet", repo),
				Detail: "a branch begins at a commit. This makes one:\n  " + firstCommit})
		}
	}
	return found
}

// firstCommit is how a repository gets a commit to begin from.
const firstCommit = "git commit --allow-empty -m init"
