package hub

import (
	"context"

	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/pr"
	"github.com/agentform/agentform/session"
)

// newPulls returns what watches the pull requests of the hub's sessions, besides its looks.
func newPulls(h *Hub) *pr.Scheduler {
	return pr.NewScheduler(pr.Access{
		Reach:  newReach(h),
		Source: pr.OnForge(h.cfg.Forge),
		Record: func(ctx context.Context, r session.Record, p session.PullRequest, landed *session.Landed) error {
			return whenFree(ctx, func() error { return engine.RecordPR(ctx, h.engine, r, p, landed) })
		},
	}, &h.work, h.Wake)
}
