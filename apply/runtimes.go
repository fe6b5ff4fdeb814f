package apply

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/session"
)

// runtimes opens the runtimes of sessions and shares observations of them.
type runtimes struct {
	open      func(session.RuntimeSpec) (session.Runtime, error)
	observers sync.Map // of *launch.Observer, by engine and whether screens are wanted
	removing  atomic.Int64
}

// of returns the runtime of a session.
func (r *runtimes) of(s session.Spec) (session.Runtime, error) { return r.open(s.Runtime) }

// lives returns the sessions of a session's runtime, with screens or without.
func (r *runtimes) lives(ctx context.Context, s session.Spec, screens bool) ([]session.Live, error) {
	o, _ := r.observers.LoadOrStore(fmt.Sprint(s.Runtime.Engine(), " ", screens), &launch.Observer{
		Observe: func(ctx context.Context) ([]session.Live, error) {
			rt, err := r.of(s)
			if err != nil {
				return nil, err
			}
			return rt.Observe(ctx, screens)
		},
		Gather: r.gather,
	})
	return o.(*launch.Observer).Lives(ctx, 0)
}

// remove removes a place.
func (r *runtimes) remove(ctx context.Context, rt session.Runtime, p session.Location) error {
	r.removing.Add(1)
	defer r.removing.Add(-1)
	return rt.Remove(ctx, p)
}

// revert puts back what was edited of a session's place; nil: it has none.
func (r *runtimes) revert(ctx context.Context, l *session.Live, s session.Spec) error {
	if l == nil || len(l.EditsBut(s.Lifecycle)) == 0 {
		return nil
	}
	rt, err := r.of(s)
	if err != nil {
		return err
	}
	reverter, can := rt.(session.Reverter)
	if !can {
		return fmt.Errorf("runtime %s cannot put back what was edited", s.Runtime.Key())
	}
	return reverter.Revert(ctx, l.Location, s)
}

// gatherTimeout bounds how long an observation waits for removals.
const gatherTimeout = 50 * time.Millisecond

// gather waits for the removals under way: each is followed by an observation, and one
// serves all that wait for it.
func (r *runtimes) gather(ctx context.Context) {
	for began := time.Now(); r.removing.Load() > 0 && time.Since(began) < gatherTimeout && ctx.Err() == nil; {
		time.Sleep(2 * time.Millisecond)
	}
}

// container returns the runtime of a session that has programs of its own; nil: the
// session has those of this machine.
func (r *runtimes) container(s session.Spec) (session.Container, error) {
	if !s.Runtime.Traits().OwnHome {
		return nil, nil
	}
	rt, err := r.of(s)
	if err != nil {
		return nil, err
	}
	c, is := rt.(session.Container)
	if !is {
		return nil, fmt.Errorf("runtime %s has no containers", s.Runtime.Key())
	}
	return c, nil
}

// named returns what has the name that a launch wants; nil: nothing, as far as can be
// seen.
func (r *runtimes) named(ctx context.Context, l session.Launch) *session.Live {
	lives, err := r.lives(ctx, l.Spec, false)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(lives, func(x session.Live) bool { return x.Location.Name == l.Name })
	if i < 0 {
		return nil
	}
	return &lives[i]
}
