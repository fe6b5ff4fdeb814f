package launch

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// DefaultReadyTimeout bounds the wait for an agent whose block sets no ready_timeout.
const DefaultReadyTimeout = 30 * time.Second

// ReadyTimeout returns how long an agent may take until it can take a prompt.
func ReadyTimeout(a session.AgentSpec) time.Duration {
	if limit := a.ReadyTimeout.D(); limit > 0 {
		return limit
	}
	return DefaultReadyTimeout
}

// FailedStartError means that the agent's command could not be executed.
type FailedStartError struct{ Exit session.Exit }

// Error returns why.
func (e *FailedStartError) Error() string { return "the agent could not be started: " + e.Exit.Detail }

// NotReadyError means that an agent did not become ready for a prompt.
type NotReadyError struct {
	Why    string
	After  time.Duration // the limit that passed; 0: the agent exited
	Exit   *session.Exit // how the agent exited; nil: it is alive
	Ready  string        // the pattern that its screen did not show; empty: none was expected
	Screen string
	Asks   string // the question that it shows; empty: none
	Answer string // how a person answers it
	Trust  bool   // trust = true in its agent block would have answered it
}

// Error returns the summary and the end of the screen.
func (e *NotReadyError) Error() string {
	if strings.TrimSpace(e.Screen) == "" {
		return e.Summary() + "; its screen is empty"
	}
	return e.Summary() + "; its screen ends:\n" + Tail(e.Screen, 12)
}

// Summary returns what was waited for, and what stood in the way.
func (e *NotReadyError) Summary() string {
	switch {
	case e.Asks != "" && e.Trust:
		return e.Why + ": it asks whether to trust the directory (" + e.Answer + "; trust = true in its agent block answers in advance)"
	case e.Asks != "":
		return e.Why + ": it asks a question first (" + e.Answer + ")"
	case e.Ready == "":
		return e.Why
	}
	return fmt.Sprintf("%s: its screen did not show ready = %q", e.Why, e.Ready)
}

// Excerpt returns the end of the screen, at most session.TailLimit bytes.
func (e *NotReadyError) Excerpt() string { return Clip(e.Screen) }

// timedOut returns the error of an agent whose time is up. Most often it shows a question.
func (r *Run) timedOut(limit time.Duration, screen string) *NotReadyError {
	spec := r.Record.Spec.Agent
	err := &NotReadyError{Why: fmt.Sprintf("not ready after %s", limit), After: limit, Ready: spec.Ready, Screen: screen}
	if seen := r.Agent.Detect(session.Evidence{Liveness: session.Alive, Screen: screen}); seen.Activity == session.Blocked {
		name := plaintext.ShellWord(r.Record.Address.Short())
		err.Asks, err.Answer = seen.Detail, fmt.Sprintf("agentform attach %[1]s shows it, agentform send %[1]s --key KEY answers it", name)
		if q := seen.Question; q != nil {
			err.Answer = fmt.Sprintf("agentform answer %s TEXT answers it", name)
			if len(q.Options) > 0 {
				err.Answer = fmt.Sprintf("answer %s: agentform answer %s ANSWER", plaintext.OneLine(plaintext.List(q.Names(), "or")), name)
			}
		}
		err.Trust = !spec.Trust && spec.Base != "" && strings.Contains(strings.ToLower(seen.Detail), "trust")
	}
	return err
}

// Tail returns the last lines of a text.
func Tail(s string, lines int) string {
	rows := strings.Split(strings.TrimRight(s, "\n "), "\n")
	return strings.Join(rows[max(0, len(rows)-lines):], "\n")
}

// Clip returns the end of a text, at most session.TailLimit bytes.
func Clip(s string) string {
	if len(s) > session.TailLimit {
		s = strings.ToValidUTF8(s[len(s)-session.TailLimit:], "")
	}
	return s
}
