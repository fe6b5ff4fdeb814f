package hub

import (
	"context"

	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/pr"
	"github.com/agentform/agentform/internal/verify"
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

// pulled returns what a snapshot shows of the sessions whose pull requests are watched.
func (s *Snapshot) pulled() (all []verify.Seen) {
	for _, k := range s.Sessions {
		if r := k.Record; pr.Watched(*r) {
			all = append(all, verify.Seen{Record: *r, Live: k.Live, Checkout: *k.Checkout, Doing: s.input.Doing[r.Address]})
		}
	}
	return all
}
