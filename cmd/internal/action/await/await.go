// Package await waits for the rest of an apply: held starts, and the ends of sessions. Without a
// hub it carries them out.
package await

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/verify"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

const applyPoll = 500 * time.Millisecond

// Input is an apply that was carried out except for its held parts.
type Input struct {
	Project  *project.Project
	Observer *fleet.Observer
	Engine   *engine.Engine
	Request  engine.Request
	Plan     plan.Plan // that was applied
	Tally    apply.Tally
	Drain    <-chan struct{}              // closed: nothing more is begun
	Emit     func(history.Event)          // reports progress
	Need     func(api.Session, time.Time) // called when a session starts to need attention, and whenever the reason changes
}

// applied is the rest of an apply.
type applied struct {
	Input
	held   []session.Address // still to start
	ending []session.Address // still to finish
	said   map[session.Address]string
	errs   []error
}

// Follow waits until nothing is left to wait for. It does not wait for a session that needs a place
// that none frees, or a landing by the user. The tally is that of the apply, with what was done
// since.
func Follow(ctx context.Context, in Input) (apply.Tally, error) {
	f := &applied{Input: in, said: map[session.Address]string{}}
	f.Request.Options.Replace = nil // that is done
	for _, res := range f.Tally.Results {
		if res.Outcome == apply.Held {
			f.held = append(f.held, res.Address)
		}
	}
	for _, c := range Ending(f.Plan) {
		begun := c.Live != nil || slices.ContainsFunc(f.Tally.Results, func(r apply.Result) bool { return r.Address == c.Address && r.Started })
		if begun || slices.Contains(f.held, c.Address) {
			f.ending = append(f.ending, c.Address)
		}
	}
	if len(f.held)+len(f.ending) == 0 {
		return f.Tally, nil
	}
	waiting, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup // of verifications
	defer work.Wait()
	defer cancel()
	go func() {
		select {
		case <-f.Drain:
			cancel()
		case <-waiting.Done():
		}
	}()
	var verifications *verify.Scheduler
	for s, err := range follow.Looks(waiting, applyPoll, nil, f.Observer.Look) {
		if err != nil {
			return f.Tally, errors.Join(append(f.errs, err)...)
		}
		if verifications == nil {
			verifications = verify.NewScheduler(target.Verifications(f.Project, f.Observer, s, f.Engine), &work, func() {})
		}
		if !s.Supervised {
			verifications.See(waiting, fleet.AllSeen(s.Known, func(k status.Input) bool {
				return k.Record.Spec.Verify.Declared() && k.Diagnosis.State != session.StateUnknown
			}))
		}
		due := append(f.starts(s), f.ends(s)...)
		if len(due) > 0 {
			if err := f.carryOut(ctx, due); err != nil {
				return f.Tally, errors.Join(append(f.errs, err)...)
			}
		}
		if len(f.held)+len(f.ending) == 0 {
			return f.Tally, errors.Join(f.errs...)
		}
	}
	return f.Tally, errors.Join(append(f.errs, apply.ErrInterrupted)...)
}

// Unfinished returns the changes of sessions that run, or are to, until they are done.
func Unfinished(p plan.Plan) (all []plan.Change) {
	for _, c := range p.Changes {
		runs := c.Live != nil && c.Live.Liveness == session.Alive
		if c.After != nil && c.After.Finish != session.FinishNever && c.Finishes == nil && (runs || c.Starts() || c.Action == plan.Replace || c.Waits()) {
			all = append(all, c)
		}
	}
	return all
}

// Ending returns those that end by themselves. The user decides when a session lands, and about one
// without a prompt.
func Ending(p plan.Plan) []plan.Change {
	return slices.DeleteFunc(Unfinished(p), func(c plan.Change) bool {
		return c.After.Finish == session.FinishLanded || c.After.Prompt.Digest == ""
	})
}

// starts returns the held sessions that can start now and are not started by a hub.
func (f *applied) starts(s *fleet.Snapshot) (due []session.Address) {
	drains := false
	for _, c := range s.Forecasts {
		drains = drains || c.Drains()
	}
	for _, a := range slices.Clone(f.held) {
		k, c := s.Of(a), s.Forecasts[a]
		switch {
		case k.Record == nil:
			f.drop(a)
		case k.Record.Intent != session.Queued: // the hub or another apply started it
			f.held = without(f.held, a)
			f.Tally.Held--
			f.Tally.Done++
			f.Emit(history.Event{Time: s.World.At, Kind: history.ApplyComplete, Address: a, ID: k.Record.ID, Run: k.Record.Run.ID, Action: string(plan.Create)})
		case c.Skips:
			f.skip(s, a, c.Detail)
		case c.Action == plan.Hold && c.Reason == plan.ReasonQueued && !drains && len(due) == 0, awaitsLanding(s, c):
			f.drop(a)
		case c.Action.Acts() && !s.Supervised:
			due = append(due, a)
		case !s.Supervised:
			if on, ended := abandoned(s, k.Record.Spec); ended {
				f.skip(s, a, fmt.Sprintf("depends on %s, which is not running, and no hub restarts it", on))
			}
		}
	}
	return due
}

// ends returns the sessions that are done and are not ended by a hub. It reports which of the
// others need attention.
func (f *applied) ends(s *fleet.Snapshot) (due []session.Address) {
	for _, a := range slices.Clone(f.ending) {
		k, c := s.Of(a), s.Forecasts[a]
		switch d := k.Diagnosis; {
		case slices.Contains(f.held, a), d.Reason == plan.ReasonUnderWay:
		case k.Record == nil, d.Reason == plan.ReasonFinished:
			f.ending = without(f.ending, a)
		case c.Finishes != nil && !s.Supervised:
			due = append(due, a)
		case d.State == session.StateStopped, d.Alive != nil && !*d.Alive && !s.Supervised:
			f.ending = without(f.ending, a)
			f.errs = append(f.errs, fmt.Errorf("%s is not finished: %s", a, d.Detail))
		default:
			f.sayNeed(k, s.World.At)
		}
	}
	return due
}

// sayNeed reports once that a session needs attention.
func (f *applied) sayNeed(k status.Input, now time.Time) {
	x := status.Of(k)
	if x.Needs == nil || x.Needs.Reason == string(follow.NeedsWork) {
		delete(f.said, x.Address)
		return
	}
	if what := x.Needs.Reason + x.Detail; what != f.said[x.Address] {
		f.said[x.Address] = what
		f.Need(x, now)
	}
}

// awaitsLanding reports whether a start waits for the user to land another session's work.
func awaitsLanding(s *fleet.Snapshot, c plan.Change) bool {
	if c.After == nil || c.Action != plan.Hold || c.Reason != plan.ReasonDependency {
		return false
	}
	return slices.ContainsFunc(c.After.DependsOn, func(on session.Address) bool {
		return c.After.UntilOf(on) == session.AwaitDone && s.Forecasts[on].EndsLanded()
	})
}

func abandoned(s *fleet.Snapshot, spec session.Spec) (session.Address, bool) {
	for _, on := range spec.DependsOn {
		d := s.Of(on).Diagnosis
		if gone := d.State == session.StateStale || d.State == session.StateError; gone && (s.Forecasts[on].Action == plan.Restart || s.Forecasts[on].Reason == plan.ReasonBackingOff) {
			return on, true
		}
	}
	return "", false
}

// drop ends the wait for a session.
func (f *applied) drop(a session.Address) {
	f.held, f.ending = without(f.held, a), without(f.ending, a)
}

func without(all []session.Address, a session.Address) []session.Address {
	return slices.DeleteFunc(all, func(b session.Address) bool { return a == b })
}

func (f *applied) skip(s *fleet.Snapshot, a session.Address, why string) {
	f.drop(a)
	f.Tally.Held--
	f.Tally.Skipped++
	f.errs = append(f.errs, fmt.Errorf("%s was not started: it %s", a, why))
	f.Emit(history.Event{Time: s.World.At, Kind: history.ApplySkipped, Address: a, Action: string(plan.Create), Detail: why})
}

func (f *applied) carryOut(ctx context.Context, due []session.Address) error {
	p, err := f.Engine.Plan(ctx, f.Request)
	if err != nil {
		return err
	}
	acts := false
	for i := range p.Changes {
		c := &p.Changes[i]
		if !slices.Contains(due, c.Address) || c.Action == plan.Hold || !slices.Contains(f.held, c.Address) && c.Finishes == nil {
			c.Action, c.Then = plan.None, ""
		}
		acts = acts || c.Action.Acts()
	}
	if !acts {
		return nil
	}
	tally, err := f.Engine.Apply(ctx, f.Request, p, f.Drain)
	var changed *engine.ChangedError
	if errors.As(err, &changed) {
		return nil // the next look shows its state
	}
	for _, res := range tally.Results {
		if !slices.Contains(f.held, res.Address) {
			if res.Outcome == apply.Failed {
				f.ending = without(f.ending, res.Address)
			}
			continue
		}
		f.held = without(f.held, res.Address)
		f.Tally.Held--
		switch res.Outcome {
		case apply.Done:
			f.Tally.Done++
		case apply.Failed:
			f.Tally.Failed++
			f.ending = without(f.ending, res.Address)
		case apply.Skipped:
			f.Tally.Skipped++
			f.ending = without(f.ending, res.Address)
		}
	}
	return err
}
