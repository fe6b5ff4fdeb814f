package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// declaredAt returns where a session is declared; nil: in no manifest.
func declaredAt(p *project, a session.Address) *session.Range {
	if at, known := p.manifest.Ranges[a]; known {
		return &at
	}
	return nil
}

// missingBases lists the bases that branches which a plan makes are to start at, and
// that do not exist: each once, where it is declared.
func missingBases(ctx context.Context, p *project, made plan.Plan) []session.Diagnostic {
	var found []session.Diagnostic
	told := map[git.BaseError]bool{}
	for _, c := range made.Changes {
		s := c.After
		creates := c.Action == plan.Create || c.Action == plan.Replace || c.Holds == plan.Create
		if s == nil || !creates || s.Workspace.Base == "" || s.Workspace.Mode != session.Worktree && s.Workspace.Mode != session.Clone {
			continue
		}
		if has, err := git.HasCommits(ctx, s.Workspace.Repo); err != nil || !has {
			continue // that is reported as such
		}
		var missing *git.BaseError
		if err := git.CheckBase(ctx, s.Workspace.Repo, s.Branch, s.Workspace.Base); !errors.As(err, &missing) || told[*missing] {
			continue // what else is wrong with the repository is apply's to say
		}
		told[*missing] = true
		d := session.Diagnostic{Severity: session.Error, Address: c.Address, Summary: "base does not exist", Detail: missing.Error(), Range: declaredAt(p, c.Address)}
		if at, known := p.manifest.Bases[c.Address]; known {
			d.Range = &at
		}
		found = append(found, d)
	}
	return found
}

// missingImages warns of the images that sessions need and that are not there. An
// engine that does not answer is reported by the plan.
func missingImages(ctx context.Context, a *app, lineage string, specs []session.Spec) []session.Diagnostic {
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
		rt, err := a.runtime(a.open(), lineage, runtimes[key], toLook)
		if err != nil {
			continue
		}
		engine, is := rt.(*docker.Runtime)
		if !is {
			continue
		}
		var missing *docker.ImageError
		if err := docker.CheckImage(ctx, engine, key[1]); errors.As(err, &missing) {
			found = append(found, session.Diagnostic{Severity: session.Warning, Address: needed[key][0], Range: declaredAt(a.open(), needed[key][0]),
				Summary: fmt.Sprintf("image %s is not there", key[1]), Detail: missing.Error() + "\nneeded by " + names(needed[key])})
		}
		engine.Close()
	}
	return found
}
