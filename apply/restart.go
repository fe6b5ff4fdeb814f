package apply

import (
	"context"
	"fmt"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// restart starts the agent again, in the same place when that stands. What is
// left of the old run is ended first, seen or not.
func (j *job) restart(ctx context.Context) error {
	spec := *j.change.After
	if err := j.keepPrompt(spec); err != nil {
		return err
	}
	j.observe()
	d, err := j.promptDue(spec, j.change.Fresh)
	if err != nil {
		return err
	}
	j.rec.Intent = session.Restarting
	if err := j.save(); err != nil {
		return err
	}
	if err := j.end(ctx); err != nil {
		return err
	}
	j.want(spec)
	j.newRun(d)
	if err := j.save(); err != nil {
		return err
	}
	if err := j.readyAgain(ctx); err != nil {
		return err
	}
	return j.launch(ctx, j.standing(), d)
}

// readyAgain sets a workspace up whose setup never ended well; what stands there
// otherwise stays as it is.
func (j *job) readyAgain(ctx context.Context) error {
	if j.rec.Tree.Ready {
		return nil
	}
	return j.workspace(ctx)
}

// standing is the place that the session's next run can start in; nil if there
// is none. A container that does not run is started.
func (j *job) standing() *session.Place {
	if l := j.change.Live; l != nil && (l.PlaceUp || l.Place.Container != "") {
		return &l.Place
	}
	return nil
}

// end ends the session's agent, after its turn where that is wanted, keeping
// what its screen showed. The place stands on.
func (j *job) end(ctx context.Context) error {
	if err := j.endTurn(ctx); err != nil {
		return err
	}
	interrupted := j.change.Interrupts != nil && j.change.Action != plan.Delete && j.change.Action != plan.Replace
	if l := j.change.Live; interrupted && l != nil && j.run.turnLimit(j.rec.Spec) > 0 {
		interrupted = !j.atRest(ctx, l.Mark.Run)
	}
	rt, err := j.run.runtime(j.rec.Spec)
	if err != nil {
		return err
	}
	place, runs := j.rec.Place, []string{j.rec.Run.ID}
	if l := j.change.Live; l != nil {
		place = l.Place
		j.keepTranscript(ctx, rt, place)
		if l.Mark.Run != j.rec.Run.ID {
			runs = append(runs, l.Mark.Run)
		}
	}
	for _, run := range runs {
		if run == "" {
			continue
		}
		lived := j.run.Facts(run).Alive
		if err := rt.Stop(ctx, place, run, j.rec.Spec.Stop); err != nil {
			return fmt.Errorf("stop run %s: %w", run, err)
		}
		j.ended(run, lived)
	}
	if interrupted {
		j.tell(history.Event{Kind: history.TurnInterrupted, Reason: string(j.change.Reason)})
	}
	return nil
}

// ended tells, once, how a run ended: by what is being done now, or by itself
// before. A run that is on record and was never started has no end to tell.
func (j *job) ended(run string, lived bool) {
	recorded := run == j.rec.Run.ID
	if recorded && !j.rec.Run.EndedAt.IsZero() || !lived && recorded && j.rec.Run.StartedAt.IsZero() {
		return
	}
	e := history.Event{Kind: history.RunEnded, Run: run, Reason: string(j.change.Reason)}
	if exit := j.run.Facts(run).Exit; exit != nil {
		e.Detail, e.Elapsed = exit.String(), exit.Ran
		if !lived || exit.Cause == "timeout" {
			e.Reason = exit.Cause
		}
	}
	if recorded {
		j.rec.Run.EndedAt = j.run.now()
	}
	j.tell(e)
}
