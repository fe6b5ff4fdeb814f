package agentform

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/fileid"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// OccupiedError means that an agent that does not belong to the Launcher works in the directory:
// that of another program or project, or of a Launcher whose directory was lost.
type OccupiedError struct {
	Dir     string
	PID     int    // of the agent
	Session string // its session; empty: not known
	Project string // the directory of its project; empty: not known
}

// Error names the agent and how to end it.
func (e *OccupiedError) Error() string {
	of := ""
	if e.Session != "" {
		of = " of " + e.Session
	}
	if e.Project != "" {
		of += " in " + e.Project
	}
	return fmt.Sprintf("another agent%s works in %s\nto end it: kill %d", of, e.Dir, e.PID)
}

// others finds the agents on this machine that are not a Launcher's own.
type others struct {
	mu    sync.Mutex
	at    time.Time
	found []rundir.Living
}

// lookEvery bounds how often the processes are read: with a thousand agents that takes as
// long as a launch.
const lookEvery = time.Second

// in returns the error of an agent that works in a directory and is not of the runs below
// own, or nil. It ignores the agent that started this program.
func (o *others) in(dir, own string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.at) > lookEvery {
		mine := os.Getenv(proc.RunVariable)
		o.found = rundir.LivingRuns(func(run string) bool {
			_, err := os.Lstat(filepath.Join(own, run))
			return run == mine || err == nil
		})
		o.at = time.Now()
	}
	for _, r := range o.found {
		place := fileid.Place(dir)
		here := r.Dir == dir || place != "" && (fileid.Place(r.Dir) == place || fileid.Place(proc.Dir(r.Agent.PID)) == place)
		if here && r.Agent.Alive() {
			return &OccupiedError{Dir: dir, PID: r.Agent.PID, Session: r.Session, Project: r.Project}
		}
	}
	return nil
}
