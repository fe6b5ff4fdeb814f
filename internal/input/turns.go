package input

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/agentform/agentform/session"
)

// Turns lets one goroutine at a time type into a session. The zero value is ready to use.
type Turns struct{ held sync.Map }

// Acquire waits until nobody types into a session and returns what ends the turn.
func (t *Turns) Acquire(ctx context.Context, session string) (release func(), err error) {
	v, _ := t.held.LoadOrStore(session, make(chan struct{}, 1))
	held := v.(chan struct{})
	select {
	case held <- struct{}{}:
		return func() { <-held }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pasteDelay is the time that agents need between a paste and Enter. Gemini CLI takes an
// Enter after 50 ms as a line break and submits after 200 ms, also with 10 kB of text.
const pasteDelay = 300 * time.Millisecond

// Type presses a key, or pastes a text and presses Enter.
func Type(ctx context.Context, in session.Input, press, paste func(string) error) error {
	switch {
	case in.Key != "" && !IsKey(in.Key):
		return fmt.Errorf("unknown key %.40q", in.Key)
	case in.Key != "":
		return press(in.Key)
	}
	if text := Printable(in.Text); text != "" {
		if err := paste(text); err != nil {
			return err
		}
	}
	if in.NoEnter {
		return nil
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("the text was typed, and Enter was not: %w", ctx.Err())
	case <-time.After(pasteDelay):
		return press("Enter")
	}
}
