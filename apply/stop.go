package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// stopper ends agents and removes the places of sessions.
type stopper struct {
	config   *Applier
	runtimes *runtimes
	reader   *activity.Reader
	journal  *journal
}

// end ends the session's agent, after its turn if that is wanted, and keeps its screen.
// The place remains.
func (s *stopper) end(ctx context.Context, e *entry) error {
	c, live := e.change, e.change.Live
	limit := e.rec.Spec.Stop.AfterTurn.D()
	if s.config.AfterTurn != nil {
		limit = s.config.AfterTurn(e.rec.Spec)
	}
	interrupted := c.Interrupts != nil && c.Action != plan.Delete && c.Action != plan.Replace
	if limit > 0 && live != nil {
		rests, err := s.awaitTurn(ctx, e.rec, *live, limit)
		if err != nil {
			return err
		}
		interrupted = interrupted && !rests
	}
	rt, err := s.runtimes.of(e.rec.Spec)
	if err != nil {
		return err
	}
	place, runs := e.rec.Location, []string{e.rec.Run.ID}
	if live != nil {
		place = live.Location
		s.keepScreen(ctx, e, rt, place)
		if live.Mark.Run != e.rec.Run.ID {
			runs = append(runs, live.Mark.Run)
		}
	}
	for _, run := range runs {
		if run == "" {
			continue
		}
		lived := s.config.Facts(run).Alive
		if err := rt.Stop(ctx, place, run, e.rec.Spec.Stop); err != nil {
			return fmt.Errorf("stop run %s: %w", run, err)
		}
		s.reportEnd(e, run, lived)
	}
	if interrupted {
		e.emit(history.Event{Kind: history.TurnInterrupted, Reason: string(c.Reason), Detail: c.Detail})
	}
	return nil
}

// reportEnd emits, once, how a run ended. One that never started has no end.
func (s *stopper) reportEnd(e *entry, run string, lived bool) {
	recorded := run == e.rec.Run.ID
	if recorded && !e.rec.Run.EndedAt.IsZero() || !lived && recorded && e.rec.Run.StartedAt.IsZero() {
		return
	}
	x := history.Event{Kind: history.RunEnded, Run: run, Reason: string(e.change.Reason)}
	if exit := s.config.Facts(run).Exit; exit != nil {
		x.Detail, x.Elapsed = exit.String(), exit.Ran
		if !lived || exit.Cause == session.CauseTimeout {
			x.Reason = string(exit.Cause)
		}
	}
	if recorded {
		e.rec.Run.EndedAt = s.journal.now()
		if s.config.Ended != nil {
			s.config.Ended(e.rec)
		}
	}
	e.emit(x)
}

// awaitTurn waits until the agent no longer works, at most as long as the limit. An agent
// that cannot be seen, or is frozen, counts as resting: nothing would show it.
func (s *stopper) awaitTurn(ctx context.Context, rec session.Record, l session.Live, limit time.Duration) (rests bool, err error) {
	if l.Liveness != session.Alive {
		return true, nil
	}
	var course turn.Course
	for began, pause := time.Now(), 20*time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		if s.interruptible(ctx, rec, l.Mark.Run, &course) {
			return true, nil
		}
		left := limit - time.Since(began)
		if left <= 0 {
			return false, nil
		}
		if !sleep.For(ctx, min(pause, left)) {
			return false, fmt.Errorf("wait for its turn to end: %w", ctx.Err())
		}
	}
}

// interruptible reports whether ending a run's agent now interrupts no work.
func (s *stopper) interruptible(ctx context.Context, rec session.Record, run string, course *turn.Course) bool {
	lives, err := s.runtimes.lives(ctx, rec.Spec, true)
	if err != nil {
		return false
	}
	i := slices.IndexFunc(lives, func(l session.Live) bool { return l.Mark.Run == run })
	if i < 0 || lives[i].Liveness != session.Alive || lives[i].Frozen {
		return true
	}
	l, now := &lives[i], time.Now()
	var look activity.Look
	if run == rec.Run.ID {
		look = s.reader.Read(rec, l, rec.Run.DeliveredAt, now)
	} else { // it is not in the state, so that its files are not known
		look.Detection = s.reader.Agent(rec).Detect(session.Evidence{Liveness: session.Alive, Title: l.Title, Screen: l.Screen})
	}
	course.See(activity.TurnLook(rec, look, true, l.MovedAt, nil, now))
	return course.Interruptible()
}

// keepScreen appends the session's screen to its transcript. A transcript that cannot be
// written is a warning: a session can also be ended on a full disk.
func (s *stopper) keepScreen(ctx context.Context, e *entry, rt session.Runtime, p session.Location) {
	text, err := rt.Capture(ctx, p, 0)
	if errors.Is(err, session.ErrGone) {
		return
	}
	if err == nil {
		why := string(e.change.Action)
		if e.change.Detail != "" {
			why += ": " + firstLine(e.change.Detail)
		}
		err = history.AppendScreen(s.config.Folder(e.rec), s.journal.now(), e.rec.Run.ID, why, text)
	}
	if err != nil {
		s.journal.warn(e.change.Address, "the screen could not be written to the transcript", err.Error())
	}
}

// remove ends the session's agent, removes its place, and verifies that it is gone.
func (s *stopper) remove(ctx context.Context, e *entry) error {
	if err := s.end(ctx, e); err != nil {
		return err
	}
	place := e.rec.Location
	if e.change.Live != nil {
		place = e.change.Live.Location
	}
	if place == (session.Location{}) {
		return nil
	}
	rt, err := s.runtimes.of(e.rec.Spec)
	if err != nil {
		return err
	}
	if err := s.runtimes.remove(ctx, rt, place); err != nil {
		return fmt.Errorf("its agent has exited, but its %s could not be removed (repeat the command once that is possible): %w", place.Traits().Noun, err)
	}
	lives, err := s.runtimes.lives(ctx, e.rec.Spec, false)
	if err != nil {
		return fmt.Errorf("verify that it is gone: %w", err)
	}
	if slices.ContainsFunc(lives, func(l session.Live) bool {
		return !l.Foreign && l.Mark.ID == e.rec.ID && (place.Container == "" || l.Location.Container == place.Container)
	}) {
		return errors.New("it was removed and still exists")
	}
	return nil
}

// sweep ends the remains of the recorded run, whose place may be gone.
func (s *stopper) sweep(ctx context.Context, rec session.Record) error {
	run := rec.Run.ID
	if run == "" || !s.config.Facts(run).Claimed {
		return nil
	}
	rt, err := s.runtimes.of(rec.Spec)
	if err != nil {
		return err
	}
	if err := rt.Stop(ctx, rec.Location, run, rec.Spec.Stop); err != nil {
		return fmt.Errorf("end what is left of run %s: %w", run, err)
	}
	return nil
}
