package activity

import (
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

// Facts returns what the directory of a run says of it.
func Facts(dir string) session.RunFacts {
	f, err := rundir.ReadLiveness(dir)
	if err != nil && !f.Claimed {
		return session.RunFacts{}
	}
	return session.RunFacts{
		Claimed: f.Claimed,
		Alive:   f.Agent.Alive(),
		Agent:   session.Process{PID: f.Agent.PID, Start: f.Agent.Start},
		Exit:    ExitOf(f.Exit),
		BootID:  f.BootID,
	}
}

// ExitOf returns the exit that the shim recorded, or nil.
func ExitOf(e *rundir.Exit) *session.Exit {
	if e == nil {
		return nil
	}
	return &session.Exit{
		Cause: e.Cause, Code: e.Code, Signal: e.Signal, At: e.At,
		Ran: session.Duration(e.Ran), Leftovers: e.Leftovers, Detail: e.Detail,
	}
}
