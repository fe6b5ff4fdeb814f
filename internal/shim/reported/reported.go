// Package reported converts the reports of shims and container inits to values of package session.
// An init runs with the agent's rights: its reports are claims.
package reported

import (
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

// Liveness decides whether a run's agent is alive from its processes, as the init sees them, and
// its directory. reason is why that is unknown. created reports whether the container has just been
// created.
func Liveness(in shim.ContainerRun, created bool) (v session.Liveness, exit *session.Exit, reason string) {
	switch {
	case in.Agent && in.Exit != nil:
		return session.Unknown, nil, "an exit is recorded, and the agent's process runs"
	case in.Agent:
		return session.Alive, nil, ""
	case in.Exit != nil:
		return session.Dead, ClaimedExit(in.Exit), ""
	case in.Shim && in.Process.PID == 0:
		return session.Alive, nil, "" // it is about to be started
	case in.Shim:
		return session.Unknown, nil, "its agent has exited, and its leftover processes are being stopped"
	case !in.Claimed && created:
		return session.Unknown, nil, "its container was just created, and nothing was started in it yet"
	}
	return session.Dead, nil, ""
}

// detailLimit bounds an exit's detail, in runes.
const detailLimit = 500

// Exit converts an exit that a shim recorded.
func Exit(e *rundir.Exit) *session.Exit {
	if e == nil {
		return nil
	}
	return &session.Exit{Cause: session.Cause(e.Cause), Code: e.Code, Signal: e.Signal, At: e.At, Ran: session.Duration(e.Ran), Leftovers: e.Leftovers, Detail: e.Detail}
}

// ClaimedExit converts an exit that a container reported, with a detail of one line.
func ClaimedExit(e *rundir.Exit) *session.Exit {
	x := Exit(e)
	if x != nil {
		x.Detail = shim.OneLine(x.Detail, detailLimit)
	}
	return x
}

// Verification converts the result of a verification with that timeout. Failed is kept in the state
// and in histories, so it contains no output, which may hold a secret.
func Verification(p shim.Probed, timeout time.Duration) session.Verification {
	return session.Verification{Failed: p.Ended(timeout), Code: p.Code, Output: p.Output, Log: p.Log}
}
