package landing

import (
	"context"

	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/session"
)

// Refresh merges the base into the branch of one session, or asks its agent to.
func (f *Fleet) Refresh(ctx context.Context, l *land.Lander, dryRun bool) (land.Refreshed, error) {
	r := l.Record
	method := land.Merge
	if r.Spec.Refresh.Method == string(land.Rebase) {
		method = land.Rebase
	}
	done, err := l.Refresh(ctx, method, dryRun)
	if err != nil || dryRun {
		return done, err
	}
	if len(done.Conflicts) > 0 && r.Spec.Refresh.OnConflict == session.ConflictSends && l.Doing != "" {
		err := l.Offer(ctx, done)
		if err == nil {
			err = f.send(ctx, r, done.Request())
		}
		done.Sent = err == nil
		return done, err
	}
	if done.Done && !done.Already {
		f.note(r, history.Event{Kind: history.Refreshed, Old: done.From, New: done.To, Reason: string(done.Method), Detail: done.Detail()})
	}
	return done, nil
}

// send sends a text to the agent of a session.
func (f *Fleet) send(ctx context.Context, r session.Record, text string) error {
	targets, err := target.Of(ctx, f.Project, []session.Record{r}, r.Address)
	if err != nil {
		return err
	}
	return targets[0].Send(ctx, f.Project.Activity(), []session.Input{{Text: text}}, false).Err
}
