package session

import "fmt"

// String returns the exit for people: "exit status 1", "killed by SIGKILL: out of memory",
// "timeout, killed by SIGTERM", "it could not be started: no such file".
func (e Exit) String() string {
	if e.Cause == "failed_start" {
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
	case "timeout":
		return "timeout, " + how
	case "hangup":
		return "terminal hung up, " + how
	}
	return how
}

// Finished reports whether the agent has done its work: a one-shot command that exited by
// itself with 0. The exit of an interactive agent is no evidence: Gemini's is 0 even when
// it is killed. A nil exit is none either.
func (a AgentSpec) Finished(e *Exit) bool {
	return a.OneShot && e != nil && e.Cause == "self" && e.Code == 0 && e.Signal == ""
}
