package hub

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// redrawTime is when a second look confirms what a screen shows first: one that is being
// redrawn may show anything.
const redrawTime = 300 * time.Millisecond

type observer struct {
	engine     *engine.Engine
	activity   *activity.Reader
	maxRunning int
	atOnce     int
	secrets    *secrets // nil: all are available
	feed       *feed
	spending   *spending
	budgets    *budgets
	log        *slog.Logger

	memory map[session.Address]*memory
	state  *state.State // as last read; nil: not yet
	fault  error        // why it could not be read again
	began  bool         // the first look is over
	turns  plan.Turns   // who resumes after limits
}

// observe observes all sessions once. It returns nil if ctx ended meanwhile.
//
// It plans up to three times:
//
//  1. With what was remembered of the last look, which joins the records with what is
//     live, and so says whose screens and session files to read.
//  2. With what these show, if it differs.
//  3. With the secrets, if the plan starts a session, since asking may ask a person, and
//     no repair runs, which asks itself.
func (o *observer) observe(ctx context.Context, repairing bool) *Snapshot {
	st, fault := o.read()
	in, working := o.input(st), o.budgets.working(st, o.memory)
	x := o.engine.Observe(ctx, st, o.budgets.input(in, working))
	if ctx.Err() != nil {
		return nil
	}
	s := &Snapshot{At: x.World.At, Lineage: st.Lineage, Serial: st.Serial, Fault: fault}
	o.recall(st, s.At)
	o.readScreens(ctx, x)
	s.Sessions = make([]status.Input, 0, len(x.Sessions))
	for i := range x.Sessions {
		s.Sessions = append(s.Sessions, o.join(&x.Sessions[i], s))
	}
	now, works := o.input(st), o.budgets.working(st, o.memory)
	changed := !reflect.DeepEqual(now, in) || !maps.Equal(works, working)
	if in = o.budgets.input(now, works); changed {
		x = o.engine.Replan(x, in)
	}
	if o.secrets != nil {
		in.Missing = o.secrets.missing
		if !repairing && slices.ContainsFunc(x.Plan.Changes, plan.Change.Starts) {
			x = o.engine.Replan(x, in)
		}
	}
	in.Does = s.does
	s.Plan, s.input, s.judged = x.Plan, in, x.Judged
	planned := status.Changes(s.Plan)
	status.AnnotateHolds(s.Sessions, planned)
	o.report(s, planned)
	o.budgets.report(s, o)
	o.began = true
	return s
}

func (o *observer) folder(r session.Record) string { return o.engine.Applier.Folder(r) }

// read returns the state. If it cannot be read, the last one is observed, and nothing is
// repaired.
func (o *observer) read() (state.State, error) {
	serial, err := state.Serial(o.engine.StatePath)
	if err == nil && o.state != nil && serial == o.state.Serial && o.fault == nil {
		return *o.state, nil
	}
	st, err := o.engine.Read()
	switch {
	case err == nil && o.fault != nil:
		o.log.Info("the state can be read again")
	case err != nil && (o.fault == nil || o.fault.Error() != err.Error()):
		o.log.Error("the state cannot be read: sessions are observed, and nothing is repaired", "error", err)
	}
	if err == nil {
		o.state = &st
	} else if o.state == nil {
		o.state = &state.State{}
	}
	o.fault = err
	return *o.state, err
}

func (o *observer) input(st state.State) engine.HubInput {
	sick := map[session.Address]plan.Sick{}
	known := make([]status.Input, 0, len(st.Sessions))
	for i := range st.Sessions {
		r := &st.Sessions[i]
		m := o.memory[r.Address]
		if m == nil || m.run != r.Run.ID {
			continue
		}
		if m.finding.Ends && r.Spec.Health.OnUnhealthy == "restart" {
			sick[r.Address] = plan.Sick{Run: m.run, Detail: m.finding.Detail}
		}
		if k := m.known; k.Record != nil {
			k.Record, k.Events = r, m.Events
			known = append(known, k)
		}
	}
	c, turns := fleet.HubInput(known, o.activity, o.engine.Observer.Now())
	c.MaxRunning, c.AtOnce, c.Sick, o.turns = o.maxRunning, o.atOnce, sick, turns
	return c
}

// recall makes the memories match the state, and publishes what is new in the histories.
func (o *observer) recall(st state.State, at time.Time) {
	there, runs := make(map[session.Address]bool, len(st.Sessions)), make(map[string]bool, len(st.Sessions))
	for _, r := range st.Sessions {
		there[r.Address], runs[r.Run.ID] = true, true
		m := o.memory[r.Address]
		known := m != nil && m.id == r.ID
		if !known {
			m = &memory{id: r.ID, run: r.Run.ID, Past: fleet.PastOf(o.folder(r), keptPast), quietSince: at}
			o.memory[r.Address] = m
		}
		m.branch, m.credential = r.Spec.Branch, r.Run.Credential
		o.feed.publish(r.Address, m, !known && !o.began)
		m.begin(r.Run.ID, at)
	}
	maps.DeleteFunc(o.memory, func(a session.Address, _ *memory) bool { return !there[a] })
	o.activity.Forget(runs)
}

// join returns what is known of a session.
func (o *observer) join(x *engine.Seen, s *Snapshot) status.Input {
	r := &x.Record
	m := o.memory[r.Address]
	if x.Live != nil && x.Live.Screen == "" && !m.shownAt.IsZero() {
		live := *x.Live
		live.Show(m.screen)
		x.Live = &live
	}
	fresh := o.needsReading(m, x, s.At)
	if !m.unknownSince.IsZero() { // no event may follow: look again, ever less often
		s.lookAgain(max(minInterval, s.At.Sub(m.unknownSince)))
	}
	if fresh {
		before := m.activity.Transcript
		m.activity, m.readAt = o.activity.Look(*r, x.Live, m.Events, s.At), s.At
		o.spending.read(*r, m.activity, s.At)
		if n := m.activity; n.Transcript == nil && n.Activity == session.NoActivity && m.moving(s.At) {
			s.lookAgain(turn.Quiet) // what it shows may be its last word
		}
		if n := m.activity.Transcript; n != nil && (before == nil || n.At.After(before.At)) {
			m.quietSince = s.At
		}
	}
	given, _ := activity.Given(*r, m.Events)
	o.budgets.see(*r, m, x.Live != nil && x.Live.Frozen, given, s)
	k := m.Known(x, nil, m.activity, s.At)
	m.known, m.access = k, fleet.Access(k)
	fleet.Used(&k, o.spending.store)
	if (fresh || m.unreported) && k.Diagnosis.State != session.StateUnknown {
		if m.unreported = !activity.Tellable(*r); !m.unreported {
			o.reportActivity(k, m, s)
		}
	}
	m.finding = health.Check(r.Spec.Health, signs(m, x, s.At))
	return k
}

// needsReading notes what has changed since the last look, and reports whether the
// agent's activity must be read again.
func (o *observer) needsReading(m *memory, x *engine.Seen, at time.Time) bool {
	liveness := livenessOf(x)
	moved, attached := false, false
	if l := x.Live; l != nil {
		moved = !l.MovedAt.Equal(m.movedAt) || m.redrawn
		attached = l.Attached != m.attached
		m.movedAt, m.redrawn, m.attached = l.MovedAt, false, l.Attached
	}
	if moved && m.advanced() {
		m.quietSince = at
	}
	if heard := o.activity.Heard([]string{m.run}); heard != m.heard {
		m.heard, moved, m.quietSince = heard, true, at
	}
	if liveness != session.Unknown {
		m.unknownSince = time.Time{}
	} else if m.unknownSince.IsZero() {
		m.unknownSince = at
	}
	changed := moved || attached || m.known.Record == nil || m.moving(m.readAt) || liveness != m.liveness || at.Sub(m.shownAt) < 2*redrawTime ||
		!slices.Contains(stable, m.activity.Activity)
	m.liveness = liveness
	return changed
}

func livenessOf(x *engine.Seen) session.Liveness {
	switch {
	case x.Live != nil:
		return x.Live.Liveness
	case x.Diagnosis.State == session.StateUnknown:
		return session.Unknown
	}
	return session.Dead
}

// stable are activities that do not change without a change on the screen.
var stable = []session.Activity{session.Idle, session.Blocked, session.Done, session.Exited, session.Failed, session.NoActivity}

func signs(m *memory, x *engine.Seen, at time.Time) health.Signs {
	s := health.Signs{Liveness: livenessOf(x), UnknownReason: x.Diagnosis.Detail, Activity: m.activity.Detection.Activity, Quiet: at.Sub(m.quietSince),
		Age: at.Sub(x.Record.Run.StartedAt), Overdue: m.activity.Overdue,
		Failures: m.pulse.Failures, Failure: m.pulse.Failure}
	if l := x.Live; l != nil {
		s.UnknownReason, s.Frozen = l.UnknownReason, l.Frozen || l.InputOff && x.Record.Spec.Pause.Mode == session.Freeze
	}
	if !m.unknownSince.IsZero() {
		s.UnknownFor = at.Sub(m.unknownSince)
	}
	if m.pulse.Failures > 0 {
		s.Failing = at.Sub(m.pulse.First)
	}
	return s
}

// outputPrecision bounds the error of the time of a session's last output, in whole
// seconds in tmux. Output may have followed a screen that was read within it.
const outputPrecision = 1100 * time.Millisecond

// readScreens reads the screens that have changed since they were last read.
func (o *observer) readScreens(ctx context.Context, s engine.Observation) {
	by := map[session.Runtime]map[session.Location]*memory{}
	for i := range s.Sessions {
		x := &s.Sessions[i]
		m := o.memory[x.Record.Address]
		if l := x.Live; l == nil || l.Screen != "" || !l.MovedAt.IsZero() && l.MovedAt.Equal(m.movedAt) && m.shownAt.Sub(l.MovedAt) > outputPrecision {
			continue
		}
		spec := x.Record.Spec.Runtime
		if p := x.Live.Location; p.Traits().Server != "" { // where it is, whatever its spec says
			spec = session.RuntimeSpec{Kind: p.Runtime}
		}
		rt, err := o.engine.Opened(s.State.Lineage, spec)
		if err != nil {
			o.log.Debug("a screen cannot be read", "session", x.Record.Address, "error", err)
			continue
		}
		if by[rt] == nil {
			by[rt] = map[session.Location]*memory{}
		}
		by[rt][x.Live.Location] = m
	}
	for rt, memories := range by {
		for place, screen := range o.capture(ctx, rt, memories) {
			m := memories[place]
			m.shownAt = s.World.At
			if screen != m.screen {
				m.screen, m.redrawn = screen, true
			}
		}
	}
}

func (o *observer) capture(ctx context.Context, rt session.Runtime, places map[session.Location]*memory) map[session.Location]string {
	shown := map[session.Location]string{}
	var err error
	if s, can := rt.(session.ScreenReader); can {
		shown, err = s.Screens(ctx, slices.Collect(maps.Keys(places)))
	} else {
		var lives []session.Live
		lives, err = rt.Observe(ctx, true)
		for _, l := range lives {
			if places[l.Location] != nil && l.PlaceUp {
				shown[l.Location] = l.Screen
			}
		}
	}
	if err != nil {
		o.log.Debug("screens cannot be read", "error", err)
	}
	return shown
}
