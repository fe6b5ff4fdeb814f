package hub

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Waker makes the hub look before its next sweep. It may miss events, which the sweep
// then sees.
type Waker interface {
	// Watch sets what to watch. It returns immediately.
	Watch(Watched)
	// Run calls wake, from any goroutine, until ctx ends. An error means that it cannot
	// watch any more.
	Run(ctx context.Context, wake func()) error
}

// Watched is what wakers watch.
type Watched struct {
	// Agents are the processes of the agents that live on this host.
	Agents []session.Process
	// Files are the state, the HEADs of the workspaces, what the hooks of the runs
	// report, and the exits of runs in containers and of those that may be ending.
	Files []string
}

// startWakers runs wakers until stop is called.
func startWakers(ctx context.Context, wakers []Waker, wake func(), log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, w := range wakers {
		running.Go(func() {
			if err := w.Run(ctx, wake); err != nil && ctx.Err() == nil {
				log.Warn("changes are seen by the sweep only", "error", err)
			}
		})
	}
	return func() { cancel(); running.Wait() }
}

// watched returns what wakers watch from now on.
func watched(s *Snapshot, statePath, dataDir string) Watched {
	w := Watched{Files: []string{statePath, state.JournalOf(statePath)}}
	for _, k := range s.Sessions {
		if co := k.Checkout; co != nil && co.GitDir != "" {
			w.Files = append(w.Files, filepath.Join(co.GitDir, "HEAD"))
		}
		l := k.Live
		switch {
		case l != nil && l.Liveness == session.Alive:
			run := filepath.Join(dataDir, "runs", l.Mark.Run)
			w.Files = append(w.Files, filepath.Join(run, "signals.jsonl"))
			if !l.Location.Traits().HostProcesses {
				w.Files = append(w.Files, filepath.Join(run, "exit"))
			} else if l.Agent.PID > 0 {
				w.Agents = append(w.Agents, l.Agent)
			}
		case l != nil && l.Liveness == session.Unknown: // its shim may still end what the agent left behind
			w.Files = append(w.Files, filepath.Join(dataDir, "runs", l.Mark.Run, "exit"))
		}
	}
	return w
}
