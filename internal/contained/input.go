package contained

import (
	"context"
	"errors"

	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Send presses a key, or pastes a text and presses Enter. Concurrent calls for one session take
// turns.
func (s *Sessions) Send(ctx context.Context, p session.Location, in session.Input) (err error) {
	defer Annotate(&err, "send to", p.Name)
	at, err := s.Running(ctx, p)
	if err != nil {
		return err
	}
	release, err := s.turns.Acquire(ctx, p.Name)
	if err != nil {
		return err
	}
	defer release()
	if err := at.acceptsInput(ctx); err != nil {
		return err
	}
	press := func(key string) error {
		_, err := at.tmux(ctx, "", tmuxwire.Key(at.Pane, key))
		return err
	}
	return input.Type(ctx, in, press, func(text string) error {
		// Arguments of processes are public, so use standard input.
		const buffer = "agentform"
		_, err := at.tmux(ctx, text, tmuxwire.Command{"load-buffer", "-b", buffer, "-"}, tmuxwire.Paste(at.Pane, buffer))
		return err
	})
}

// acceptsInput returns an error if the session takes no input. It ends copy mode, in which keys
// would only scroll.
func (at Place) acceptsInput(ctx context.Context) error {
	_, paused, err := at.Recorded()
	if err != nil {
		return err
	}
	if paused != "" || at.Unpause != nil {
		return session.ErrRefused
	}
	in, err := at.Look(ctx)
	if err != nil {
		return err
	}
	shown, err := tmuxwire.ParsePane(in.Row)
	switch {
	case !in.Agent && !in.Shim, err != nil, shown.Dead:
		return errors.New("no agent is running in it")
	case shown.InputOff || in.Frozen:
		return session.ErrRefused
	case shown.InMode:
		_, err := at.tmux(ctx, "", tmuxwire.CancelMode(at.Pane))
		return err
	}
	return nil
}

// Capture returns the end of the screen and its history, wrapped lines joined.
func (s *Sessions) Capture(ctx context.Context, p session.Location, lines int) (text string, err error) {
	defer Annotate(&err, "capture", p.Name)
	at, err := s.Running(ctx, p)
	if err != nil {
		return "", err
	}
	if text, err = at.tmux(ctx, "", tmuxwire.Capture(at.Pane, lines)); err != nil {
		return "", err
	}
	return tmuxwire.LastLines(text, lines), nil
}
