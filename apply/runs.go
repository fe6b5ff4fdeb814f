package apply

import (
	"path/filepath"
	"slices"

	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

const (
	// keptRuns is how many earlier runs of a session keep their directory, so that
	// someone can see how the last ones ended.
	keptRuns = 3
	// maxPast bounds the list of earlier runs if their directories cannot be removed.
	maxPast = 20
)

// runDir returns the directory of a run.
func (a *Applier) runDir(run string) string { return filepath.Join(a.DataDir, "runs", run) }

// pastRuns returns the earlier runs of a session whose run ends, the newest first, and
// removes the directories of all but the newest. A run that still has a live process,
// or whose directory cannot be removed, stays in the list: the next restart tries again.
func (a *Applier) pastRuns(rec session.Record) []string {
	past := slices.Clone(rec.Past)
	if id := rec.Run.ID; id != "" && !slices.Contains(past, id) {
		past = slices.Insert(past, 0, id)
	}
	if len(past) > keptRuns {
		past = append(past[:keptRuns], a.removeRuns(past[keptRuns:])...)
	}
	return past[:min(len(past), maxPast)]
}

// removeRuns removes the directories of runs and returns those that stay.
func (a *Applier) removeRuns(runs []string) []string {
	return slices.DeleteFunc(slices.Clone(runs), func(id string) bool {
		return id == "" || !a.Facts(id).Alive && rundir.Remove(a.runDir(id)) == nil
	})
}

// dropRuns removes the directories of all runs of a session that left the state. What cannot
// be removed is left to agentform prune.
func (a *Applier) dropRuns(rec session.Record) {
	a.removeRuns(append(slices.Clone(rec.Past), rec.Run.ID))
}
