package cli

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// sight is the project's sessions as they are now.
type sight struct {
	project *project
	engine.Status
	known []status.Input // on record, then what is only wanted, each in the order of addresses
	// holder is the hub, if one supervises the project.
	holder     state.Holder
	supervised bool
	// outlook is what the hub does, or would do, with the sessions on record; nil: all
	// of their agents live.
	outlook map[session.Address]plan.Change
}

// look sees the project's sessions once.
func (a *app) look(ctx context.Context) (*sight, error) {
	e, err := a.eyes()
	if err != nil {
		return nil, err
	}
	return e.look(ctx)
}

// eyes look at the project's sessions, as often as they are asked to.
type eyes struct {
	project    *project
	reconciler *engine.Reconciler
	activity   *activity.Reader
	histories  map[string]past // by folder
	log        *slog.Logger
}

// past is a session's history as it was read.
type past struct {
	size   int64
	events []history.Event
}

// eyes opens the project for looking. Without a manifest that can be read, the
// sessions on record are seen; that it cannot be read is said.
func (a *app) eyes() (*eyes, error) {
	p, _, err := a.recorded()
	if err != nil {
		return nil, err
	}
	if session.HasErrors(p.problems) && (len(p.manifest.Files) > 0 || len(a.globals.files) > 0) {
		if err := view.Diagnostics(a.env.Stderr, a.err(), p.problems); err != nil {
			return nil, err
		}
	}
	return a.eyesOf(p), nil
}

// eyesOf look at an open project's sessions.
func (a *app) eyesOf(p *project) *eyes {
	return &eyes{project: p, reconciler: a.reconciler(p, toLook), activity: a.activity(p), histories: map[string]past{}, log: a.log}
}

// activity reads what the project's agents do.
func (a *app) activity(p *project) *activity.Reader {
	return activity.New(p.manifest.DataDir, a.env.getenv("HOME"), agent.For)
}

// look sees all sessions, with their screens.
func (e *eyes) look(ctx context.Context) (*sight, error) {
	p := e.project
	found, err := e.reconciler.Status(ctx, true, p.manifest.Sessions...)
	if err != nil {
		return nil, err
	}
	s := &sight{project: p, Status: found}
	for _, seen := range found.Sessions {
		s.known = append(s.known, e.know(seen, found.World.At))
	}
	s.holder, s.supervised = hub.Running(p.manifest.DataDir)
	e.foresee(s)
	for _, x := range found.Pending {
		s.known = append(s.known, status.Input{Wanted: &x.Spec, Live: x.Live, Checkout: &x.Checkout, Diagnosis: unbegun(x)})
	}
	return s, nil
}

// foresee lays on what is seen of sessions whose agent is gone what the hub does
// about them. What it does not do any more is so without it, too.
func (e *eyes) foresee(s *sight) {
	gone := func(k status.Input) bool { return k.Diagnosis.Alive != nil && !*k.Diagnosis.Alive }
	if !slices.ContainsFunc(s.known, gone) {
		return
	}
	care := engine.Care{MaxRunning: e.project.maxRunning(), Doing: map[session.Address]session.Doing{}}
	for _, k := range s.known {
		if k.Record == nil || k.Look == nil {
			continue
		}
		moved := time.Time{}
		if k.Live != nil {
			moved = k.Live.MovedAt
		}
		care.Doing[k.Record.Address] = activity.DoingOf(*k.Record, *k.Look, moved, k.Events, s.World.At)
	}
	changes := map[session.Address]plan.Change{}
	for _, c := range e.reconciler.Outlook(s.Status, care).Changes {
		changes[c.Address] = c
	}
	s.outlook = changes
	for i := range s.known {
		if r := s.known[i].Record; r != nil && r.Intent == session.Queued {
			c := changes[r.Address]
			if s.supervised {
				c = lacking(c, s.known[i])
			}
			s.known[i].Hold(queued(c, s.supervised))
			continue
		}
		if c := changes[addressOf(s.known[i])]; c.Restarts != nil && (s.supervised || c.Reason == plan.ReasonBudgetSpent) {
			s.known[i].Hold(lacking(c, s.known[i]))
		}
	}
}

// queued says of a session whose start was approved what it waits for.
func queued(c plan.Change, supervised bool) plan.Change {
	c.Restarts = nil
	switch {
	case !c.Action.Acts():
		return c
	case supervised:
		c.Detail = "about to be started by the hub"
	default:
		c.Detail = "can start now: agentform apply"
	}
	c.Action = plan.Hold
	return c
}

// lacking holds a start that the hub holds for want of a secret: only the hub can
// ask for it, and what it found stands in the history.
func lacking(c plan.Change, k status.Input) plan.Change {
	for _, e := range slices.Backward(k.Events) {
		switch {
		case e.Kind == history.Held && e.Reason == string(plan.ReasonSecret) && (c.Action == plan.Restart || c.Action == plan.Create):
			c.Action, c.Reason, c.Detail, c.State = plan.Hold, plan.ReasonSecret, e.Detail, k.Diagnosis.State
			return c
		case e.Kind == history.Held || e.Kind == history.ApplyStart:
			return c
		}
	}
	return c
}

// unbegun diagnoses a session that is wanted and not in the state.
func unbegun(x engine.Pending) plan.Diagnosis {
	alive := x.Live != nil && x.Live.PlaceUp && x.Live.Vital == session.Alive
	d := plan.Diagnosis{State: session.StatePending, Alive: &alive, Reason: plan.ReasonNew, Detail: "not applied yet"}
	switch {
	case alive && x.Adopts:
		d.Reason, d.Detail = plan.ReasonAdopt, "running but not in the state; the next apply adopts it"
	case alive:
		d.Reason, d.Detail = plan.ReasonAdopt, "running but not in the state"
	case x.Spec.Desired == session.Stopped:
		d.State, d.Detail = session.StateStopped, "wanted stopped: never started"
	}
	return d
}

// addresses are all that can be named.
func (s *sight) addresses() []session.Address {
	return addresses(s.project.manifest.Sessions, s.State.Sessions)
}

// of is what is known of one session.
func (s *sight) of(a session.Address) status.Input {
	for _, k := range s.known {
		if addressOf(k) == a {
			return k
		}
	}
	return status.Input{}
}

func addressOf(k status.Input) session.Address {
	if k.Record != nil {
		return k.Record.Address
	}
	return k.Wanted.Address
}

// know lays together what is to be known of a recorded session, and tells its
// history what is new in that.
func (e *eyes) know(s engine.Seen, at time.Time) status.Input {
	p := e.project
	folder := p.folder(s.Record)
	past := e.history(folder)
	k := status.Input{Record: &s.Record, Live: s.Live, Diagnosis: s.Diagnosis, Checkout: &s.Checkout, Events: past}
	look := e.activity.Look(s.Record, s.Live, past, at)
	k.Reading, k.Look, k.FirstTurnAt = look.Reading, &look, activity.FirstTurnAt(s.Record, past)
	for i := range p.manifest.Sessions {
		if p.manifest.Sessions[i].Address == s.Record.Address {
			k.Wanted = &p.manifest.Sessions[i]
		}
	}
	if transcript := filepath.Join(folder, history.TranscriptName); fileExists(transcript) {
		k.Transcripts.Screen = transcript
	}
	e.tell(folder, k, at)
	return k
}

// tell adds to a session's history what is seen of it for the first time. Whoever
// only looks may not be allowed to write there: then somebody else tells.
func (e *eyes) tell(folder string, k status.Input, at time.Time) {
	if k.Diagnosis.State == session.StateUnknown {
		return
	}
	shown := status.Of(k)
	x := activity.Seen{Record: *k.Record, Status: shown.Status, State: shown.State, Look: *k.Look, Attached: shown.Attached, At: at}
	if k.Live != nil {
		x.Screen, x.MovedAt = k.Live.Screen, k.Live.MovedAt
	}
	if _, err := e.activity.Tell(folder, x, k.Events); err != nil {
		e.log.Debug("what is seen cannot be told", "session", k.Record.Address, "error", err)
	}
}

// history is what happened to the session of a folder. It is read again only
// when it has grown; what cannot be read is not shown.
func (e *eyes) history(folder string) []history.Event {
	size := history.Size(folder)
	if h, read := e.histories[folder]; read && h.size == size {
		return h.events
	}
	events, _ := history.Read(folder, time.Time{}) // without it the last event is not shown
	e.histories[folder] = past{size, events}
	return events
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
