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
	// mostPast bounds the list of earlier runs if their directories cannot be removed.
	mostPast = 20
)

// runDir returns the directory of a run.
func runDir(dataDir, run string) string { return filepath.Join(dataDir, "runs", run) }

// replaced returns the earlier runs of a session whose run ends, the newest first,
// and removes the directories of all but the newest. A run that still has a live
// process, or whose directory cannot be removed, stays in the list: the next
// restart tries again.
func (r *run) replaced(rec session.Record) []string {
	past := slices.Clone(rec.Past)
	if id := rec.Run.ID; id != "" && !slices.Contains(past, id) {
		past = slices.Insert(past, 0, id)
	}
	if len(past) > keptRuns {
		past = append(past[:keptRuns], r.removeRuns(past[keptRuns:])...)
	}
	return past[:min(len(past), mostPast)]
}

// removeRuns removes the directories of runs and returns those that stay.
func (r *run) removeRuns(runs []string) []string {
	return slices.DeleteFunc(slices.Clone(runs), func(id string) bool {
		return !r.Facts(id).Alive && rundir.Remove(runDir(r.DataDir, id)) == nil
	})
}

// dropRuns removes the directories of all runs of a session that is not in the state
// any more. What cannot be removed is left to agentform prune.
func (r *run) dropRuns(rec session.Record) {
	r.removeRuns(slices.DeleteFunc(append(slices.Clone(rec.Past), rec.Run.ID), func(id string) bool { return id == "" }))
}
