package docker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/session"
)

// pasteSettles is how long agents need between a paste and Enter; see package tmux.
const pasteSettles = 300 * time.Millisecond

// tmux runs a tmux command in the container of a session.
func (r *Runtime) tmux(ctx context.Context, id, stdin string, args ...string) (string, error) {
	t, err := r.keeper(id).Tmux(ctx, stdin, args...)
	if err != nil {
		return "", err
	}
	said := strings.TrimSpace(t.Stderr)
	switch {
	case t.Code == 0:
		return t.Stdout, nil
	case strings.Contains(said, "can't find"), strings.Contains(said, "no server running"), strings.Contains(said, "error connecting"):
		return "", fmt.Errorf("tmux in the container: %s: the session %w", said, session.ErrGone)
	}
	return "", fmt.Errorf("tmux %s in the container: %s", args[0], said)
}

// Send pastes the text in one go, then presses Enter. Texts for one session are
// typed one after the other.
func (r *Runtime) Send(ctx context.Context, p session.Place, in session.Input) error {
	if err := r.send(ctx, p, in); err != nil {
		return fmt.Errorf("send to session %q: %w", p.Name, err)
	}
	return nil
}

func (r *Runtime) send(ctx context.Context, p session.Place, in session.Input) error {
	id, err := r.running(ctx, p)
	if err != nil {
		return err
	}
	defer r.turn(id)()
	k, err := r.shared(id).kept()
	if err != nil {
		return err
	}
	if k.Paused != "" {
		return session.ErrRefused
	}
	seen, err := r.keeper(id).Look(ctx, r.runDir(k.Mark.Run))
	if err != nil {
		return err
	}
	if !seen.Agent {
		return errors.New("nothing runs in it")
	}
	target := exactly(p.Name)
	if in.Key != "" {
		_, err := r.tmux(ctx, id, "", "send-keys", "-t", target, in.Key)
		return err
	}
	if text := typed(in.Text); text != "" {
		const buffer = "agentform"
		if _, err := r.tmux(ctx, id, text, "load-buffer", "-b", buffer, "-"); err != nil {
			return err
		}
		if _, err := r.tmux(ctx, id, "", "paste-buffer", "-p", "-d", "-b", buffer, "-t", target); err != nil {
			return err
		}
	}
	if in.NoEnter {
		return nil
	}
	if err := sleep(ctx, pasteSettles); err != nil {
		return fmt.Errorf("the text was typed and Enter was not: %w", err)
	}
	_, err = r.tmux(ctx, id, "", "send-keys", "-t", target, "Enter")
	return err
}

// turn waits until nobody types into a session, and returns what ends the turn.
func (r *Runtime) turn(id string) func() {
	r.mu.Lock()
	m := r.typing[id]
	if m == nil {
		m = &sync.Mutex{}
		r.typing[id] = m
	}
	r.mu.Unlock()
	m.Lock()
	return m.Unlock
}

// typed is the text without control characters, with which it could end the paste
// and press keys. Line breaks and tabs stay.
func typed(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t':
			return c
		case c == '\r':
			return '\n'
		case c < 0x20 || c >= 0x7f && c < 0xa0:
			return -1
		}
		return c
	}, text)
}

// Capture is the end of the screen and its history.
func (r *Runtime) Capture(ctx context.Context, p session.Place, lines int) (string, error) {
	text, err := r.capture(ctx, p, lines)
	if err != nil {
		return "", fmt.Errorf("capture session %q: %w", p.Name, err)
	}
	return text, nil
}

func (r *Runtime) capture(ctx context.Context, p session.Place, lines int) (string, error) {
	id, err := r.running(ctx, p)
	if err != nil {
		return "", err
	}
	return r.screen(ctx, id, p.Name, lines)
}

func (r *Runtime) screen(ctx context.Context, id, name string, lines int) (string, error) {
	from := "-"
	if lines > 0 {
		from = "-" + strconv.Itoa(lines)
	}
	text, err := r.tmux(ctx, id, "", "capture-pane", "-p", "-J", "-S", from, "-t", exactly(name))
	if err != nil {
		return "", err
	}
	rows := strings.Split(trim(text), "\n")
	if lines > 0 && len(rows) > lines {
		rows = rows[len(rows)-lines:]
	}
	return strings.Join(rows, "\n"), nil
}

// trim takes blank lines off the end, and spaces off each line's.
func trim(text string) string {
	rows := strings.Split(text, "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}
