package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// observe observes all sessions of the project once.
func observe(ctx context.Context, a *app) (*project.Project, *fleet.Snapshot, error) {
	p, e, err := openObserver(a)
	if err != nil {
		return p, nil, err
	}
	s, err := e.Look(ctx)
	return p, s, err
}

// openObserver prints the first error of a faulty manifest: recorded sessions are shown
// without it.
func openObserver(a *app) (*project.Project, *fleet.Observer, error) {
	p, _, err := a.State()
	if err != nil {
		return p, nil, err
	}
	if broken(p) {
		first := slices.IndexFunc(p.Problems, func(d session.Diagnostic) bool { return d.Severity == session.Error })
		a.Warn(p.Problems[first : first+1])
		if more := len(p.Problems) - 1; more > 0 {
			a.Say(fmt.Sprintf("\nThe manifest has %s: agentform validate", plaintext.Count(more, "more problem")))
		}
	}
	return p, project.Fleet(p), nil
}

// broken reports whether there is a manifest, and it has errors.
func broken(p *project.Project) bool {
	return session.HasErrors(p.Problems) && (len(p.Manifest.Files) > 0 || len(p.Files) > 0)
}

// declaredIn returns the addresses of a snapshot's sessions and of those that the manifest has.
func declaredIn(p *project.Project, s *fleet.Snapshot) []session.Address {
	return choose.Addresses(p.Manifest.Sessions, s.State.Sessions)
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

type observation struct {
	at       time.Time
	sessions []api.Session
	sights   []follow.Sight // of the same sessions
}

func (g observation) index(a session.Address) int {
	return slices.IndexFunc(g.sessions, func(x api.Session) bool { return x.Address == a })
}

func (g observation) of(a session.Address) *api.Session {
	if i := g.index(a); i >= 0 {
		return &g.sessions[i]
	}
	return nil
}

// verdict returns Over for a session that is gone.
func (g observation) verdict(a session.Address, goals ...follow.Goal) follow.Verdict {
	switch i := g.index(a); {
	case i >= 0:
		return g.sights[i].Verdict(goals...)
	case g.at.IsZero():
		return follow.Waiting
	}
	return follow.Over
}

type selection struct {
	*fleet.Observer
	named []session.Address
	all   bool                             // all, also those that come to be
	role  string                           // of those that are meant; empty: any
	specs map[session.Address]session.Spec // of those that are meant
	runs  []string                         // of those that were looked at
}

// openSelection returns the sessions that are meant, or all if none are named or chosen.
func openSelection(a *app, o sessionArgs) (*selection, error) {
	_, s, err := a.State()
	if err != nil {
		return nil, err
	}
	p, e, err := openObserver(a)
	if err != nil {
		return nil, err
	}
	f := &selection{Observer: e, all: len(o.Typed) == 0 && !o.ByFlag(), specs: map[session.Address]session.Spec{}}
	specs := p.Manifest.Sessions
	switch f.named = choose.Addresses(specs, s.Sessions); {
	case o.ByFlag():
		f.named, err = o.Recorded(specs, s.Sessions)
	case !f.all:
		f.named, err = choose.All(f.named, o.Typed)
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

func (f *selection) observe(ctx context.Context) (observation, error) {
	s, err := f.Look(ctx)
	if err != nil {
		return observation{}, err
	}
	g := observation{at: s.World.At}
	f.runs = f.runs[:0]
	for _, k := range s.Known {
		x := status.Of(k)
		if !f.all && !slices.Contains(f.named, x.Address) || f.role != "" && x.Role != f.role {
			continue
		}
		if k.Record != nil {
			f.runs = append(f.runs, k.Record.Run.ID)
		}
		g.sessions = append(g.sessions, x)
		g.sights = append(g.sights, status.Followed(k, x))
	}
	return g, nil
}

// oneLook is how long the first look of a command may take although its --timeout is shorter.
const oneLook = 2 * time.Second

var errTimedOut = errors.New("timed out")

// follow observes the sessions until see is done, and at once when a hook reports something.
func (f *selection) follow(ctx context.Context, every, timeout time.Duration, see func(observation) (done bool, err error)) error {
	ctx, stop := streams.UntilInterrupted(ctx)
	defer stop()
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
		return exit.Interrupted
	}
	return errTimedOut
}
