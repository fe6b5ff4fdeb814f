package engine

import (
	"context"

	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// answer waits for what a runtime shows.
type answer func() ([]session.Live, error)

// ask starts to observe a runtime.
func (o Observer) ask(ctx context.Context, spec session.RuntimeSpec, screens bool) answer {
	var lives []session.Live
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		var rt session.Runtime
		if rt, err = o.Runtime(spec); err == nil {
			lives, err = rt.Observe(ctx, screens)
		}
	}()
	return func() ([]session.Live, error) {
		<-done
		return lives, err
	}
}

// prefetch starts to observe the runtimes of the wanted sessions before the state is
// read. The function that it returns gives the answers, by engine, if the state has not
// changed since.
func (e *Engine) prefetch(ctx context.Context, wanted []session.Spec) func(state.State) map[string]answer {
	started := map[string]answer{}
	lineage, err := state.Lineage(e.StatePath, e.Applier.OutputsDir)
	serial, err2 := state.Serial(e.StatePath)
	if err == nil && err2 == nil { // else reading the state reports it
		o := e.Observer
		o.Runtime = e.runtimes(lineage)
		for key, spec := range runtimes(wanted, nil) {
			started[key] = o.ask(ctx, spec, false)
		}
	}
	return func(st state.State) map[string]answer {
		if st.Lineage != lineage || st.Serial != serial {
			return nil
		}
		return started
	}
}
