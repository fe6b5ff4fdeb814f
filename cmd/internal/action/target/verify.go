package target

import (
	"context"
	"time"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/verify"
	"github.com/agentform/agentform/session"
)

// Verifications returns how verifications of a command reach the sessions of a snapshot.
func Verifications(p *project.Project, o *fleet.Observer, s *fleet.Snapshot, e *engine.Engine) verify.Access {
	return verify.Access{
		Reach: verify.Reach{
			Activity: o.Activity, Folder: p.SessionDir, By: p.Who().User, Emit: func(history.Event) {}, Now: time.Now, Log: p.Log, Open: o.Open(s),
		},
		Record: func(ctx context.Context, r session.Record, v session.Verified) error {
			return engine.RecordVerified(ctx, e, r, v)
		},
	}
}

// Verifiable returns what a look shows of a session whose work is verified.
func Verifiable(k status.Input) verify.Seen {
	return verify.Seen{Record: *k.Record, Live: k.Live, Checkout: *k.Checkout, Doing: k.Doing()}
}
