package preflight

import (
	"context"
	"sync"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

const maxChecks = 8

// KeptWork adds to a plan, for its approval, the work that keeps workspaces. It skips clones in
// containers, which only a container can examine.
func KeptWork(ctx context.Context, made *plan.Plan) {
	var all sync.WaitGroup
	slots := make(chan struct{}, maxChecks)
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
