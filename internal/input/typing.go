package input

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/session"
)

var keyForm = regexp.MustCompile(`^(?:[CMS]-)*(?:[!-~]|Enter|Escape|Tab|BTab|BSpace|Space|Up|Down|Left|Right|Home|End|` +
	`PageUp|PageDown|PgUp|PgDn|PPage|NPage|Delete|Insert|DC|IC|F(?:[1-9]|1[0-2]))$`)

// IsKey reports whether tmux has a key of that name. tmux would type an unknown name as text.
func IsKey(name string) bool { return keyForm.MatchString(name) }

// CheckKey returns an error if name is not the name of a key.
func CheckKey(name string) error {
	if IsKey(name) {
		return nil
	}
	return fmt.Errorf("unknown key %.40q (tmux key names: Enter, Escape, Up, C-c, F1 to F12)", name)
}

// Printable returns text without control characters, which could end a paste and press
// keys. Line breaks and tabs stay.
func Printable(text string) string {
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

// Turns lets one goroutine at a time type into a session. The zero value is ready to use.
type Turns struct{ held sync.Map }

// Acquire waits until nobody types into a session and returns a function that ends the turn.
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

// pasteDelay is the time that agents need between a paste and Enter. Gemini CLI treats an Enter
// after 50 ms as a line break and submits after 200 ms, even with 10 kB of text.
const pasteDelay = 300 * time.Millisecond

// Type presses a key, or pastes a text and presses Enter.
func Type(ctx context.Context, in session.Input, press, paste func(string) error) error {
	switch {
	case in.Key != "":
		if err := CheckKey(in.Key); err != nil {
			return err
		}
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
	if !sleep.For(ctx, pasteDelay) {
		return fmt.Errorf("the text was typed, and Enter was not: %w", ctx.Err())
	}
	return press("Enter")
}
