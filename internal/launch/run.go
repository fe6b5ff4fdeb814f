package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/session"
)

// Run is one run of an agent. Prepare, Start, Ready and Deliver follow each other.
type Run struct {
	Record  *session.Record
	Agent   session.Agent
	Runtime session.Runtime
	Lives   func(context.Context) ([]session.Live, error) // with screens
	// Facts returns what the run's directory holds; nil: the run has none.
	Facts func(run string) session.RunFacts
	// Reader reads the files and hooks of agents; nil: what the runtime shows is all
	// that is known, and texts are typed without verification.
	Reader *activity.Reader
	Now    func() time.Time // nil: time.Now
	Paste  string           // the prompt, if it is typed once the agent is ready

	prompted bool // the command line has the prompt
}

func (r *Run) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

// Start starts the run, in an existing place or else in a new one, and records place,
// process and time. If the new one's name is taken, taken may start the run elsewhere. The
// error is a *FailedStartError if the agent's command could not be executed.
func (r *Run) Start(ctx context.Context, l session.Launch, in *session.Location, taken func(why error) (session.Location, error)) error {
	// Before the start: a fast agent ends its first turn before the runtime returns.
	started := r.now()
	place, err := session.Location{}, session.ErrGone
	if in != nil {
		place, err = r.Runtime.Restart(ctx, *in, l)
	}
	if errors.Is(err, session.ErrGone) {
		place, err = r.Runtime.Create(ctx, l)
	}
	if errors.Is(err, session.ErrExists) && taken != nil {
		place, err = taken(err)
	}
	if err != nil {
		return err
	}
	r.Record.Location, r.Record.Run.StartedAt = place, started
	if exit := r.findProcess(ctx); exit != nil && exit.Cause == session.CauseFailedStart {
		return &FailedStartError{*exit}
	}
	if r.prompted {
		r.Record.Run.DeliveredAt = started
	}
	return nil
}

// processTimeout bounds the wait for the process id of a run that has been claimed.
const processTimeout = 2 * time.Second

// findProcess records the agent's process, and returns the exit of one that has exited
// already.
func (r *Run) findProcess(ctx context.Context) *session.Exit {
	if r.Facts == nil {
		return nil
	}
	for until := time.Now().Add(processTimeout); ; {
		facts := r.Facts(r.Record.Run.ID)
		r.Record.Run.BootID, r.Record.Run.Agent = facts.BootID, facts.Agent
		if facts.Agent.PID != 0 || facts.Exit != nil || time.Now().After(until) || !sleep.For(ctx, 5*time.Millisecond) {
			return facts.Exit
		}
	}
}

// Live returns the session with the run, as the runtime currently shows it. The error is
// session.ErrGone if there is none.
func (r *Run) Live(ctx context.Context) (*session.Live, error) {
	lives, err := r.Lives(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(lives, func(l session.Live) bool { return !l.Foreign && l.Mark.Run == r.Record.Run.ID })
	if i < 0 {
		return nil, fmt.Errorf("the session %w", session.ErrGone)
	}
	return &lives[i], nil
}

// Activity returns what the agent does, by all signals.
func (r *Run) Activity(l *session.Live) activity.Look {
	if r.Reader != nil {
		return r.Reader.Read(*r.Record, l, r.Record.Run.DeliveredAt, r.now())
	}
	detection := r.Agent.Detect(session.Evidence{
		Liveness: l.Liveness, Exit: l.Exit, Title: l.Title, Screen: l.Screen, Blank: l.Blank, OneShot: r.Record.Spec.Agent.OneShot,
		Now: r.now(), StartedAt: r.Record.Run.StartedAt, Prompted: !r.Record.Run.DeliveredAt.IsZero(),
	})
	return activity.Look{Detection: detection, Activity: detection.Activity, Prompt: l.Liveness == session.Alive && r.Agent.Ready(l.Screen)}
}

// Ready waits until the agent can accept a prompt, and records that time. An agent without patterns
// is ready when its process is alive, and a one-shot agent when it has done its work. The error is
// a *NotReadyError if the agent exited or did not become ready in time.
func (r *Run) Ready(ctx context.Context) error {
	limit := ReadyTimeout(r.Record.Spec.Agent)
	began, shown := time.Now(), ""
	// All who wait share the observations, and agents take seconds: waits grow.
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		screen, ready, err := r.check(ctx)
		if strings.TrimSpace(screen) == "" {
			screen = shown
		}
		shown = screen
		late := time.Since(began) > limit
		var final *NotReadyError
		switch {
		case ready:
			r.Record.Run.ReadyAt = r.now()
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("wait until it is ready: %w", ctx.Err())
		case errors.As(err, &final):
			final.Screen = r.lastScreen(ctx, shown)
			return final
		case errors.Is(err, session.ErrGone), err != nil && late:
			return fmt.Errorf("wait until it is ready: %w", err)
		case late:
			return r.timedOut(limit, screen)
		}
		if !sleep.For(ctx, wait) {
			return fmt.Errorf("wait until it is ready: %w", ctx.Err())
		}
	}
}

// lastScreen returns what an agent that has exited showed last. A terminal that is about to
// end may show nothing of it, and one that has just ended not yet.
func (r *Run) lastScreen(ctx context.Context, shown string) string {
	for range 5 {
		if l, err := r.Live(ctx); err == nil && strings.TrimSpace(l.Screen) != "" {
			return l.Screen
		}
		if shown != "" || !sleep.For(ctx, 100*time.Millisecond) {
			break
		}
	}
	return shown
}

// check reports whether the agent is ready now, and returns its screen. An error other
// than a *NotReadyError or session.ErrGone may be over in a moment.
func (r *Run) check(ctx context.Context) (screen string, ready bool, err error) {
	spec, facts := r.Record.Spec.Agent, session.RunFacts{}
	anyScreen := spec.Base == "" && spec.Ready == "" && r.Agent.Ready("")
	// Of a run elsewhere there is at most a copy of its files, without its process.
	here := r.Facts != nil && r.Record.Spec.Runtime.Traits().HostFiles
	if here {
		facts = r.Facts(r.Record.Run.ID)
		switch {
		case spec.Finished(facts.Exit):
			return "", true, nil
		case facts.Exit == nil && anyScreen:
			return "", facts.Alive, nil
		}
	}
	l, err := r.Live(ctx)
	if l != nil {
		screen = l.Screen
		if !here {
			facts = session.RunFacts{Alive: l.Liveness == session.Alive, Exit: l.Exit}
		}
	}
	switch {
	case spec.Finished(facts.Exit):
		return screen, true, nil
	case facts.Exit != nil:
		return screen, false, &NotReadyError{Why: "its agent exited (" + facts.Exit.String() + ") before it was ready", Exit: facts.Exit, Ready: spec.Ready, Screen: screen}
	case err != nil || !facts.Alive:
		return screen, false, err
	}
	// A draft hides what the composer shows of an agent that is ready.
	return screen, anyScreen || input.Drafted(r.Agent, screen, r.Paste) || activity.SeenReady(r.Agent, *r.Record, r.Activity(l), screen), nil
}

// Deliver types the prompt that is to be typed, if any, and records when that was.
func (r *Run) Deliver(ctx context.Context) (input.Outcome, error) {
	if r.Paste == "" {
		return input.Submitted, nil
	}
	began := r.now() // what the agent does from now on is its answer
	outcome, err := r.Type(ctx, r.Paste)
	if err == nil {
		r.Record.Run.DeliveredAt = began
	}
	return outcome, err
}

// Type types a text into the agent, submits it, and verifies that the agent took it, as
// one does that exits by itself with 0. The error is an *input.DialogError or an
// *input.NotTakenError if it did not.
func (r *Run) Type(ctx context.Context, text string) (input.Outcome, error) {
	if r.Reader == nil {
		if l, err := r.Live(ctx); err == nil {
			if seen := r.Activity(l).Detection; seen.Activity == session.Blocked {
				return "", &input.DialogError{Question: seen.Detail, Screen: l.Screen}
			}
		}
		return r.Press(ctx, session.Input{Text: text})
	}
	left := false
	outcome, err := r.sender(&left).Send(ctx, text, false)
	if left && errors.Is(err, session.ErrGone) {
		return input.Submitted, nil
	}
	return outcome, err
}

// Press types a text without verification, or presses a key.
func (r *Run) Press(ctx context.Context, in session.Input) (input.Outcome, error) {
	return r.sender(new(bool)).Press(ctx, in)
}

// Answer answers the question that the agent asks.
func (r *Run) Answer(ctx context.Context, a input.Reply) error {
	left := false
	_, err := r.sender(&left).Answer(ctx, a)
	if left && errors.Is(err, session.ErrGone) {
		return nil
	}
	return err
}

// sender returns what sends input to the agent. It sets left when the agent is seen to have
// exited by itself with 0.
func (r *Run) sender(left *bool) input.Sender {
	return input.Sender{
		Runtime: r.Runtime, Location: r.Record.Location, Agent: r.Agent, BootTimeout: ReadyTimeout(r.Record.Spec.Agent),
		Typing: func(text string, message bool) error {
			if r.Reader == nil {
				return nil
			}
			return r.Reader.Sending(*r.Record, text, message, time.Now()) // as the agent writes it
		},
		Observe: func(ctx context.Context) (input.Snapshot, error) {
			l, err := r.Live(ctx)
			if err != nil {
				return input.Snapshot{}, err
			}
			*left = l.Liveness == session.Dead && l.Exit.Clean()
			read := r.Activity(l)
			if r.Reader == nil {
				return input.Snapshot{Screen: l.Screen, Detection: read.Detection}, nil
			}
			return r.Reader.Snapshot(*r.Record, l, read), nil
		},
	}
}
