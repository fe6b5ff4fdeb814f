package hub

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Waker notices that something happened, and has the hub look before its sweep is
// due. It may notice nothing: the sweep is the backstop.
type Waker interface {
	// Watch says what counts from now on. It does not wait.
	Watch(Watched)
	// Run notices until ctx ends. It calls wake from any goroutine, as often as it
	// likes. An error is that it cannot notice anything (any more).
	Run(ctx context.Context, wake func()) error
}

// Watched is what wakers watch.
type Watched struct {
	// Agents are the processes of the agents that live on this host.
	Agents []session.Process
	// Files are those of which it counts that they are written: the state, the HEADs
	// of the workspaces, what the hooks of the runs tell, and how those in containers
	// ended.
	Files []string
}

// startWakers lets the wakers notice, until the function that it returns is called.
func (h *Hub) startWakers(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, w := range h.cfg.Wakers {
		running.Go(func() {
			if err := w.Run(ctx, h.Wake); err != nil && ctx.Err() == nil {
				h.log.Warn("what happens is noticed later: by the sweep only", "error", err)
			}
		})
	}
	return func() { cancel(); running.Wait() }
}

// watch tells the wakers what a look saw.
func (h *Hub) watch(s *Snapshot) {
	if len(h.cfg.Wakers) == 0 {
		return
	}
	w := Watched{Files: []string{h.rec.StatePath, state.JournalOf(h.rec.StatePath)}}
	for _, k := range s.Sessions {
		if co := k.Checkout; co != nil && co.GitDir != "" {
			w.Files = append(w.Files, filepath.Join(co.GitDir, "HEAD"))
		}
		if l := k.Live; l != nil && l.Vital == session.Alive {
			if l.Agent.PID > 0 && l.Place.Container == "" {
				w.Agents = append(w.Agents, l.Agent)
			}
			run := filepath.Join(h.cfg.DataDir, "runs", l.Mark.Run)
			w.Files = append(w.Files, filepath.Join(run, "signals.jsonl"))
			if l.Place.Container != "" { // its processes are none of this host's
				w.Files = append(w.Files, filepath.Join(run, "exit"))
			}
		}
	}
	for _, x := range h.cfg.Wakers {
		x.Watch(w)
	}
}
