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

// runDirs are the directories of runs.
type runDirs struct {
	dataDir string
	facts   func(run string) session.RunFacts
}

// dir returns the directory of a run.
func (d runDirs) dir(run string) string { return filepath.Join(d.dataDir, "runs", run) }

// replaced returns the earlier runs of a session whose run ends, the newest first, and
// removes the directories of all but the newest. A run that still has a live process,
// or whose directory cannot be removed, stays in the list: the next restart tries again.
func (d runDirs) replaced(rec session.Record) []string {
	past := slices.Clone(rec.Past)
	if id := rec.Run.ID; id != "" && !slices.Contains(past, id) {
		past = slices.Insert(past, 0, id)
	}
	if len(past) > keptRuns {
		past = append(past[:keptRuns], d.remove(past[keptRuns:])...)
	}
	return past[:min(len(past), maxPast)]
}

// remove removes the directories of runs and returns those that stay.
func (d runDirs) remove(runs []string) []string {
	return slices.DeleteFunc(slices.Clone(runs), func(id string) bool {
		return id == "" || !d.facts(id).Alive && rundir.Remove(d.dir(id)) == nil
	})
}

// drop removes the directories of all runs of a session that left the state. What cannot
// be removed is left to agentform prune.
func (d runDirs) drop(rec session.Record) { d.remove(append(slices.Clone(rec.Past), rec.Run.ID)) }
