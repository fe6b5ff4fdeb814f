package docker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/session"
)

// pasteSettles is how long agents need between a paste and Enter; see package tmux.
const pasteSettles = 300 * time.Millisecond

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
		_, err := lodging.tmux(ctx, "", "send-keys", "-t", lodging.pane, in.Key)
		return err
	}
	if text := input.Typed(in.Text); text != "" {
		// By standard input: it is no argument of a process.
		const buffer = "agentform"
		_, err := lodging.tmux(ctx, text, "load-buffer", "-b", buffer, "-", ";", "paste-buffer", "-p", "-d", "-b", buffer, "-t", lodging.pane)
		if err != nil {
			return err
		}
	}
	if in.NoEnter {
		return nil
	}
	if err := sleep(ctx, pasteSettles); err != nil {
		return fmt.Errorf("the text was typed and Enter was not: %w", err)
	}
	_, err = lodging.tmux(ctx, "", "send-keys", "-t", lodging.pane, "Enter")
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
	in, err := lodging.Look(ctx, r.runIn(lodging.id, k.Mark.Run), lodging.pane, format, false)
	if err != nil {
		return err
	}
	shown, err := parse(in.Row)
	switch {
	case !in.Agent && !in.Guest, err != nil, shown.dead:
		return errors.New("nothing runs in it")
	case shown.inputOff || in.Frozen:
		return session.ErrRefused
	case shown.inMode:
		_, err := lodging.tmux(ctx, "", "send-keys", "-t", lodging.pane, "-X", "cancel")
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
	from := "-"
	if lines > 0 {
		from = "-" + strconv.Itoa(lines)
	}
	text, err := lodging.tmux(ctx, "", "capture-pane", "-p", "-J", "-S", from, "-t", lodging.pane)
	if err != nil {
		return "", err
	}
	rows := strings.Split(trim(text), "\n")
	if lines > 0 && len(rows) > lines {
		rows = rows[len(rows)-lines:]
	}
	return strings.Join(rows, "\n"), nil
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
