package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// endTurn returns when the agent that is about to be ended is not seen at work
// any more, or has had the time that it is given for that. One that cannot be
// seen, or that stands still, is not waited for: nothing would tell that its
// turn has ended. The error says that ctx ended first.
func (j *job) endTurn(ctx context.Context) error {
	limit := j.run.turnLimit(j.rec.Spec)
	l := j.change.Live
	if limit <= 0 || l == nil || l.Vital != session.Alive {
		return nil
	}
	for began, pause := time.Now(), 20*time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		if j.atRest(ctx, l.Mark.Run) {
			return nil
		}
		left := limit - time.Since(began)
		if left <= 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("let its turn end: %w", ctx.Err())
		case <-time.After(min(pause, left)):
		}
	}
}

// turnLimit is the longest that a session's running turn is waited for.
func (r *run) turnLimit(s session.Spec) time.Duration {
	if r.AfterTurn != nil {
		return r.AfterTurn(s)
	}
	return s.Stop.AfterTurn.D()
}

// atRest looks once whether a run's agent does not work. A runtime that does not
// answer now may answer in a moment.
func (j *job) atRest(ctx context.Context, run string) bool {
	lives, err := j.run.look(ctx, j.rec.Spec, true)
	if err != nil {
		return false
	}
	i := slices.IndexFunc(lives, func(l session.Live) bool { return l.Mark.Run == run })
	if i < 0 || lives[i].Vital != session.Alive || lives[i].Frozen {
		return true
	}
	if run != j.rec.Run.ID { // one that is not on record: its files are not known
		seen := session.Evidence{Vital: session.Alive, Title: lives[i].Title, Screen: lives[i].Screen}
		return j.run.activity.Agent(j.rec).Detect(seen).Activity != session.Working
	}
	look := j.run.activity.Read(j.rec, &lives[i], j.rec.Run.DeliveredAt, time.Now())
	return look.Detection.Activity != session.Working
}
