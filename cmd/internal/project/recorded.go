package project

import (
	"fmt"
	"slices"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/internal/remedy"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// LaunchEnviron returns the environment with which a session's agent was started, with secrets on
// request.
func LaunchEnviron(p *Project, r session.Record, secrets bool) ([]string, error) {
	env, names, err := rundir.LaunchEnv(p.RunDir(r.Run.ID))
	if err != nil || len(env) == 0 { // adopted, or its files are gone
		adapter := agent.For(r.Spec.Agent)
		inherited := session.Inherit(p.Secrets.Environ(), r.Spec, adapter)
		env, _ = launch.Environ(r.Spec, inherited, nil)
		names = nil
		for name := range inherited.Secrets {
			names = append(names, name)
		}
	}
	if !secrets {
		return env, nil
	}
	for _, name := range slices.Concat(names, r.Spec.Secrets) {
		value, err := p.Secrets.Fetch(name)
		if err != nil {
			return nil, fmt.Errorf("secret %s: %w", name, err)
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

// UseLocalRepo replaces a session's remote repository by the one that holds the manifest, for
// commands that fetch its commits.
func UseLocalRepo(p *Project, r *session.Record) error {
	if !session.Remote(r.Tree.Repo) {
		return nil
	}
	root := p.Manifest.Root
	repo := (&expr.Dirs{Repos: map[string]string{}}).Repository(root)
	if repo == "" {
		return fmt.Errorf("its repository is %s, and %s is in no repository to which its commits could be brought: push them from its workspace, or run this in a clone", r.Tree.Repo, root)
	}
	r.Tree.Repo = repo
	return nil
}

// ErrUnknown returns the error of acting on a session whose state is unknown.
func ErrUnknown(p *Project, r session.Record, d plan.Diagnosis) error {
	detail := d.Detail
	if d.Reason == plan.ReasonElsewhere && p.Stored.Shared() {
		detail = remedy.With(detail, plan.Elsewhere(r, p.Owner()))
	}
	return fmt.Errorf("%s: its state is unknown: %s", r.Address, detail)
}
