package kubernetes

import (
	"context"
	"errors"

	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Send types into the session.
func (r *Runtime) Send(ctx context.Context, p session.Location, in session.Input) (err error) {
	defer annotate(&err, "send to", p.Name)
	t, err := r.live(ctx, p)
	if err != nil {
		return err
	}
	release, err := r.turns.Acquire(ctx, t.set.Metadata.UID)
	if err != nil {
		return err
	}
	defer release()
	if err := t.acceptsInput(ctx); err != nil {
		return err
	}
	press := func(key string) error {
		_, err := t.tmux(ctx, "", tmuxwire.Key(pane, key))
		return err
	}
	return input.Type(ctx, in, press, func(text string) error {
		// By standard input: arguments of processes can be seen.
		const buffer = "agentform"
		_, err := t.tmux(ctx, text, tmuxwire.Command{"load-buffer", "-b", buffer, "-"}, tmuxwire.Paste(pane, buffer))
		return err
	})
}

// acceptsInput returns an error if the session takes no input. It ends copy mode, in which
// keys would only scroll.
func (t target) acceptsInput(ctx context.Context) error {
	if t.record.Paused != "" {
		return session.ErrRefused
	}
	in, err := t.look(ctx, false)
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
		_, err := t.tmux(ctx, "", tmuxwire.CancelMode(pane))
		return err
	}
	return nil
}

// Capture returns the end of the screen and its history, wrapped lines joined.
func (r *Runtime) Capture(ctx context.Context, p session.Location, lines int) (text string, err error) {
	defer annotate(&err, "capture", p.Name)
	t, err := r.live(ctx, p)
	if err != nil {
		return "", err
	}
	if text, err = t.tmux(ctx, "", tmuxwire.Capture(pane, lines)); err != nil {
		return "", err
	}
	return tmuxwire.LastLines(text, lines), nil
}
