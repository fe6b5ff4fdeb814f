package fleet

import (
	"context"

	"github.com/agentform/agentform/internal/changes"
	"github.com/agentform/agentform/internal/conflicts"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// Work counts the changes of sessions' workspaces, and finds conflicts between them.
type Work struct {
	counter *changes.Counter
	finder  *conflicts.Finder
}

// NewWork returns a Work that keeps its results in a data directory.
func NewWork(dataDir string) Work {
	return Work{changes.NewCounter(dataDir), conflicts.NewFinder(dataDir)}
}

// Of returns the work of those sessions that are recorded. open opens the runtime of a session.
func Of(sessions []status.Input, open func(session.RuntimeSpec) (session.Runtime, error)) []conflicts.Work {
	var all []conflicts.Work
	for _, k := range sessions {
		if k.Record != nil {
			all = append(all, conflicts.Of(*k.Record, changes.Of(*k.Record, *k.Checkout, k.Live, open)))
		}
	}
	return all
}

// Refresh counts the changes of workspaces, of those in whole whatever is known of them, finds the
// conflicts of all work, and reports whether anything is new.
func (w Work) Refresh(ctx context.Context, all []conflicts.Work, whole, some []changes.Workspace) bool {
	counted := w.counter.Refresh(ctx, true, whole...) + w.counter.Refresh(ctx, false, some...)
	return w.finder.Refresh(ctx, conflicts.Counted(w.counter, all)) || counted > 0
}

// Known adds to sessions what was last counted and found. all is Of them.
func (w Work) Known(sessions []status.Input, all []conflicts.Work) {
	all = conflicts.Counted(w.counter, all)
	found, next := w.finder.Known(all), 0
	for i := range sessions {
		if k := &sessions[i]; k.Record != nil {
			k.Changes, k.Conflicts = all[next].Count, found[all[next].Address]
			next++
		}
	}
}
