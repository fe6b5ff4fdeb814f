package plan

import (
	"fmt"

	"github.com/agentform/agentform/session"
)

// unobserved returns a problem for each session that was unobserved for too long and is not ended.
// It has no other effect: a missing file is no evidence about an agent.
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
