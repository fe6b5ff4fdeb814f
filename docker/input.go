package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Send pastes the text in one go, then presses Enter. Texts for one session are
// typed one after the other.
func (r *Runtime) Send(ctx context.Context, p session.Place, in session.Input) error {
	if err := r.send(ctx, p, in); err != nil {
		return fmt.Errorf("send to session %q: %w", p.Name, err)
	}
	return nil
}

func (r *Runtime) send(ctx context.Context, p session.Place, in session.Input) error {
	if in.Key != "" && !input.Known(in.Key) {
		return fmt.Errorf("unknown key %.40q", in.Key)
	}
	lodging, err := r.running(ctx, p)
	if err != nil {
		return err
	}
	unlock, err := r.turn(ctx, lodging.id)
	if err != nil {
		return err
	}
	defer unlock()
	if err := r.listens(ctx, lodging); err != nil {
		return err
	}
	if in.Key != "" {
		_, err := lodging.tmux(ctx, "", tmuxwire.Key(lodging.pane, in.Key)...)
		return err
	}
	if text := input.Typed(in.Text); text != "" {
		// By standard input: it is no argument of a process.
		const buffer = "agentform"
		_, err := lodging.tmux(ctx, text, tmuxwire.Args(tmuxwire.Command{"load-buffer", "-b", buffer, "-"}, tmuxwire.Paste(lodging.pane, buffer))...)
		if err != nil {
			return err
		}
	}
	if in.NoEnter {
		return nil
	}
	if err := sleep(ctx, tmuxwire.PasteDelay); err != nil {
		return fmt.Errorf("the text was typed and Enter was not: %w", err)
	}
	_, err = lodging.tmux(ctx, "", tmuxwire.Key(lodging.pane, "Enter")...)
	return err
}

// listens is why nothing can be typed into a session. Where a person scrolls in it,
// that ends: keys would only scroll.
func (r *Runtime) listens(ctx context.Context, lodging lodging) error {
	k, err := r.shared(lodging.id).kept()
	if err != nil {
		return err
	}
	if k.Paused != "" || lodging.container.State.Paused {
		return session.ErrRefused
	}
	in, err := lodging.Look(ctx, r.runIn(lodging.id, k.Mark.Run), lodging.pane, tmuxwire.PaneFormat, false)
	if err != nil {
		return err
	}
	shown, err := tmuxwire.ParsePane(in.Row)
	switch {
	case !in.Agent && !in.Guest, err != nil, shown.Dead:
		return errors.New("nothing runs in it")
	case shown.InputOff || in.Frozen:
		return session.ErrRefused
	case shown.InMode:
		_, err := lodging.tmux(ctx, "", tmuxwire.CancelMode(lodging.pane)...)
		return err
	}
	return nil
}

// turn waits until nobody types into a session, and returns what ends the turn.
func (r *Runtime) turn(ctx context.Context, id string) (unlock func(), err error) {
	r.mu.Lock()
	held := r.typing[id]
	if held == nil {
		held = make(chan struct{}, 1)
		r.typing[id] = held
	}
	r.mu.Unlock()
	select {
	case held <- struct{}{}:
		return func() { <-held }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Capture is the end of the screen and its history, wrapped lines joined.
func (r *Runtime) Capture(ctx context.Context, p session.Place, lines int) (string, error) {
	text, err := r.capture(ctx, p, lines)
	if err != nil {
		return "", fmt.Errorf("capture session %q: %w", p.Name, err)
	}
	return text, nil
}

func (r *Runtime) capture(ctx context.Context, p session.Place, lines int) (string, error) {
	lodging, err := r.running(ctx, p)
	if err != nil {
		return "", err
	}
	text, err := lodging.tmux(ctx, "", tmuxwire.Capture(lodging.pane, lines)...)
	if err != nil {
		return "", err
	}
	return tmuxwire.LastLines(text, lines), nil
}

// Screens is what the sessions in some places show now, each asked once. A place that
// is gone has none.
func (r *Runtime) Screens(ctx context.Context, places []session.Place) (map[session.Place]string, error) {
	wanted := make(map[session.Place]bool, len(places))
	for _, p := range places {
		wanted[p] = true
	}
	lives, err := r.Observe(ctx, true)
	if err != nil {
		return nil, fmt.Errorf("show screens: %w", err)
	}
	found := make(map[session.Place]string, len(places))
	for _, l := range lives {
		if wanted[l.Place] && l.PlaceUp {
			found[l.Place] = l.Screen
		}
	}
	return found, nil
}
