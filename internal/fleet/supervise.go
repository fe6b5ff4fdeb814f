package fleet

import (
	"cmp"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/verify"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// HubInput returns what a hub's plan needs to know of recorded sessions whose agents were looked at:
// what those do that others wait for or that end by themselves, who is at a limit, and who resumes
// after one.
func HubInput(known []status.Input, reader *activity.Reader, now time.Time) (engine.HubInput, plan.Turns) {
	c := engine.HubInput{Doing: map[session.Address]session.Doing{}, Hub: plan.Hub{
		Sick: map[session.Address]plan.Sick{}, Limits: map[session.Address]plan.Limit{}, Resting: map[session.Address]bool{}, Access: map[session.Address]plan.Access{}, Waiting: map[session.Address]session.Address{}}}
	awaited, lives, refused := map[session.Address]bool{}, map[session.Address]bool{}, false
	for _, k := range known {
		for _, a := range k.Record.Spec.DependsOn {
			awaited[a] = true
		}
	}
	for _, k := range known {
		r := k.Record
		lives[r.Address] = alive(k)
		if awaited[r.Address] || r.Spec.Finish != session.FinishNever || r.Spec.Verify.Declared() || r.Spec.PR.Declared() {
			c.Doing[r.Address] = k.Doing()
		}
		if l, limited := limit(k); limited {
			c.Limits[r.Address] = l
			if r.Spec.Limits.OnQuota == session.QuotaFallsBack && (!alive(k) || k.Diagnosis.State != session.StatePaused && untouched(k, reader.Agent(*r))) {
				c.Resting[r.Address] = true
			}
		}
		x := Access(k)
		refused = refused || !x.Refused.IsZero()
		c.Access[r.Address] = x
	}
	if !refused { // else each answer would be another plan
		clear(c.Access)
	}
	turns := plan.ResumeTurns(resuming(known, reader, c.Limits), now)
	for a, before := range turns.Waiting {
		if !lives[a] {
			c.Waiting[a] = before
		}
	}
	return c, turns
}

// Seen returns what a look shows of a recorded session to who verifies its work.
func Seen(k status.Input) verify.Seen {
	return verify.Seen{Record: *k.Record, Live: k.Live, Checkout: k.Workspace(), Doing: k.Doing(), DraftSince: k.DraftSince}
}

// AllSeen returns that of those recorded sessions that are meant.
func AllSeen(known []status.Input, meant func(status.Input) bool) (all []verify.Seen) {
	for _, k := range known {
		if k.Record != nil && meant(k) {
			all = append(all, Seen(k))
		}
	}
	return all
}

func alive(k status.Input) bool { return k.Live != nil && k.Live.Liveness == session.Alive }

// limit returns the limit of the model's provider that a session's agent is at, or at which it exited.
func limit(k status.Input) (_ plan.Limit, limited bool) {
	switch n := k.Look.Transcript; {
	case alive(k) && k.Look.Activity == session.BlockedAPI:
		until := k.Look.Detection.Until
		l := plan.Limit{Since: k.At, Until: until, Said: !until.IsZero()}
		if e := Last(k.Events, of(history.StatusChanged), nil); e != nil && Became(k.Record.Run.ID, session.StatusBlockedAPI)(*e) {
			l.Since = e.Time
		}
		return l, true
	case !alive(k) && n != nil && n.Activity == session.BlockedAPI:
		return plan.Limit{Since: n.At, Until: cmp.Or(n.Until, n.At.Add(k.Record.Spec.Restart.Backoff.Max.D())), Said: !n.Until.IsZero()}, true
	}
	return plan.Limit{}, false
}

// Access returns what the look at a session shows of how its provider takes its credential.
func Access(k status.Input) (x plan.Access) {
	r, n := k.Record, k.Look.Transcript
	if r.Run.Credential.ID == "" {
		return x
	}
	began := r.Run.StartedAt // the file may have runs of before
	if n != nil && n.RefusedAt.After(began) {
		x.Refused = n.RefusedAt
	} else if k.Look.Detection.Refused { // a hook says it before the file does
		x.Refused = k.At
		if e := Last(k.Events, of(history.StatusChanged), nil); e != nil && Became(r.Run.ID, session.StatusFailed)(*e) {
			x.Refused = e.Time
		}
	}
	if n != nil && n.AnsweredAt.After(began) {
		x.Accepted = n.AnsweredAt
	}
	if rests := k.Look.Activity == session.Idle || k.Look.Activity == session.Unobserved; rests && alive(k) && !k.Look.Starting && byPerson(k) && began.After(x.Accepted) {
		x.Accepted = began
	}
	if !x.Refused.IsZero() {
		x.Renewal = agent.Renewal(r.Spec.Agent, r.Run.Credential)
	}
	return x
}

// byPerson reports whether a person started the run of a session.
func byPerson(k status.Input) bool {
	e := Last(k.Events, func(e history.Event) bool { return e.Kind == history.Launched && e.Run == k.Record.Run.ID }, nil)
	return e != nil && e.By != history.ByHub
}

func of(kind history.Kind) func(history.Event) bool {
	return func(e history.Event) bool { return e.Kind == kind }
}

// Became returns a function that reports whether an event of a run says that its session got a
// status.
func Became(run string, status session.Status) func(history.Event) bool {
	return func(e history.Event) bool {
		return e.Kind == history.StatusChanged && e.Run == run && e.New == string(status)
	}
}

// resuming returns what decides who resumes after a limit.
func resuming(known []status.Input, reader *activity.Reader, limits map[session.Address]plan.Limit) []plan.Resuming {
	var all []plan.Resuming
	for _, k := range known {
		r := k.Record
		if r.Run.Credential.ID == "" {
			continue
		}
		begun := r.Run.StartedAt
		if r.Run.ContinuedAt.After(begun) {
			begun = r.Run.ContinuedAt
		}
		x := plan.Resuming{Address: r.Address, Credential: r.Run.Credential.ID, Priority: r.Spec.Priority, Alive: alive(k),
			Limit: limits[r.Address], Staggered: r.Spec.Limits.Resume == session.ResumeStaggered, Starting: k.Look.Starting, Begun: begun}
		if _, limited := limits[r.Address]; limited && x.Staggered {
			wanted := plan.Desired(*r) == session.Running && r.OverBudget == nil && r.Finished == nil
			if x.Alive {
				x.Able = wanted && r.Intent == session.Settled && untouched(k, reader.Agent(*r))
			} else {
				x.Able = wanted && r.Spec.Restart.Policy != "never"
				x.Staggered = x.Able
			}
		} else if x.Staggered && idles(k) {
			x.Idles, x.Able = true, plan.Desired(*r) == session.Running && r.Intent == session.Settled && untouched(k, reader.Agent(*r))
		}
		all = append(all, x)
	}
	return all
}

// idles reports whether an agent was started in its conversation because its limit had ended, and
// rests: nobody has sent it anything.
func idles(k status.Input) bool {
	r := k.Record
	start := Last(k.Events, of(history.ApplyStart), nil)
	does := k.Doing()
	return alive(k) && !k.Look.Starting && r.Run.Resumed && r.Run.ContinuedAt.IsZero() && start != nil && start.Reason == string(plan.ReasonLimitOver) &&
		(does.Activity == session.Idle || does.Activity == session.Unobserved) && !does.Since.After(r.Run.StartedAt)
}

// untouched reports whether nobody works with a live agent, and it asks nothing.
func untouched(k status.Input, a session.Agent) bool {
	c, knows := a.(input.Composer)
	if !knows || k.Live.Attached > 0 || k.Look.Detection.Question != nil {
		return false
	}
	text, shown := c.Composer(k.Live.Screen)
	return shown && text == ""
}
