package cli

import (
	"context"
	"sync"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// manyLooks is the number of workspaces that are examined at once.
const manyLooks = 8

// keptWork fills in the work that keeps the workspaces of the sessions that a plan
// destroys, for the person who is about to approve it. It changes nothing and decides
// nothing: destroy looks again. The clones of containers are not examined, because that
// takes a container.
func keptWork(ctx context.Context, made *plan.Plan) {
	var all sync.WaitGroup
	slots := make(chan struct{}, manyLooks)
	for i := range made.Changes {
		c := &made.Changes[i]
		if c.Action != plan.Delete || c.Before == nil {
			continue
		}
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			c.Keeps = workIn(ctx, *c.Before)
		})
	}
	all.Wait()
}

// workIn returns what a session's workspace holds that is nowhere else; empty: nothing,
// or that is not known.
func workIn(ctx context.Context, r session.Record) string {
	t := r.Tree
	var risk git.Risk
	var err error
	switch {
	case !t.Created:
		return ""
	case t.Mode == session.Worktree:
		risk, err = git.AtRisk(ctx, t.Path, t.Repo)
	case t.Mode == session.Clone && r.Spec.Runtime.Traits().HostGit:
		risk, err = git.CloneRisk(ctx, t.Path, t.Repo, git.Here(t.Path))
	}
	if err != nil || !risk.Any() {
		return ""
	}
	return risk.String()
}
