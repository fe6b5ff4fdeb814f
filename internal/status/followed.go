package status

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/session"
)

// Followed returns what wait, next and watch follow of a session with document x. adapt
// returns the adapter of a recorded session's agent.
func Followed(k Input, x api.Session, adapt func(session.Record) session.Agent) follow.Sight {
	s := follow.Sight{
		Address: x.Address, State: x.State, Activity: x.Activity, Status: x.Status, Desired: x.Desired, Detail: x.Detail,
		Stuck: k.Stuck, Alive: x.Alive != nil && *x.Alive, OffBranch: x.BranchOK != nil && !*x.BranchOK,
		Screen: x.Signal == agent.FromScreen, Moved: k.movedAt(),
	}
	if k.Stuck {
		s.StuckAt = escalatedAt(k.Events)
	}
	if s.OffBranch {
		s.OffSince = switchedAt(k.Checkout)
	}
	if look := k.Look; look != nil {
		s.TurnAt = look.TurnAt
		if x.Activity == session.Unobserved {
			s.Activity = look.Detection.Activity // its screen still tells whether it is idle
		}
	}
	if r := k.Record; r != nil {
		s.Recorded, s.ActionFailed, s.Run, s.Priority = true, r.LastError != "", r.Run.ID, r.Spec.Priority
		s.UnderWay = r.Intent != session.Settled && r.Intent != session.Queued && !s.ActionFailed
		s.Given, s.Queued = activity.Given(*r, k.Events)
		if x, escalated := activity.Illness(*r, k.Events); x != nil && escalated {
			s.UnwellAt = x.Time
		}
	}
	if k.Wanted != nil {
		s.Priority = k.Wanted.Priority
	}
	if l := k.Live; l != nil {
		if l.Exit != nil {
			s.Ended = l.Exit.At
		}
		s.Ready = k.Record != nil && s.Alive && x.State == session.StateRunning && takesPrompt(s.Activity) && adapt(*k.Record).Ready(l.Screen)
		s.Prompt = s.Ready && k.Record.Spec.Agent.Ready != "" // without a pattern it always counts as ready
	}
	return s
}

// escalatedAt returns when the hub reported that a start needs a person; zero if it is
// not in the history.
func escalatedAt(past []history.Event) time.Time {
	for _, e := range slices.Backward(past) {
		switch e.Kind {
		case history.Escalated:
			return e.Time
		case history.ApplyStart, history.Launched:
			return time.Time{}
		}
	}
	return time.Time{}
}

// switchedAt returns when a workspace was switched to its branch: git writes its HEAD
// then, and not for a commit. It is zero if that is not known.
func switchedAt(co *session.Checkout) time.Time {
	if co == nil || co.GitDir == "" {
		return time.Time{}
	}
	info, err := os.Stat(filepath.Join(co.GitDir, "HEAD"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// takesPrompt reports whether an agent with this activity may take a prompt.
func takesPrompt(a session.Activity) bool {
	return a == session.Idle || a == session.Done || a == session.NoActivity || a == session.Failed
}
