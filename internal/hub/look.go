package hub

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// soon is when to look again at a screen that was seen for the first time: one that
// is caught between two states shows neither.
const soon = 300 * time.Millisecond

// look sees all sessions once, tells their histories what is new, and publishes it.
func (h *Hub) look(ctx context.Context) *Snapshot {
	st, fault := h.read()
	care := h.care(st)
	survey := h.rec.Observe(ctx, st, care)
	if ctx.Err() != nil {
		return h.Snapshot()
	}
	s := &Snapshot{At: survey.World.At, Lineage: st.Lineage, Serial: st.Serial, Drift: survey.Plan.Drift, Fault: fault}
	h.recall(st, s.At)
	h.show(ctx, survey)
	s.Sessions = make([]status.Input, 0, len(survey.Sessions))
	for i := range survey.Sessions {
		s.Sessions = append(s.Sessions, h.see(&survey.Sessions[i], s))
	}
	if now := h.care(st); !reflect.DeepEqual(now, care) {
		care = now
		survey = h.rec.Replan(survey, care)
	}
	if h.cfg.Secret != nil && !h.acting && slices.ContainsFunc(survey.Plan.Changes, plan.Change.Starts) {
		asking := care
		asking.Missing = h.missing
		survey = h.rec.Replan(survey, asking)
	}
	s.Plan, s.care = survey.Plan, care
	changes := status.Changes(s.Plan)
	status.AnnotateHolds(s.Sessions, changes)
	h.tell(s, changes)
	h.probe(ctx, s)
	h.snapshot.Store(s)
	return s
}

// read is the state on record, read again only when it was written. If it cannot be
// read, what was known before is looked at, and nothing is repaired.
func (h *Hub) read() (state.State, error) {
	serial, err := state.Serial(h.rec.StatePath)
	if err == nil && h.state.read && serial == h.state.Serial && h.state.fault == nil {
		return h.state.State, nil
	}
	st, err := h.rec.Read()
	if err != nil {
		if h.state.fault == nil || h.state.fault.Error() != err.Error() {
			h.log.Error("the state cannot be read: sessions are looked at, and nothing is repaired", "error", err)
		}
		h.state.fault = err
		return h.state.State, err
	}
	if h.state.fault != nil {
		h.log.Info("the state can be read again")
	}
	h.state = known{State: st, read: true}
	return st, nil
}

// care is what the memories say of the sessions on record.
func (h *Hub) care(st state.State) engine.HubInput {
	c := engine.HubInput{MaxRunning: h.cfg.MaxRunning, Hub: plan.Hub{AtOnce: h.cfg.AtOnce,
		Sick: map[session.Address]plan.Sick{}, Limits: map[session.Address]time.Time{}},
		Doing: map[session.Address]session.Doing{}}
	awaited := map[session.Address]bool{}
	for _, r := range st.Sessions {
		for _, a := range r.Spec.DependsOn {
			awaited[a] = true
		}
	}
	for _, r := range st.Sessions {
		m := h.memory[r.Address]
		if m == nil || m.run != r.Run.ID {
			continue
		}
		if m.finding.Ends && r.Spec.Health.OnUnhealthy == "restart" {
			c.Sick[r.Address] = plan.Sick{Run: m.run, Detail: m.finding.Detail}
		}
		if awaited[r.Address] && m.looked {
			c.Doing[r.Address] = activity.DoingOf(r, m.look, m.movedAt, m.events, h.rec.Observer.Now())
		}
		if n := m.look.Transcript; m.vital != session.Alive && n != nil && n.Activity == session.BlockedAPI {
			if c.Limits[r.Address] = n.Until; n.Until.IsZero() {
				c.Limits[r.Address] = n.At.Add(r.Spec.Restart.Backoff.Max.D())
			}
		}
	}
	return c
}

// recall makes the memories fit what is on record, and reads what the histories
// have more.
func (h *Hub) recall(st state.State, at time.Time) {
	there, runs := make(map[session.Address]bool, len(st.Sessions)), make(map[string]bool, len(st.Sessions))
	for _, r := range st.Sessions {
		there[r.Address], runs[r.Run.ID] = true, true
		m := h.memory[r.Address]
		if m == nil || m.id != r.ID {
			m = &memory{id: r.ID, run: r.Run.ID, tail: history.TailOf(h.folder(r)), quietSince: at}
			h.memory[r.Address] = m
			h.hear(r.Address, m, !h.began)
		} else {
			h.hear(r.Address, m, false)
		}
		m.begin(r.Run.ID, at)
	}
	maps.DeleteFunc(h.memory, func(a session.Address, _ *memory) bool { return !there[a] })
	h.cfg.Activity.Forget(runs)
}

// see lays together what is to be known of a session. What it returns points into
// what was seen.
func (h *Hub) see(x *engine.Seen, s *Snapshot) status.Input {
	r := &x.Record
	m := h.memory[r.Address]
	if x.Live != nil && x.Live.Screen == "" && !m.shownAt.IsZero() {
		live := *x.Live
		live.Show(m.screen)
		x.Live = &live
	}
	fresh := h.stirred(m, x, s.At)
	if fresh {
		before := m.look.Transcript
		m.look, m.looked, m.readAt = h.cfg.Activity.Look(*r, x.Live, m.events, s.At), true, s.At
		if n := m.look; s.again == 0 && n.Transcript == nil && n.Activity == session.NoActivity && m.moving(s.At) {
			s.again = rest // what it shows may be its last word
		}
		if n := m.look.Transcript; n != nil && (before == nil || n.At.After(before.At)) {
			m.quietSince = s.At
		}
		if m.transcript == "" {
			m.transcript = status.Transcript(h.folder(*r))
		}
	}
	k := status.Observed(x, m.look, m.events)
	k.Transcript = m.transcript
	if (fresh || m.untold) && k.Diagnosis.State != session.StateUnknown {
		if m.untold = !activity.Tellable(*r); !m.untold {
			h.status(k, m, s)
		}
	}
	m.finding = health.Check(r.Spec.Health, signs(m, x, s.At))
	return k
}

// stirred notes what has moved since the last look, and reports whether the agent
// has to be asked again what it does: nothing of one that rests changes by itself.
func (h *Hub) stirred(m *memory, x *engine.Seen, at time.Time) bool {
	vital := vitalOf(x)
	moved, came := false, false
	if l := x.Live; l != nil {
		moved = !l.MovedAt.Equal(m.movedAt) || m.redrawn
		came = l.Attached != m.attached
		m.movedAt, m.redrawn, m.attached = l.MovedAt, false, l.Attached
	}
	if moved && m.advanced() {
		m.quietSince = at
	}
	if heard := h.cfg.Activity.Heard([]string{m.run}); heard != m.heard {
		m.heard, moved, m.quietSince = heard, true, at
	}
	if vital != session.Unknown {
		m.doubtSince = time.Time{}
	} else if m.doubtSince.IsZero() {
		m.doubtSince = at
	}
	ask := moved || came || !m.looked || m.moving(m.readAt) || vital != m.vital || at.Sub(m.shownAt) < 2*soon || restless(m.look)
	m.vital = vital
	return ask
}

// vitalOf is whether a session's agent lives: what cannot be reached is unknown, not dead.
func vitalOf(x *engine.Seen) session.Vital {
	switch {
	case x.Live != nil:
		return x.Live.Vital
	case x.Diagnosis.State == session.StateUnknown:
		return session.Unknown
	}
	return session.Dead
}

// restless reports whether an agent that does this may do something else without
// its screen telling.
func restless(x activity.Look) bool {
	switch x.Activity {
	case session.Idle, session.Blocked, session.Done, session.Exited, session.Failed, session.NoActivity:
		return false
	}
	return true
}

// signs are what the memory and a look say of a session's health.
func signs(m *memory, x *engine.Seen, at time.Time) health.Signs {
	s := health.Signs{Vital: vitalOf(x), Doubt: x.Diagnosis.Detail, Activity: m.look.Detection.Activity, Quiet: at.Sub(m.quietSince),
		Age: at.Sub(x.Record.Run.StartedAt), Overdue: m.look.Overdue,
		Failures: m.pulse.Failures, Failure: m.pulse.Failure}
	if l := x.Live; l != nil {
		s.Doubt, s.Standing = l.Doubt, l.Frozen || l.InputOff && x.Record.Spec.Pause.Mode == session.Freeze
	}
	if !m.doubtSince.IsZero() {
		s.Doubtful = at.Sub(m.doubtSince)
	}
	if m.pulse.Failures > 0 {
		s.Failing = at.Sub(m.pulse.First)
	}
	return s
}
