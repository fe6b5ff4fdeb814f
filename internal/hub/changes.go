package hub

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentform/agentform/internal/changes"
	"github.com/agentform/agentform/internal/conflicts"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/session"
)

// checkInterval is how often a workspace is checked for changes while its session has no
// output.
const checkInterval = time.Minute

// counting counts the changes of workspaces, and finds their conflicts, besides the hub's looks.
type counting struct {
	results fleet.Work
	engine  *engine.Engine
	work    *sync.WaitGroup
	wake    func()
	busy    atomic.Bool
}

// start counts the changes of the workspaces whose session has had output, or that were
// not checked for long. After the end of a turn they are counted whatever is known of them.
func (x *counting) start(ctx context.Context, s *Snapshot, memories map[session.Address]*memory) {
	if x.busy.Load() {
		return
	}
	var moved, ended []changes.Workspace
	all := x.works(s)
	for i, k := range s.Sessions {
		m := memories[k.Record.Address]
		// The time of the last output is in whole seconds.
		if !m.turnOver && m.movedAt.Add(time.Second).Before(m.checkedAt) && s.At.Sub(m.checkedAt) < checkInterval {
			continue
		}
		if w := all[i].Workspace; m.turnOver {
			ended = append(ended, w)
		} else {
			moved = append(moved, w)
		}
		m.checkedAt, m.turnOver = s.At, false
	}
	if len(moved)+len(ended) == 0 {
		return
	}
	x.busy.Store(true)
	x.work.Go(func() {
		defer x.busy.Store(false)
		if x.results.Refresh(ctx, all, ended, moved) {
			x.wake() // for the next snapshot
		}
	})
}

// works returns the work of the sessions of a snapshot.
func (x *counting) works(s *Snapshot) []conflicts.Work {
	return fleet.Of(s.Sessions, func(spec session.RuntimeSpec) (session.Runtime, error) { return x.engine.Opened(s.Lineage, spec) })
}

// known adds the last counts, and what was last found.
func (x *counting) known(s *Snapshot) { x.results.Known(s.Sessions, x.works(s)) }
