package plan

import "github.com/agentform/agentform/session"

// allowed returns the part of a desired state that a session over its budget may have.
func allowed(wish session.Desired, o *session.OverBudget) session.Desired {
	if o == nil || wish == session.Stopped {
		return wish
	}
	return o.Desired
}

// overBudget returns what holds a session; nil: nothing does, or it is ignored.
func (j *join) overBudget(r *session.Record) *session.OverBudget {
	if j.in.Options.IgnoreBudget {
		return nil
	}
	return r.OverBudget
}

// keepBudget holds changes that would make the agent of a session over its budget work, and shows a
// resting one as held. If budgets are ignored, it reports that the session's start over.
func (j *join) keepBudget(c Change) Change {
	over := c.Before.OverBudget
	if over == nil {
		return c
	}
	if j.in.Options.IgnoreBudget {
		c.IgnoresBudget = over
		if c.Action == None {
			c = act(c, Update, ReasonOverBudget, "")
		}
		c.Detail = over.String() + "; its budgets start over"
		return c
	}
	works := starts(c) || c.Action == Resume || c.Action == Hold && starts(Change{Action: c.Holds})
	rests := c.Action == None && c.Reason != ReasonFinished && c.State != session.StateRunning
	if !works && !rests {
		return c
	}
	c = held(c, ReasonOverBudget, over.String())
	if rests {
		c.Holds = ""
	}
	c.Remedy = session.Remedy{Code: session.RemedyIgnoreBudget, Address: c.Address}
	c.Until, c.Lifts = over.Until, nil
	return c
}
