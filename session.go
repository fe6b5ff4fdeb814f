package agentform

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/session"
)

// Session is one session that a Launcher started or found. Its methods may be called by
// many goroutines.
type Session struct {
	launcher *Launcher
	rec      session.Record
	run      launch.Run // of rec
	tracker  tracker
}

// Handle names a session. It is a plain value that can be copied, compared and kept.
type Handle struct {
	Name     string // of the tmux session or container
	Pane     string // of tmux, %42; empty elsewhere
	Agent    string // name of the agent
	Dir      string // where it works
	Run      string // run id
	Location session.Location
}

// Handle returns the session's name and location.
func (s *Session) Handle() Handle {
	return Handle{Name: s.rec.ID, Pane: s.rec.Location.Pane, Agent: s.rec.Spec.Agent.Name, Dir: s.rec.Spec.Workspace.Path, Run: s.rec.Run.ID, Location: s.rec.Location}
}

// Record returns the session as a state file would have it.
func (s *Session) Record() session.Record { return s.rec }

// start starts the run, waits for the agent, and delivers the prompt.
func (s *Session) start(ctx context.Context) error {
	l, spec := s.launcher, s.rec.Spec
	secrets, err := launch.Secrets(spec, l.Secrets)
	if err != nil {
		return err
	}
	started, err := s.run.Prepare(launch.Options{
		Name: s.rec.ID, Project: l.project(), Dir: l.runDir(s.rec.Run.ID), Hook: l.Hook, Root: l.Root,
		Prompt: spec.Prompt.Text, Conversation: spec.Conversation.ID, Fresh: launch.UUID(launch.RandomHex),
		Inherited: l.inherited(spec, s.run.Agent), Secrets: secrets,
	})
	if err != nil {
		return err
	}
	if err := s.run.Start(ctx, started, nil, nil); err != nil {
		return err
	}
	if spec.Agent.ReadyTimeout >= 0 {
		if err := s.run.Ready(ctx); err != nil {
			return err
		}
	}
	outcome, err := s.run.Deliver(ctx)
	s.tracker.given, s.tracker.queued = s.rec.Run.DeliveredAt, outcome == input.Queued
	return err
}

// find completes the record from the session that the runtime shows under its name.
func (s *Session) find(ctx context.Context) error {
	lives, err := s.launcher.observer.Lives(ctx, 0)
	if err != nil {
		return err
	}
	for _, l := range lives {
		if l.Foreign || l.Location.Name != s.rec.ID || l.Mark.Project != s.launcher.project() {
			continue
		}
		s.rec.Address, s.rec.ID, s.rec.Location = l.Mark.Address, l.Mark.ID, l.Location
		// Launch leaves no session that was not ready or has not got its prompt.
		s.rec.Run = session.Run{ID: l.Mark.Run, Number: 1, StartedAt: l.Started, BootID: l.BootID, Agent: l.Agent, ReadyAt: l.Started}
		if s.rec.Spec.Prompt.Text != "" {
			s.rec.Run.DeliveredAt = l.Started
		}
		s.tracker.given = s.rec.Run.DeliveredAt
		return nil
	}
	return fmt.Errorf("it %w", session.ErrGone)
}

// Send types a text into the session and presses Enter.
func (s *Session) Send(ctx context.Context, text string) error {
	return s.SendInput(ctx, session.Input{Text: text})
}

// SendInput types a text, with or without Enter, or presses a key.
func (s *Session) SendInput(ctx context.Context, in session.Input) error {
	given, outcome, err := s.launcher.now(), input.Outcome(""), error(nil)
	switch {
	case in.Key != "" || in.NoEnter:
		outcome, err = s.run.Press(ctx, in)
	default:
		if s.launcher.reader != nil {
			err = s.launcher.reader.Note(s.rec.Run.ID, in.Text, time.Now())
		}
		if err == nil {
			outcome, err = s.run.Type(ctx, in.Text)
		}
	}
	if err != nil {
		return fmt.Errorf("send to session %q: %w", s.rec.ID, err)
	}
	s.tracker.sent(given, outcome == input.Queued)
	return nil
}

// Status returns the status of the last observation. Before any it is StatusRunning.
func (s *Session) Status() session.Status { return s.tracker.lastStatus() }

// Capture returns the last lines of the screen and its history as plain text; 0: all.
func (s *Session) Capture(ctx context.Context, lines int) (string, error) {
	text, err := s.launcher.Runtime.Capture(ctx, s.rec.Location, lines)
	if err != nil {
		return "", fmt.Errorf("capture session %q: %w", s.rec.ID, err)
	}
	return text, nil
}

// Attach returns the command that connects a terminal to the session.
func (s *Session) Attach() []string { return s.launcher.Runtime.Attach(s.rec.Location) }

// Stop ends the agent and all its processes, removes the tmux session or container and
// the run's directory, and returns when it has verified that nothing is left. A session
// that is gone or was stopped before is no error.
func (s *Session) Stop(ctx context.Context) error {
	err := s.launcher.Runtime.Stop(ctx, s.rec.Location, s.rec.Run.ID, s.rec.Spec.Stop)
	if err == nil || errors.Is(err, session.ErrGone) {
		err = s.launcher.Runtime.Remove(ctx, s.rec.Location)
	}
	if err == nil || errors.Is(err, session.ErrGone) {
		err = s.launcher.removeRun(s.rec.Run.ID)
	}
	if err != nil {
		return fmt.Errorf("stop session %q: %w", s.rec.ID, err)
	}
	s.tracker.stop()
	return nil
}

// discard removes what a failed launch has left.
func (s *Session) discard(ctx context.Context) error {
	if s.rec.Location == (session.Location{}) {
		return s.launcher.removeRun(s.rec.Run.ID)
	}
	return s.Stop(ctx)
}

// live returns the session as the runtime showed it at most age ago; nil: it is gone.
func (s *Session) live(ctx context.Context, age time.Duration) (*session.Live, error) {
	lives, err := s.launcher.observer.Lives(ctx, age)
	if err != nil {
		return nil, err
	}
	for _, l := range lives {
		if !l.Foreign && l.Mark.Run == s.rec.Run.ID {
			return &l, nil
		}
	}
	return nil, nil
}
