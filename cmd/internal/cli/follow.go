package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// lookWait is how often wait and next look. A change must last for as long to
// count, so it is not made shorter.
const lookWait = 250 * time.Millisecond

// glance is one look at the sessions that are followed.
type glance struct {
	at       time.Time
	sessions []api.Session
	sights   []follow.Sight // of the same sessions
}

// of is what the glance shows of one session; nil: it is not there.
func (g glance) of(a session.Address) *api.Session {
	i := slices.IndexFunc(g.sessions, func(x api.Session) bool { return x.Address == a })
	if i < 0 {
		return nil
	}
	return &g.sessions[i]
}

// following follows the sessions that somebody means.
type following struct {
	*eyes
	meant  []session.Address
	all    bool                                  // also those that come to be
	agents map[session.Address]session.AgentSpec // of those that are meant
	runs   []string                              // of those that were looked at
}

// following opens the project for following the sessions that are typed, or all
// if none is.
func (a *app) following(typed []string) (*following, error) {
	_, s, err := a.recorded()
	if err != nil {
		return nil, err
	}
	e, err := a.eyes()
	if err != nil {
		return nil, err
	}
	f := &following{eyes: e, all: len(typed) == 0, agents: map[session.Address]session.AgentSpec{}}
	specs := e.project.manifest.Sessions
	if f.meant = addresses(specs, s.Sessions); !f.all {
		if f.meant, err = resolveAll(f.meant, typed); err != nil {
			return nil, err
		}
	}
	for _, spec := range specs {
		f.agents[spec.Address] = spec.Agent
	}
	for _, r := range s.Sessions {
		f.agents[r.Address] = r.Spec.Agent
	}
	return f, nil
}

// glance looks at them once.
func (f *following) glance(ctx context.Context) (glance, error) {
	s, err := f.look(ctx)
	if err != nil {
		return glance{}, err
	}
	g := glance{at: s.World.At}
	f.runs = f.runs[:0]
	for _, k := range s.known {
		if f.all || slices.Contains(f.meant, addressOf(k)) {
			if k.Record != nil {
				f.runs = append(f.runs, k.Record.Run.ID)
			}
			x := status.Of(k)
			g.sessions = append(g.sessions, x)
			g.sights = append(g.sights, f.sight(k, x))
		}
	}
	return g, nil
}

// told changes when a hook of a session that is followed tells something.
func (f *following) told() int64 { return f.activity.Heard(f.runs) }

// sight is what is followed of a session.
func (e *eyes) sight(k status.Input, x api.Session) follow.Sight {
	s := follow.Sight{
		Address: x.Address, State: x.State, Activity: x.Activity, Status: x.Status, Desired: x.Desired, Detail: x.Detail,
		Stuck: k.Stuck, Alive: x.Alive != nil && *x.Alive, OffBranch: x.BranchOK != nil && !*x.BranchOK,
	}
	if k.Stuck {
		s.StuckAt = stuckSince(k.Events)
	}
	if s.OffBranch {
		s.OffSince = switched(k.Checkout)
	}
	if look := k.Look; look != nil {
		s.TurnAt = look.TurnAt
		if x.Activity == session.Unobserved {
			s.Activity = k.Reading.Activity // whether it rests can be seen all the same
		}
	}
	if k.Wanted != nil {
		s.Priority = k.Wanted.Priority
	}
	if r := k.Record; r != nil {
		s.Recorded, s.Trouble, s.Run = true, r.Trouble != "", r.Run.ID
		s.UnderWay = r.Intent != session.Settled && r.Intent != session.Queued && !s.Trouble
		s.Given, s.Queued = activity.Given(*r, k.Events)
		if x := activity.IllnessOf(*r, k.Events); x != nil && x.Escalated {
			s.UnwellAt = x.At
		}
		if k.Wanted == nil {
			s.Priority = r.Spec.Priority
		}
	}
	if l := k.Live; l != nil {
		s.Moved = l.MovedAt
		if l.Exit != nil {
			s.Ended = l.Exit.At
		}
		s.Ready = k.Record != nil && s.Alive && x.State == session.StateRunning && takes(s.Activity) && e.activity.Agent(*k.Record).Ready(l.Screen)
		s.Prompt = s.Ready && k.Record.Spec.Agent.Ready != "" // without a pattern it is always taken for ready
	}
	s.Screen = k.Reading.Source == agent.FromScreen
	return s
}

// stuckSince returns when the hub told that a person is needed for a start, as the
// history of its session has it. Zero: not known.
func stuckSince(past []history.Event) time.Time {
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

// switched returns when a workspace was switched to the branch that it is on: git
// writes its HEAD then, and not when something is committed. Zero: not known.
func switched(co *session.Checkout) time.Time {
	if co == nil || co.GitDir == "" {
		return time.Time{}
	}
	info, err := os.Stat(filepath.Join(co.GitDir, "HEAD"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// takes reports whether an agent that does this may take a prompt.
func takes(a session.Activity) bool {
	return a == session.Idle || a == session.Done || a == session.NoActivity || a == session.Failed
}
