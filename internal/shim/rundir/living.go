package rundir

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/agentform/agentform/internal/proc"
)

// Living is a run whose agent is running on this machine, as described by the agent's initial
// environment.
type Living struct {
	Run     string
	Agent   proc.Process
	Shim    proc.Process // the agent's parent; zero: the agent outlived it
	Session string       // the address; empty: not known
	Project string       // the project's directory; empty: not known
	Dir     string       // the workspace; empty: not known
}

// LivingRuns returns this user's runs that have processes, except those that skip reports, ordered
// by id. The oldest process of a run is its agent. It finds neither agents in containers nor
// adopted ones.
func LivingRuns(skip func(run string) bool) []Living {
	found := map[string]Living{}
	for p, env := range proc.Find(func(env []byte) bool {
		run := proc.Getenv(env, proc.RunVariable)
		return run != "" && !skip(run)
	}) {
		run := proc.Getenv(env, proc.RunVariable)
		if have, is := found[run]; is && have.Agent.Start <= p.Start {
			continue
		}
		found[run] = Living{Run: run, Agent: p, Shim: shimOf(p, run), Session: proc.Getenv(env, SessionVariable),
			Project: proc.Getenv(env, ProjectVariable), Dir: proc.Getenv(env, "PWD")}
	}
	runs := make([]Living, 0, len(found))
	for _, run := range slices.Sorted(maps.Keys(found)) {
		runs = append(runs, found[run])
	}
	return runs
}

// shimOf returns the parent of an agent if the parent is the run's shim, whose last argument is the
// run's directory.
func shimOf(agent proc.Process, run string) proc.Process {
	s, _ := proc.ReadStat(agent.PID)
	parent, ok := proc.ReadStat(s.Parent)
	if argv := proc.Argv(s.Parent); !ok || len(argv) == 0 || filepath.Base(argv[len(argv)-1]) != run {
		return proc.Process{}
	}
	return parent.Process
}
