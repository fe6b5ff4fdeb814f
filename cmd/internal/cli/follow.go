package cli

import (
	"context"
	"slices"
	"time"

	"github.com/agentform/agentform/api"
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
func newFollowing(a *app, typed []string) (*following, error) {
	_, s, err := a.openState()
	if err != nil {
		return nil, err
	}
	e, err := openEyes(a)
	if err != nil {
		return nil, err
	}
	f := &following{eyes: e, all: len(typed) == 0, agents: map[session.Address]session.AgentSpec{}}
	specs := e.project.Manifest.Sessions
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
		if f.all || slices.Contains(f.meant, k.Address()) {
			if k.Record != nil {
				f.runs = append(f.runs, k.Record.Run.ID)
			}
			x := status.Of(k)
			g.sessions = append(g.sessions, x)
			g.sights = append(g.sights, status.Followed(k, x, f.activity.Agent))
		}
	}
	return g, nil
}

// told changes when a hook of a session that is followed tells something.
func (f *following) told() int64 { return f.activity.Heard(f.runs) }
