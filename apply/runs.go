package apply

import (
	"os"
	"slices"

	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

const (
	keptRuns = 3  // earlier runs of a session that keep their directory
	maxPast  = 20 // earlier runs that are listed if their directories cannot be removed
)

func (a *Applier) runDir(run string) string { return layout.Data{Dir: a.DataDir}.Run(run) }

// pastRuns returns the earlier runs of a session whose run ends, the newest first, and removes the
// directories of all but the newest. The others stay in the list until that succeeds and they have
// no process.
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

// dropRuns removes the directories of a session that left the state, and the copies of its
// agent's files. What cannot be removed is left to agentform prune.
func (a *Applier) dropRuns(rec session.Record) {
	a.removeRuns(append(slices.Clone(rec.Past), rec.Run.ID))
	if rec.ID != "" {
		_ = os.RemoveAll(layout.Data{Dir: a.DataDir}.Copy(rec.ID))
	}
}
