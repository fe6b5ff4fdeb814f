package plan

import (
	"fmt"

	"github.com/agentform/agentform/session"
)

// unobserved tells of sessions that were given something and could not be observed
// for longer than they may: something is wrong with their files, or with where
// they are looked for. It is told and nothing is done: that a file is not there
// says nothing about the life of an agent.
func (s *scene) unobserved(changes []Change) []session.Diagnostic {
	var told []session.Diagnostic
	for _, c := range changes {
		if c.Before == nil || !s.in.World.Overdue[c.Before.Run.ID] || c.Live == nil || c.Live.Vital != session.Alive {
			continue
		}
		told = append(told, problem(c.Address, ReasonUnobserved,
			fmt.Sprintf("its session file cannot be found, for longer than unobserved_for = %s", c.Before.Spec.Agent.UnobservedFor),
			"its agent lives, and nothing is done with it; its screen shows what it does: agentform capture "+shell(string(c.Address))))
	}
	return told
}
