package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/session"
)

// NotReadyError says that an agent did not come as far as taking a prompt.
type NotReadyError struct {
	Why    string
	Ready  string // the pattern that its screen was to show; empty: its life was waited for
	Screen string // the last lines of it
	Asks   string // the question that it waits with; empty: none is seen
	Trust  bool   // trust = true in its agent block would have answered it
}

// Error is why, and the end of the screen.
func (e *NotReadyError) Error() string {
	if strings.TrimSpace(e.Screen) == "" {
		return e.Summary() + "; its screen is empty"
	}
	return e.Summary() + "; its screen ends:\n" + tail(e.Screen, 12)
}

// Summary is why, and what was waited for.
func (e *NotReadyError) Summary() string {
	switch {
	case e.Asks != "" && e.Trust:
		return e.Why + ": it asks whether the folder is trusted (attach shows it, send --key answers; trust = true in its agent block answers beforehand)"
	case e.Asks != "":
		return e.Why + ": it asks something first (attach shows it, send --key answers)"
	case e.Ready == "":
		return e.Why
	}
	return fmt.Sprintf("%s: its screen did not show ready = %q", e.Why, e.Ready)
}

// Excerpt is the screen, at most session.TailLimit bytes.
func (e *NotReadyError) Excerpt() string { return clip(e.Screen) }

// defaultReadyTimeout is how long an agent may take whose block does not say:
// the manifest language's own default.
const defaultReadyTimeout = 30 * time.Second

// readyTimeout is how long an agent may take until a prompt can be typed.
func readyTimeout(a session.AgentSpec) time.Duration {
	if limit := a.ReadyTimeout.D(); limit > 0 {
		return limit
	}
	return defaultReadyTimeout
}

// becomeReady waits until the session's agent can take a prompt. Whoever saves
// the record next puts it there; until then it is only told.
func (j *job) becomeReady(ctx context.Context) error {
	if !j.rec.Run.ReadyAt.IsZero() {
		return nil
	}
	if err := j.run.awaitReady(ctx, j.rec, j.agent()); err != nil {
		return err
	}
	j.rec.Run.ReadyAt = j.run.now()
	return nil
}

// awaitReady waits until a session's agent can take a prompt, and tells that:
// until its screen shows it, or, for an agent that no pattern is known of, until
// it lives. One that has done its work and left is past being ready. The error
// is a *NotReadyError when the agent left or took too long.
func (r *run) awaitReady(ctx context.Context, rec session.Record, a session.Agent) error {
	limit := readyTimeout(rec.Spec.Agent)
	began := time.Now()
	// Agents take seconds, and all who wait share the looks at the screens: the
	// waits grow to a quarter of a second.
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		screen, ready, err := r.readiness(ctx, rec, a)
		switch {
		case err != nil:
			return err
		case ready:
			r.emit(history.Event{Address: rec.Address, ID: rec.ID, Run: rec.Run.ID, Kind: history.Ready,
				Elapsed: session.Duration(time.Since(began))}, &rec)
			return nil
		case time.Since(began) > limit:
			return tooLate(rec.Spec.Agent, a, screen)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until it is ready: %w", ctx.Err())
		case <-time.After(pause):
		}
	}
}

// tooLate says what stood in the way of an agent whose time is up: most often a
// question, and at the first start in a folder whether that is trusted.
func tooLate(spec session.AgentSpec, a session.Agent, screen string) *NotReadyError {
	err := &NotReadyError{Why: fmt.Sprintf("it was not ready within %s", readyTimeout(spec)), Ready: spec.Ready, Screen: screen}
	if seen := a.Read(session.Evidence{Vital: session.Alive, Screen: screen}); seen.Activity == session.Blocked {
		err.Asks = seen.Detail
		err.Trust = !spec.Trust && spec.Base != "" && strings.Contains(strings.ToLower(seen.Detail), "trust")
	}
	return err
}

// readiness looks once. The error says that the agent will not become ready.
func (r *run) readiness(ctx context.Context, rec session.Record, a session.Agent) (screen string, ready bool, err error) {
	facts := r.Facts(rec.Run.ID)
	if rec.Spec.Agent.Finished(facts.Exit) {
		return "", true, nil
	}
	if facts.Exit == nil && patternless(rec.Spec.Agent) {
		return "", facts.Alive, nil
	}
	lives, err := r.look(ctx, rec.Spec, true)
	if ctx.Err() != nil {
		return "", false, fmt.Errorf("wait until it is ready: %w", ctx.Err())
	}
	i := slices.IndexFunc(lives, func(l session.Live) bool { return l.Mark.Run == rec.Run.ID })
	if i >= 0 {
		screen = lives[i].Screen
	}
	switch {
	case facts.Exit != nil:
		return "", false, &NotReadyError{Why: "its agent left (" + facts.Exit.String() + ") before it was ready", Ready: rec.Spec.Agent.Ready, Screen: screen}
	case err != nil: // a runtime that does not answer now may answer in a moment
		return "", false, nil
	case i < 0:
		return "", false, fmt.Errorf("wait until it is ready: the session %w", session.ErrGone)
	}
	look := r.activity.Read(rec, &lives[i], rec.Run.DeliveredAt, time.Now())
	return screen, facts.Alive && activity.SeenReady(a, rec, look, screen), nil
}

// patternless agents are known by their command alone: being alive is all that
// can be seen of them.
func patternless(a session.AgentSpec) bool { return a.Base == "" && a.Ready == "" }

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
