// Package watch follows sessions until something is so of them.
package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Observation is one look at the sessions that are meant.
type Observation struct {
	At       time.Time
	Sessions []api.Session
	Sights   []follow.Sight // of the same sessions
}

func (g Observation) index(a session.Address) int {
	return slices.IndexFunc(g.Sessions, func(x api.Session) bool { return x.Address == a })
}

// Of returns a session; nil: there is none.
func (g Observation) Of(a session.Address) *api.Session {
	if i := g.index(a); i >= 0 {
		return &g.Sessions[i]
	}
	return nil
}

// Verdict returns Over for a session that is gone.
func (g Observation) Verdict(a session.Address, goals ...follow.Goal) follow.Verdict {
	switch i := g.index(a); {
	case i >= 0:
		return g.Sights[i].Verdict(goals...)
	case g.At.IsZero():
		return follow.Waiting
	}
	return follow.Over
}

// Selection are the sessions that a command follows.
type Selection struct {
	*fleet.Observer
	Named []session.Address
	all   bool                             // all, also those that come to be
	Role  string                           // of those that are meant; empty: any
	specs map[session.Address]session.Spec // of those that are meant
	runs  []string                         // of those that were looked at
}

// Select returns the sessions that are meant, or all if none are named or chosen.
func Select(p *project.Project, s state.State, o choose.Sessions) (_ *Selection, err error) {
	f := &Selection{Observer: project.Fleet(p), all: len(o.Typed) == 0 && !o.ByFlag(), specs: map[session.Address]session.Spec{}}
	specs := p.Manifest.Sessions
	switch f.Named = choose.Addresses(specs, s.Sessions); {
	case o.ByFlag():
		f.Named, err = o.Recorded(specs, s.Sessions)
	case !f.all:
		f.Named, err = choose.All(f.Named, o.Typed)
	}
	if err != nil {
		return nil, err
	}
	for _, spec := range specs {
		f.specs[spec.Address] = spec
	}
	for _, r := range s.Sessions {
		f.specs[r.Address] = r.Spec
	}
	return f, nil
}

func (f *Selection) observe(ctx context.Context) (Observation, error) {
	s, err := f.Look(ctx)
	if err != nil {
		return Observation{}, err
	}
	g := Observation{At: s.World.At}
	f.runs = f.runs[:0]
	for _, k := range s.Known {
		x := status.Of(k)
		if !f.all && !slices.Contains(f.Named, x.Address) || f.Role != "" && x.Role != f.Role {
			continue
		}
		if k.Record != nil {
			f.runs = append(f.runs, k.Record.Run.ID)
		}
		g.Sessions = append(g.Sessions, x)
		g.Sights = append(g.Sights, status.Followed(k, x))
	}
	return g, nil
}

// oneLook is how long the first look of a command may take although its --timeout is shorter.
const oneLook = 2 * time.Second

// ErrTimedOut ends Follow after its timeout.
var ErrTimedOut = errors.New("timed out")

// Follow observes the sessions until see is done, and at once when a hook reports something. It fails
// with ErrTimedOut after timeout, and after one look at the earliest; 0: never. It ends without an error if
// ctx ends.
func (f *Selection) Follow(ctx context.Context, every, timeout time.Duration, see func(Observation) (done bool, err error)) error {
	defer f.Wait()
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	var limit *time.Timer
	deadline := time.Now().Add(timeout)
	looked := func() bool { return false }
	if timeout > 0 {
		looked = time.AfterFunc(max(timeout, oneLook), cancel).Stop
		defer looked()
	}
	for g, err := range follow.Looks(limited, every, func() int64 { return f.Activity.Heard(f.runs) + f.News() }, f.observe) {
		if err != nil {
			return err
		}
		looked()
		if limit == nil && timeout > 0 { // after one look, however short the timeout is
			limit = time.AfterFunc(time.Until(deadline), cancel)
			defer limit.Stop()
		}
		if done, err := see(g); done || err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return ErrTimedOut
}

// Needy returns a need with its session.
func (g Observation) Needy(n follow.Need) view.Needy {
	return view.Needy{Session: *g.Of(n.Address), Priority: n.Priority, Reason: string(n.Reason), Since: n.Since}
}

// Waiting returns the sessions whose start waits.
func (g Observation) Waiting() []api.Session {
	return slices.DeleteFunc(slices.Clone(g.Sessions), func(x api.Session) bool {
		return x.State != session.StatePending || x.ID == "" || x.Detail == ""
	})
}

// Waits says what they wait for, a line each, after a line break.
func (g Observation) Waits() string {
	text := ""
	for _, x := range g.Waiting() {
		text += fmt.Sprintf("\n%s: %s", x.Address, x.Detail)
	}
	return text
}

// ErrNothingToWaitFor returns the error of a wait for sessions that cannot need attention.
func ErrNothingToWaitFor(role string, g Observation) error {
	whose := ""
	if role != "" {
		whose = fmt.Sprintf(" of role %q", role)
	}
	if len(g.Sessions) == 0 {
		return fmt.Errorf("there is no session%s to wait for", whose)
	}
	return fmt.Errorf("no running session%s can need attention (%s)\nagentform apply starts what the manifest declares%s", whose, g.Words(), g.Waits())
}

// Words counts the sessions by what they do.
func (g Observation) Words() string {
	return view.Tallied(g.Sessions)
}

// Bell says when a session comes to need attention after the first look.
type Bell struct {
	first time.Time
	known map[follow.Need]bool
}

// Rings reports whether one of the needs of a look is new.
func (b *Bell) Rings(at time.Time, needs []follow.Need) (rings bool) {
	if b.first.IsZero() {
		b.first = at
	}
	now := map[follow.Need]bool{}
	for _, n := range needs {
		now[n] = true
		rings = rings || !b.known[n] && n.Since.After(b.first)
	}
	b.known = now
	return rings
}

// Supervisor returns whether a hub runs.
func Supervisor(s *fleet.Snapshot) api.Supervisor {
	switch {
	case !s.Supervised:
		return api.HubDown
	case hub.Suspended(s.Holder):
		return api.HubSuspended
	}
	return api.HubRuns
}
