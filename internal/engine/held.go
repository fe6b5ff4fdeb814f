package engine

import (
	"context"
	"sync"

	"github.com/agentform/agentform/session"
)

// held are workspaces that runtimes hold, because their sessions do not see this machine's
// files.
type held struct {
	mu      sync.Mutex
	engines map[string]answered // what was asked
	paths   map[string]string   // the engine of each path
}

// answered is what an engine says of its workspaces.
type answered struct {
	found []session.Checkout
	err   error
}

// heldPaths returns which workspaces are not on this machine.
func heldPaths(wanted []session.Spec, recorded []session.Record) func(path string) bool {
	of := engineOfPaths(wanted, recorded)
	return func(path string) bool { return of[path].Kind != "" }
}

// engineOfPaths returns the runtime of each workspace that a runtime holds, by its path.
func engineOfPaths(wanted []session.Spec, recorded []session.Record) map[string]session.RuntimeSpec {
	of := map[string]session.RuntimeSpec{}
	for _, s := range wanted {
		if !s.Runtime.Traits().HostFiles {
			of[s.Workspace.Path] = s.Runtime
		}
	}
	for _, r := range recorded {
		if !r.Spec.Runtime.Traits().HostFiles && r.Tree.Path != "" {
			of[r.Tree.Path] = r.Spec.Runtime
		}
	}
	return of
}

// find asks each runtime that has shown its sessions for its workspaces, unless their places show all of them.
func (h *held) find(ctx context.Context, open func(session.RuntimeSpec) (session.Runtime, error), wanted []session.Spec, recorded []session.Record, w *session.World) {
	of := engineOfPaths(wanted, recorded)
	if len(of) == 0 {
		return
	}
	shown := map[string]bool{}
	for _, l := range w.Lives {
		if l.Checkout != nil && !l.Foreign {
			shown[l.Checkout.Path] = true
		}
	}
	specs := map[string]session.RuntimeSpec{}
	h.engines, h.paths = map[string]answered{}, map[string]string{}
	for path, spec := range of {
		h.paths[path] = spec.Engine()
		if !shown[path] && w.Runtimes[spec.Engine()] == nil {
			specs[spec.Engine()] = spec
		}
	}
	var wg sync.WaitGroup
	for engine, spec := range specs {
		wg.Go(func() {
			rt, err := open(spec)
			if err != nil {
				return // its sessions report that the engine does not answer
			}
			x, ok := rt.(session.WorkspaceHolder)
			if !ok {
				return
			}
			found, err := x.Workspaces(ctx)
			h.mu.Lock()
			defer h.mu.Unlock()
			h.engines[engine] = answered{found, err}
		})
	}
	wg.Wait()
}

// add sets the checkouts of a world. A session's place has newer facts about its workspace than its
// engine. Those of an engine that has not shown its sessions are left out: nothing is known of them.
func (h *held) add(w *session.World) {
	for path, engine := range h.paths {
		if answer, asked := h.engines[engine]; asked {
			w.Checkouts[path] = session.Checkout{Path: path, Err: answer.err}
		}
	}
	for _, answer := range h.engines {
		for _, co := range answer.found {
			if h.paths[co.Path] != "" {
				w.Checkouts[co.Path] = co
			}
		}
	}
	for _, l := range w.Lives {
		if co := l.Checkout; co != nil && !l.Foreign && h.paths[co.Path] != "" {
			w.Checkouts[co.Path] = *co
		}
	}
}
