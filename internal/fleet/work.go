package fleet

import (
	"context"
	"sync/atomic"

	"github.com/agentform/agentform/internal/changes"
	"github.com/agentform/agentform/internal/conflicts"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// Work counts the changes of sessions' workspaces, and finds conflicts between them.
type Work struct {
	counter *changes.Counter
	finder  *conflicts.Finder
	busy    atomic.Bool
}

// NewWork returns a Work that keeps its results in a data directory.
func NewWork(dataDir string) *Work {
	return &Work{counter: changes.NewCounter(dataDir), finder: conflicts.NewFinder(dataDir)}
}

// Of returns the work of those sessions that are recorded. open opens the runtime of a session.
func Of(sessions []status.Input, open func(session.RuntimeSpec) (session.Runtime, error)) []conflicts.Work {
	var all []conflicts.Work
	for _, k := range sessions {
		if k.Record != nil {
			all = append(all, conflicts.Of(*k.Record, changes.Of(*k.Record, k.Workspace(), k.Live, open)))
		}
	}
	return all
}

// Due says whether the changes of a workspace are counted.
type Due int

// Recount counts them whatever is known of them.
const (
	Leave Due = iota
	Count
	Recount
)

// Start counts the changes of the workspaces that are due and finds the conflicts of all work, unless it
// does so already. It does that in run, and calls news if anything is new.
func (w *Work) Start(ctx context.Context, run func(func()), all []conflicts.Work, due func(session.Address) Due, news func()) {
	if w.busy.Load() {
		return
	}
	by := map[Due][]changes.Workspace{}
	for _, x := range all {
		d := due(x.Address)
		by[d] = append(by[d], x.Workspace)
	}
	if len(by[Count])+len(by[Recount]) == 0 {
		return
	}
	w.busy.Store(true)
	run(func() {
		defer w.busy.Store(false)
		counted := w.counter.Refresh(ctx, true, by[Recount]...) + w.counter.Refresh(ctx, false, by[Count]...)
		if w.finder.Refresh(ctx, conflicts.Counted(w.counter, all)) || counted > 0 {
			news()
		}
	})
}

// Known adds to sessions what was last counted and found. all is Of them.
func (w *Work) Known(sessions []status.Input, all []conflicts.Work) {
	all = conflicts.Counted(w.counter, all)
	found, next := w.finder.Known(all), 0
	for i := range sessions {
		if k := &sessions[i]; k.Record != nil {
			k.Changes, k.Conflicts = all[next].Count, found[all[next].Address]
			next++
		}
	}
}
