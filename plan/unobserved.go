package plan

import (
	"fmt"

	"github.com/agentform/agentform/session"
)

// unobserved returns a problem for each session that was unobserved for too long, and is
// not ended. Nothing else is done: a missing file says nothing about an agent's life.
func unobserved(w session.World, changes []Change) []session.Diagnostic {
	var told []session.Diagnostic
	for _, c := range changes {
		if c.Before == nil || !w.Overdue[c.Before.Run.ID] || c.Live == nil || c.Live.Liveness != session.Alive || c.ends() {
			continue
		}
		told = append(told, fixable(session.Remedy{Code: session.RemedySearchFile, Address: c.Address}, ReasonUnobserved,
			fmt.Sprintf("its session file cannot be found, for longer than unobserved_for = %s", c.Before.Spec.Agent.UnobservedFor),
			"its agent keeps running"))
	}
	return told
}
