package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// NotReadyError says that an agent did not come as far as taking a prompt.
type NotReadyError struct {
	Why    string
	Screen string // the last lines of it
}

// Error is why, and the end of the screen.
func (e *NotReadyError) Error() string {
	if e.Screen == "" {
		return e.Why + "; its screen is empty"
	}
	return e.Why + "; its screen ends:\n" + tail(e.Screen, 12)
}

// Excerpt is the screen, at most session.TailLimit bytes.
func (e *NotReadyError) Excerpt() string { return clip(e.Screen) }

// defaultReadyTimeout is how long an agent may take whose block does not say:
// the manifest language's own default.
const defaultReadyTimeout = 30 * time.Second

// becomeReady waits until the agent can take a prompt.
func (j *job) becomeReady(ctx context.Context, rt session.Runtime) error {
	began := j.run.now()
	if err := j.run.awaitReady(ctx, rt, j.rec); err != nil {
		return err
	}
	j.tell(history.Event{Kind: history.Ready, Elapsed: session.Duration(j.run.now().Sub(began))})
	return nil
}

// awaitReady waits until a session's agent can take a prompt: until its screen
// shows it, or, for an agent that no pattern is known of, until it lives. One
// that has done its work and left is past being ready. The error is a
// *NotReadyError when the agent left or took too long.
func (a *Applier) awaitReady(ctx context.Context, rt session.Runtime, rec session.Record) error {
	limit := rec.Spec.Agent.ReadyTimeout.D()
	if limit <= 0 {
		limit = defaultReadyTimeout
	}
	agent := a.Agent(rec.Spec.Agent)
	until := time.Now().Add(limit)
	// Looking at a screen costs the runtime well under a millisecond, and agents
	// take seconds: the waits grow to a quarter of a second.
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		facts := a.Facts(rec.Run.ID)
		screen, err := rt.Capture(ctx, rec.Place, 0)
		switch {
		case facts.Exit != nil && finished(rec.Spec.Agent, *facts.Exit):
			return nil
		case facts.Exit != nil:
			return &NotReadyError{"its agent left (" + exitWords(*facts.Exit) + ") before it was ready", screen}
		case err != nil && (ctx.Err() != nil || errors.Is(err, session.ErrGone)):
			return fmt.Errorf("wait until it is ready: %w", err)
		case err == nil && facts.Alive && (patternless(rec.Spec.Agent) || agent.Ready(screen)):
			return nil
		case time.Now().After(until):
			return &NotReadyError{fmt.Sprintf("it was not ready within %s", limit), screen}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until it is ready: %w", ctx.Err())
		case <-time.After(pause):
		}
	}
}

// patternless agents are known by their command alone: being alive is all that
// can be seen of them.
func patternless(a session.AgentSpec) bool { return a.Base == "" && a.Ready == "" }

func finished(a session.AgentSpec, e session.Exit) bool {
	return a.OneShot && e.Cause == "self" && e.Code == 0 && e.Signal == ""
}

func exitWords(e session.Exit) string {
	switch {
	case e.Cause == "failed_start":
		return "it could not be started: " + e.Detail
	case e.Signal != "":
		return e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// tail is the last lines of a text.
func tail(s string, lines int) string {
	rows := strings.Split(strings.TrimRight(s, "\n "), "\n")
	return strings.Join(rows[max(0, len(rows)-lines):], "\n")
}

// clip is the end of a text, at most session.TailLimit bytes.
func clip(s string) string {
	if len(s) > session.TailLimit {
		s = strings.ToValidUTF8(s[len(s)-session.TailLimit:], "")
	}
	return s
}
