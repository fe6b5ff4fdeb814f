package hub

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentform/agentform/internal/changes"
	"github.com/agentform/agentform/internal/conflicts"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/session"
)

// checkInterval is how often a workspace is checked for changes while its session has no
// output.
const checkInterval = time.Minute

// counting counts the changes of workspaces, and finds their conflicts, besides the hub's looks.
type counting struct {
	counter *changes.Counter
	finder  *conflicts.Finder
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
		counted := x.counter.Refresh(ctx, true, ended...) + x.counter.Refresh(ctx, false, moved...)
		if x.finder.Refresh(ctx, conflicts.Counted(x.counter, all)) || counted > 0 {
			x.wake() // for the next snapshot
		}
	})
}

// works returns the work of the sessions of a snapshot.
func (x *counting) works(s *Snapshot) []conflicts.Work {
	all := make([]conflicts.Work, len(s.Sessions))
	for i, k := range s.Sessions {
		all[i] = conflicts.Of(*k.Record, changes.Of(*k.Record, *k.Checkout, k.Live, func(spec session.RuntimeSpec) (session.Runtime, error) {
			return x.engine.Opened(s.Lineage, spec)
		}))
	}
	return all
}

// known adds the last counts, and what was last found.
func (x *counting) known(s *Snapshot) {
	all := conflicts.Counted(x.counter, x.works(s))
	found := x.finder.Known(all)
	for i, w := range all {
		s.Sessions[i].Changes, s.Sessions[i].Conflicts = w.Count, found[w.Address]
	}
}
