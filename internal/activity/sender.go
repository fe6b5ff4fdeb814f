package activity

import (
	"context"
	"time"

	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/session"
)

// NewSender returns a sender to a live session that verifies texts by what r reads.
func NewSender(r *Reader, rt session.Runtime, rec session.Record, live session.Live) input.Sender {
	return input.Sender{
		Runtime: rt, Location: live.Location, Agent: r.Agent(rec), BootTimeout: rec.Spec.Agent.ReadyTimeout.D(),
		Observe: func(ctx context.Context) (input.Snapshot, error) {
			lives, err := rt.Observe(ctx, true)
			if err != nil {
				return input.Snapshot{}, err
			}
			for i := range lives {
				if l := &lives[i]; l.Mark.Run == live.Mark.Run {
					return r.Snapshot(rec, l, r.Read(rec, l, rec.Run.DeliveredAt, time.Now())), nil
				}
			}
			return input.Snapshot{}, session.ErrGone
		},
	}
}

// Snapshot returns what a sender needs to know of a session that was read.
func (r *Reader) Snapshot(rec session.Record, l *session.Live, read Look) input.Snapshot {
	return input.Snapshot{Screen: l.Screen, Detection: read.Detection, Transcript: read.Transcript, HookEvents: r.Heard([]string{rec.Run.ID})}
}
