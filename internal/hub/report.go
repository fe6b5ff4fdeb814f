package hub

import (
	"slices"
	"time"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

func (o *observer) reportActivity(k status.Input, m *memory, s *Snapshot) {
	x := k.Seen(s.At)
	x.Screen, x.MovedAt = m.screen, m.movedAt // also of a session that is gone
	reported, err := o.activity.Tell(o.folder(*k.Record), x, m.Events)
	if err != nil {
		o.log.Warn("activity cannot be recorded", "session", k.Record.Address, "error", err)
	}
	if len(reported) > 0 {
		o.feed.publish(k.Record.Address, m, false)
	}
	if d := m.activity.Detection; (d.Source == "screen" || d.Activity == session.Blocked) && len(activity.Changes(x, m.Events)) > 0 {
		s.lookAgain(redrawTime) // it counts when the screen shows the same again
	}
}

// report adds to the histories what the hub found and does not do, once in an episode.
func (o *observer) report(s *Snapshot, changes map[session.Address]plan.Change) {
	faults := map[session.Address][]session.Diagnostic{}
	for _, d := range s.Plan.Problems {
		if d.Severity == session.Error {
			faults[d.Address] = append(faults[d.Address], d)
		}
	}
	for _, k := range s.Sessions {
		r := k.Record
		m := o.memory[r.Address]
		t := reporter{observer: o, m: m, record: *r, at: s.At}
		if !o.began {
			detail := k.Diagnosis.Detail
			if detail == string(k.Diagnosis.State) {
				detail = ""
			}
			t.say(history.Event{Kind: history.Discovered, New: string(k.Diagnosis.State), Detail: detail})
		}
		c, ok := changes[r.Address]
		// What is held until later was begun by a command that was killed: a backoff counts from its event.
		killed := c.Action == plan.Hold && !c.Until.IsZero()
		if ok && (r.Intent == session.Settled || r.Intent == session.Queued || r.LastError != "" || killed) && !m.operationSince(s.At, o.engine.Observer.Now()) { // else an operation in progress reports
			t.change(c, faults[r.Address])
		}
		t.branch(faults[r.Address], k.Checkout)
		t.health(m.finding)
		t.turn()
		if t.reported {
			o.feed.publish(r.Address, m, false)
		}
	}
	for _, d := range s.Plan.Drift {
		if !o.began && d.Kind == plan.Orphaned { // it has no history
			o.log.Warn("found a running session that is not in the state", "session", d.Address, "detail", d.Detail)
			o.feed.put(history.Event{Time: s.At, Address: d.Address, Kind: history.Discovered, New: string(plan.Orphaned), Detail: d.Detail, By: history.ByHub})
		}
	}
}

type reporter struct {
	*observer
	m        *memory
	record   session.Record
	at       time.Time
	reported bool
}

func (t *reporter) say(e history.Event) {
	events := t.signed([]history.Event{e})
	t.noted(events, history.Append(t.folder(t.record), events[0]))
}

func (t *reporter) signed(events []history.Event) []history.Event {
	for i := range events {
		e := &events[i]
		e.Time, e.Address, e.ID, e.Run, e.By = t.at, t.record.Address, t.record.ID, t.record.Run.ID, history.ByHub
	}
	return events
}

func (t *reporter) noted(events []history.Event, err error) {
	if err != nil {
		t.log.Warn("events cannot be recorded", "session", t.record.Address, "error", err)
		return
	}
	for _, e := range events {
		t.log.Info(string(e.Kind), "session", e.Address, "reason", e.Reason, "detail", e.Detail)
		t.reported = true
	}
}

// endsEpisode reports whether an event ends an episode, the time between two operations
// on a session, of a person or of the hub: in each, a fault or a hold is reported once.
func endsEpisode(e history.Event) bool {
	return e.Kind == history.ApplyStart || e.Kind == history.Launched
}

// change reports that the hub waits, and that a person is needed.
func (t *reporter) change(c plan.Change, faults []session.Diagnostic) {
	if c.Stuck() && len(faults) > 0 {
		t.escalate(c.Reason, faults[0].Summary+": "+faults[0].Detail, endsEpisode)
	}
	if v := c.Restarts; v != nil && v.Escalate {
		reason := plan.ReasonBackingOff
		if v.Reason == health.BudgetGone {
			reason = plan.ReasonBudgetSpent
		}
		t.escalate(reason, c.Detail, endsEpisode)
	}
	if c.Action != plan.Hold {
		return
	}
	switch c.Reason {
	case plan.ReasonSecret:
		t.escalate(c.Reason, c.Detail, endsEpisode)
	case plan.ReasonBackingOff, plan.ReasonBlockedAPI, plan.ReasonRefused, plan.ReasonPolicy, plan.ReasonDependencyFailed:
	default:
		return // it waits for something other than time, which status shows
	}
	e := history.Event{Kind: history.Held, Reason: string(c.Reason), Detail: c.Detail}
	if !c.Until.IsZero() && c.Reason != plan.ReasonSecret { // which is checked repeatedly
		e.New = c.Until.Format(time.RFC3339Nano)
	}
	if was := fleet.Last(t.m.Events, of(history.Held), endsEpisode); was == nil || was.Reason != e.Reason || was.New != e.New {
		t.say(e)
	}
}

// escalate reports, once in an episode, that a person is needed.
func (t *reporter) escalate(reason plan.Reason, detail string, ends func(history.Event) bool) {
	is := func(e history.Event) bool { return e.Kind == history.Escalated && e.Reason == string(reason) }
	if fleet.Last(t.m.Events, is, ends) == nil {
		t.say(history.Event{Kind: history.Escalated, Reason: string(reason), Detail: detail, Excerpt: t.m.screen})
	}
}

func (t *reporter) branch(faults []session.Diagnostic, co *session.Checkout) {
	if co != nil && co.Partial || t.record.Intent != session.Settled {
		return
	}
	was := fleet.Last(t.m.Events, of(history.BranchMismatch, history.BranchRestored), nil)
	off := was != nil && was.Kind == history.BranchMismatch
	coded := func(r plan.Reason) int {
		return slices.IndexFunc(faults, func(d session.Diagnostic) bool { return d.Code == string(r) })
	}
	branch := ""
	if co != nil {
		branch = co.Branch
	}
	if i := coded(plan.ReasonBranchMismatch); i >= 0 {
		astray := func(past []history.Event) []history.Event {
			return t.signed(activity.Astray(t.record, branch, faults[i].Detail, past))
		}
		if len(astray(t.m.Events)) > 0 { // an apply may have reported it
			reported, err := history.Update(t.folder(t.record), astray)
			t.noted(reported, err)
		}
		return
	}
	// A plan that only stops a session does not report where its workspace is.
	if back := branch == t.record.Spec.Branch || branch == t.record.Tree.Branch; off && back && len(faults) == 0 {
		t.say(history.Event{Kind: history.BranchRestored, New: branch})
	}
	if i := coded(plan.ReasonWorkspaceGone); i >= 0 {
		t.escalate(plan.ReasonWorkspaceGone, faults[i].Detail, endsEpisode)
	}
}

func (t *reporter) health(f health.Finding) {
	was := fleet.Last(t.m.Events, of(history.Unhealthy, history.Healthy), func(e history.Event) bool { return e.Kind == history.Launched })
	sick := was != nil && was.Kind == history.Unhealthy
	switch {
	case f.Sickness == health.Well:
		if sick && t.m.liveness == session.Alive {
			t.say(history.Event{Kind: history.Healthy})
		}
		return
	case !sick || was.Reason != string(f.Sickness):
		t.say(history.Event{Kind: history.Unhealthy, Reason: string(f.Sickness), Detail: f.Detail})
	}
	h := t.record.Spec.Health
	if h.OnUnhealthy == "ignore" || f.Ends && h.OnUnhealthy == "restart" && t.record.Spec.Restart.Policy != "never" {
		return
	}
	t.escalate(plan.ReasonUnhealthy, f.Detail, of(history.Healthy, history.Launched))
}

func (t *reporter) turn() {
	at := activity.EndedAt(&t.m.Course.Course, t.record, t.m.activity)
	if at.IsZero() {
		return
	}
	is := func(e history.Event) bool { return e.Kind == history.TurnEnded && e.Run == t.record.Run.ID }
	if was := fleet.Last(t.m.Events, is, nil); was == nil || was.Time.Before(at) {
		t.m.turnOver = true
		t.say(history.Event{Kind: history.TurnEnded, Detail: t.m.activity.Detection.Detail, Excerpt: t.m.screen})
	}
}
