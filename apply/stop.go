package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// pause lets the session stand: by the mode that the wanted spec says. A prompt
// that is still to be typed is typed first, since a paused session takes none.
func (j *job) pause(ctx context.Context) error {
	j.takeUp()
	rt, err := j.run.runtime(j.rec.Spec)
	if err != nil {
		return err
	}
	if err := j.complete(ctx); err != nil {
		return err
	}
	if err := rt.Pause(ctx, j.rec.Place, j.rec.Run.ID, j.rec.Spec.Pause.Mode); err != nil {
		return err
	}
	return j.settle()
}

// resume ends a pause.
func (j *job) resume(ctx context.Context) error {
	j.takeUp()
	rt, err := j.run.runtime(j.rec.Spec)
	if err != nil {
		return err
	}
	if err := rt.Resume(ctx, j.rec.Place, j.rec.Run.ID); err != nil {
		return err
	}
	if err := j.complete(ctx); err != nil {
		return err
	}
	return j.settle()
}

// stop ends the session's agent and takes its place away. Its record and its
// workspace stay.
func (j *job) stop(ctx context.Context) error {
	j.observe()
	if err := intend(j, session.Stopping); err != nil {
		return err
	}
	if err := j.clear(ctx); err != nil {
		return err
	}
	j.rec.Place = session.Place{}
	if j.change.After != nil {
		switch err := j.keepPrompt(*j.change.After); {
		case err == nil:
			j.want(*j.change.After)
		case !state.Unwritable(err): // else what it is to be at its next start is for the next apply to say
			return err
		}
	}
	j.idle()
	return settleEnded(j)
}

// remove takes a session away: agent, place, workspace where that is wanted and
// safe, and, once it has been seen to be gone, its record.
func (j *job) remove(ctx context.Context) error {
	if err := intend(j, session.Removing); err != nil {
		return err
	}
	if err := j.clear(ctx); err != nil {
		return err
	}
	j.dropWorkspace(ctx)
	if j.change.Action == plan.Delete {
		j.idle()
	}
	return forgetEnded(j)
}

// forget takes a session off the record.
func (j *job) forget() error {
	if err := j.run.Store.Delete(j.rec.Address); err != nil {
		return fmt.Errorf("take the session off the record: %w", err)
	}
	j.run.dropRuns(j.rec)
	j.kept = false
	return nil
}

// replace makes a session anew under its address: another one, with an identity
// of its own.
func (j *job) replace(ctx context.Context) error {
	if err := j.remove(ctx); err != nil {
		return err
	}
	old := j.rec
	j.rec = j.fresh()
	j.rec.Tree = old.Tree // a workspace that is kept stays whose it was
	spec := j.rec.Spec
	return j.begin(ctx, spec, delivery{prompt: takesPrompt(spec)})
}

// clear ends the session's agent, takes its place away, and looks that it is
// gone.
func (j *job) clear(ctx context.Context) error {
	if err := j.end(ctx); err != nil {
		return err
	}
	place := j.rec.Place
	if j.change.Live != nil {
		place = j.change.Live.Place
	}
	if place == (session.Place{}) {
		return nil
	}
	rt, err := j.run.runtime(j.rec.Spec)
	if err != nil {
		return err
	}
	if err := rt.Remove(ctx, place); err != nil {
		kind := "tmux session"
		if place.Container != "" {
			kind = "container"
		}
		return fmt.Errorf("its agent has ended, but its %s could not be removed (repeat the command once that is possible): %w", kind, err)
	}
	lives, err := j.run.look(ctx, j.rec.Spec, false)
	if err != nil {
		return fmt.Errorf("look that it is gone: %w", err)
	}
	if slices.ContainsFunc(lives, func(l session.Live) bool {
		return !l.Foreign && l.Mark.ID == j.rec.ID && (place.Container == "" || l.Place.Container == place.Container)
	}) {
		return errors.New("it was removed and is still there")
	}
	return nil
}
