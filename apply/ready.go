package apply

import (
	"context"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/session"
)

// becomeReady waits until the session's agent can take a prompt. Whoever saves
// the record next puts it there; until then it is only told.
func (j *job) becomeReady(ctx context.Context, r *launch.Run) error {
	if !j.rec.Run.ReadyAt.IsZero() {
		return nil
	}
	return j.run.awaitReady(ctx, r)
}

// awaitReady waits until the agent of a run can take a prompt, and tells that.
func (r *run) awaitReady(ctx context.Context, of *launch.Run) error {
	began := time.Now()
	if err := of.Ready(ctx); err != nil {
		return err
	}
	rec := of.Record
	r.emit(history.Event{Address: rec.Address, ID: rec.ID, Run: rec.Run.ID, Kind: history.Ready,
		Elapsed: session.Duration(time.Since(began))}, rec)
	return nil
}

// patternless agents are known by their command alone: being alive is all that
// can be seen of them.
func patternless(a session.AgentSpec) bool { return a.Base == "" && a.Ready == "" }
