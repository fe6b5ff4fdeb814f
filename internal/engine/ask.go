package engine

import (
	"context"
	"maps"
	"sync"

	"github.com/agentform/agentform/session"
)

// Asked are runtimes that are being asked what they hold, while something else
// is done.
type Asked struct {
	screens bool
	begun   map[string]answer // by the runtime's engine
}

// answer waits for what a runtime says.
type answer func() ([]session.Live, error)

// Ask begins to ask the runtimes that the wanted sessions name, and does not
// wait: a World whose Observer have it in Asked takes its answers. What is changed
// after Ask may be missing in them, so whoever reads the state after it has to
// see that nobody wrote meanwhile. Canceling the context ends it.
func (e Observer) Ask(ctx context.Context, wanted []session.Spec, screens bool) *Asked {
	a := &Asked{screens: screens, begun: map[string]answer{}}
	for key, spec := range runtimes(wanted, nil) {
		a.begun[key] = e.ask(ctx, spec, screens)
	}
	return a
}

// answers are those that are of use to a look with screens or without.
func (a *Asked) answers(screens bool) map[string]answer {
	if a == nil || a.screens != screens {
		return map[string]answer{}
	}
	return maps.Clone(a.begun)
}

// ask begins to ask one runtime.
func (e Observer) ask(ctx context.Context, spec session.RuntimeSpec, screens bool) answer {
	type said struct {
		lives []session.Live
		err   error
	}
	answered := make(chan said, 1)
	go func() {
		rt, err := e.Runtime(spec)
		if err != nil {
			answered <- said{err: err}
			return
		}
		lives, err := rt.Observe(ctx, screens)
		answered <- said{lives, err}
	}()
	return sync.OnceValues(func() ([]session.Live, error) {
		s := <-answered
		return s.lives, s.err
	})
}
