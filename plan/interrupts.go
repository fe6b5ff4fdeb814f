package plan

import (
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// Asks returns the sessions whose activity the plan depends on: those it ends, those that may
// be done, and dependencies.
func (p Plan) Asks() map[session.Address]bool {
	asked := map[session.Address]bool{}
	for _, c := range p.Changes {
		if c.ends() || c.Sends || c.finishable() {
			asked[c.Address] = true
		}
		if c.After != nil && (starts(c) || c.Action == Hold) {
			for _, a := range c.After.DependsOn {
				asked[a] = true
			}
		}
	}
	for a := range asked {
		if !slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Address == a && c.Before != nil }) {
			delete(asked, a)
		}
	}
	return asked
}

// ends reports whether the change ends a live agent.
func (c Change) ends() bool {
	if c.Live == nil || c.Live.Liveness != session.Alive {
		return false
	}
	ending := []Action{Restart, Replace, Delete, Stop}
	return slices.Contains(ending, c.Action) || slices.Contains(ending, c.Then)
}

// noteInterrupts notes what the agents do whose turn a change cuts off.
func noteInterrupts(j *join, changes []Change) {
	for i := range changes {
		c := &changes[i]
		does, known := j.doing(c.Address)
		if known && c.Sends && does.Activity == session.Blocked {
			c.Detail += "; it asks a question, which must be answered first"
		}
		if known && c.ends() && (does.Activity == session.Working || does.Activity == session.Blocked) {
			c.Interrupts, c.TurnLimit = &does, c.Before.Spec.Stop.AfterTurn
		}
	}
}

// AfterTurn returns the plan with a limit for the turns that are let end first.
func (p Plan) AfterTurn(limit func(session.Spec) time.Duration) Plan {
	p.Changes = slices.Clone(p.Changes)
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Interrupts != nil {
			c.TurnLimit = session.Duration(limit(c.Before.Spec))
		}
	}
	return p
}
