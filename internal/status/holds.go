package status

import (
	"slices"
	"strings"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

func Changes(p plan.Plan) map[session.Address]plan.Change {
	changes := make(map[session.Address]plan.Change, len(p.Changes))
	for _, c := range p.Changes {
		changes[c.Address] = c
	}
	return changes
}

// AnnotateHolds adds to recorded sessions what the hub does with them, or why it waits.
func AnnotateHolds(all []Input, changes map[session.Address]plan.Change) {
	for i := range all {
		if c, ok := changes[all[i].Address()]; ok {
			all[i].Hold(c)
		}
	}
}

// Forecast adds a hub's next action to sessions that have exited or are queued. For secrets it uses
// a hub's last result. hub means that one is running.
func Forecast(all []Input, changes map[session.Address]plan.Change, hub bool) {
	for i := range all {
		k := &all[i]
		if k.Record == nil {
			continue
		}
		c := changes[k.Address()]
		if hub {
			c = missingSecret(c, *k)
		}
		switch {
		case k.Record.Intent == session.Queued:
			k.Hold(holdQueued(c, hub))
		case c.Restarts != nil && (hub || c.Reason == plan.ReasonBudgetSpent):
			k.Hold(c)
		}
	}
}

func holdQueued(c plan.Change, hub bool) plan.Change {
	c.Restarts = nil
	if !c.Action.Acts() {
		return c
	}
	c.Action, c.Detail = plan.Hold, "can start now: agentform apply"
	if hub {
		c.Detail = "about to be started by the hub"
	}
	return c
}

func missingSecret(c plan.Change, k Input) plan.Change {
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

// Hold adds to a session what the hub does with it, or why it waits. It may be repeated.
func (k *Input) Hold(c plan.Change) {
	k.Restarts = c.Restarts
	k.Stuck = c.Stuck()
	k.Queue = c.Place
	if c.Action != plan.Hold && !k.Stuck {
		return
	}
	k.Diagnosis.State = c.State
	if k.Record != nil && k.Record.Intent == session.Queued {
		k.Diagnosis.Detail = c.Detail
		return
	}
	switch d := k.Diagnosis.Detail; {
	case d == "" || strings.Contains(c.Detail, d):
		k.Diagnosis.Detail = c.Detail
	case !strings.HasSuffix(d, c.Detail):
		k.Diagnosis.Detail += "; " + c.Detail
	}
}
