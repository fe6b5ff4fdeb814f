package session

import (
	"cmp"
	"fmt"
)

// Cause is why a run ended.
type Cause string

// The causes, as the shim records them.
const (
	CauseSelf        Cause = "self"         // the agent exited, or was killed by something else
	CauseRequested   Cause = "requested"    // it was stopped
	CauseHangup      Cause = "hangup"       // the terminal went away
	CauseTimeout     Cause = "timeout"      // the run was longer than it may be
	CauseFailedStart Cause = "failed_start" // it never ran
)

// String returns the exit for people: "exit status 1", "killed by SIGKILL: out of memory",
// "timeout, killed by SIGTERM", "it could not be started: no such file".
func (e Exit) String() string {
	if e.Cause == CauseFailedStart {
		return "it could not be started: " + e.Detail
	}
	how := fmt.Sprintf("exit status %d", e.Code)
	if e.Signal != "" {
		how = "killed by " + e.Signal
	}
	if e.Detail != "" {
		how += ": " + e.Detail
	}
	switch e.Cause {
	case CauseTimeout:
		return "timeout, " + how
	case CauseHangup:
		return "terminal hung up, " + how
	}
	return how
}

// Clean reports whether the agent exited by itself with 0. A nil exit is not known to be one.
func (e *Exit) Clean() bool { return e != nil && e.Cause == CauseSelf && !e.Failed() }

// Failed reports whether the agent exited with another status than 0, was killed or could not be
// started.
func (e *Exit) Failed() bool { return e.Code != 0 || e.Signal != "" || e.Cause == CauseFailedStart }

// Program names the program that an agent runs: the built-in that it inherits from, or itself.
func (a AgentSpec) Program() string { return cmp.Or(a.Base, a.Name) }

// Finished reports whether the agent has done its work: a one-shot command that exited by
// itself with 0. The exit of an interactive agent is no evidence: Gemini's is 0 even when
// it is killed. A nil exit is none either.
func (a AgentSpec) Finished(e *Exit) bool {
	return a.OneShot && e.Clean()
}
