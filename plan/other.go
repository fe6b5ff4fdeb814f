package plan

import (
	"fmt"
	"slices"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// MayStart reports whether the plan starts an agent, or would without a problem.
func (p Plan) MayStart() bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool {
		return starts(c) || c.Before == nil && c.Live == nil && c.Import == "" && c.After.Desired != session.Stopped
	})
}

// otherAgent returns the problem of a session next to whose agent another one would run: an
// agent of the session that is not in the state, since that was lost, replaced or copied, or
// any agent in the session's workspace.
func otherAgent(j *join, c Change) (session.Diagnostic, bool) {
	if c.After == nil {
		return session.Diagnostic{}, false
	}
	path := ""
	if c.After.Runtime.Traits().HostFiles { // else it is a path somewhere else
		path = c.After.Workspace.Path
	}
	works := func(in string) bool { return in != "" && in == path }
	adopted := ""
	if c.Live != nil {
		adopted = c.Live.Mark.Run
	}
	for _, l := range j.lost {
		if l.Mark.Run == adopted {
			continue
		}
		if l.Mark.Address == c.Address || works(l.Dir) {
			fix := session.Remedy{Code: session.RemedyEndAgent, Address: c.Address, End: l.Location.CommandLine(l.Location.Traits().End, plaintext.ShellWord)}
			if len(j.records) == 0 && (l.Spec != nil || l.Location.Traits().HostProcesses) {
				fix.Code = session.RemedyRebuildOrEnd
			}
			return agentRuns(c, l.Mark.Address, true, "in "+where(l.Location), fix), true
		}
	}
	for _, s := range j.in.World.Strays {
		if s.Run != adopted && (s.Ours && s.Address == c.Address || works(s.Dir)) {
			fix := session.Remedy{Code: session.RemedyEndAgent, Address: c.Address, End: fmt.Sprintf("kill %d", s.Process.PID)}
			as := fmt.Sprintf("as process %d", s.Process.PID)
			if !s.Ours && s.Project != "" && s.Address != "" {
				fix.Code, fix.Holder, fix.HolderPath = session.RemedyStopOther, s.Address, s.Project
				as += " of the project " + s.Project
			}
			return agentRuns(c, s.Address, s.Ours, as, fix), true
		}
	}
	return session.Diagnostic{}, false
}

// lostAgents returns what lives of this project whose state is lost.
func lostAgents(in Input) (lost []session.Live) {
	for i := range in.World.Lives {
		l := &in.World.Lives[i]
		hasRun := l.Spec != nil // in this data directory, also if that was moved
		if (l.Ours || hasRun) && l.Mark.Project != in.Lineage && l.PlaceUp && l.Liveness != session.Dead {
			lost = append(lost, *l)
		}
	}
	return lost
}

// agentRuns returns the problem of an agent of a session, of this project or another one.
func agentRuns(c Change, of session.Address, ours bool, as string, fix session.Remedy) session.Diagnostic {
	if ours && of == c.Address {
		return fixable(fix, ReasonAgentRuns, "its agent still runs, and its state is lost", fmt.Sprintf("it runs %s, and is not in the state", as))
	}
	return fixable(fix, ReasonAgentRuns, "another agent works in its workspace",
		fmt.Sprintf("an agent of %s, which is not in the state, runs %s in %s", of, as, c.After.Workspace.Path))
}
