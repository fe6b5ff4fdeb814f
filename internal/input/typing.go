package input

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// Sight is one look at the session that is typed into.
type Sight struct {
	Screen     string
	Detection  session.Detection
	Transcript *session.Transcript // what its session file tells; nil: nothing
	Heard      int64               // how much its hooks have told; it grows with each
}

// Hands type into one session.
type Hands struct {
	Runtime session.Runtime
	Place   session.Place
	Agent   session.Agent
	// Look looks at it now.
	Look func(context.Context) (Sight, error)
	// Boot is how long an agent that boots is waited for.
	Boot time.Duration
}

// Composer is an agent of which it is known where a text is composed.
type Composer interface {
	// Composer is what stands in the composer that a screen shows, its beginning.
	// False: there is none to be seen, or it is not known how it looks.
	Composer(screen string) (text string, shown bool)
	// Typed is a text as it has to be typed to be taken for one, and not for a
	// command of the agent's own.
	Typed(text string) string
}

// Outcome is what became of a text.
type Outcome string

// The outcomes. Unverified: nothing is known of how the agent's screen looks, so
// that nothing could tell.
const (
	Submitted  Outcome = "submitted"
	Queued     Outcome = "queued" // the agent is at work, and takes it up after or in that
	Unverified Outcome = "unverified"
)

// DialogError says that the agent asks something, so that nothing was typed.
type DialogError struct {
	Question string
	Screen   string
}

// Error is the question.
func (e *DialogError) Error() string {
	return "it asks something, and what is typed would be the answer:\n" + e.Question
}

// Excerpt is the screen.
func (e *DialogError) Excerpt() string { return e.Screen }

// NotTakenError says that a text was typed and nothing shows that the agent has
// taken it.
type NotTakenError struct {
	Draft  bool // it still stands in the composer
	Screen string
}

// Error is the end of the screen.
func (e *NotTakenError) Error() string {
	what := "it was typed, and nothing shows that the agent has taken it"
	if e.Draft {
		what = "it was typed, and still stands in the composer, although Enter was pressed again"
	}
	return what + "; the screen ends:\n" + end(e.Screen, 12)
}

// Excerpt is the screen.
func (e *NotTakenError) Excerpt() string { return e.Screen }

func end(screen string, rows int) string {
	all := strings.Split(strings.TrimRight(screen, "\n "), "\n")
	return strings.Join(all[max(0, len(all)-rows):], "\n")
}

// agentLeft is the Source of the reading of an agent that is gone.
const agentLeft = "exit"

const (
	// soon is how long an agent may take to show that it has a text, before Enter
	// is pressed again: some tenths of a second, on a busy machine more.
	soon = 1500 * time.Millisecond
	// late is how long it may take after that.
	late = 6 * time.Second
	// still is for how long a screen must have been the same before it is typed into.
	still = 200 * time.Millisecond
	// blind is how long it is looked at an agent of which nothing is known: its
	// screen may change all the same.
	blind = 300 * time.Millisecond
	// drafts is how many lines of a draft are cleared away.
	drafts = 50
)

// Send gives the agent a text. As it is says that a text which is a command of the
// agent's own is meant as one. The error is a *DialogError when nothing was typed
// because the agent asks something, and a *NotTakenError when it was not taken.
func (h Hands) Send(ctx context.Context, text string, asItIs bool) (Outcome, error) {
	before, err := h.ready(ctx)
	if err != nil {
		return "", err
	}
	if before, err = h.clear(ctx, before); err != nil {
		return "", err
	}
	typed := text
	if c, known := h.Agent.(Composer); known && !asItIs {
		typed = c.Typed(text)
	}
	if err := h.Runtime.Send(ctx, h.Place, session.Input{Text: typed}); err != nil {
		return "", err
	}
	outcome := Submitted
	if before.Detection.Activity == session.Working {
		outcome = Queued
	}
	w := witness{before: before, probes: probesOf(text), command: asItIs}
	w.composer, _ = h.Agent.(Composer)
	now, taken, err := h.until(ctx, w, soon)
	if err != nil {
		return "", err
	}
	if !taken && w.knows(before) {
		if now, taken, err = h.again(ctx, w, now, typed); err != nil {
			return "", err
		}
	}
	switch {
	case taken:
		return outcome, nil
	case !w.knows(before):
		return Unverified, nil
	}
	return "", &NotTakenError{Draft: w.draft(now), Screen: now.Screen}
}

// again types once more what was not taken: the text, if it left no trace, and Enter as
// often as the text still stands in the composer. Gemini CLI 0.61.0 shows a text while
// it loads a conversation, and does not hear Enter until then.
func (h Hands) again(ctx context.Context, w witness, now Sight, typed string) (Sight, bool, error) {
	in, can := w.again(now, typed)
	for end := time.Now().Add(late); ; {
		if can {
			if err := h.Runtime.Send(ctx, h.Place, in); err != nil {
				return now, false, err
			}
		}
		left := time.Until(end)
		seen, taken, err := h.until(ctx, w, min(soon, left))
		if now = seen; err != nil || taken || left <= soon {
			return now, taken, err
		}
		in, can = session.Input{Key: "Enter"}, w.draft(now) && !asks(now)
	}
}

// Press types what is not submitted as a text: a key, or a draft. Enter submits what
// was typed before, and an agent at work takes that up later.
func (h Hands) Press(ctx context.Context, in session.Input) (Outcome, error) {
	outcome := Unverified
	if in.Key == "Enter" {
		if s, err := h.Look(ctx); err == nil && s.Detection.Activity == session.Working {
			outcome = Queued
		}
	}
	return outcome, h.Runtime.Send(ctx, h.Place, in)
}

// ready waits for an agent that boots, or still draws, and sees that it does not
// ask anything. What is typed while a program draws its first screens is lost.
func (h Hands) ready(ctx context.Context) (Sight, error) {
	began, before := time.Now(), ""
	for {
		s, err := h.Look(ctx)
		waited := time.Since(began)
		switch does := s.Detection.Activity; {
		case err != nil:
			return s, err
		case asks(s):
			return s, &DialogError{Question: s.Detection.Detail, Screen: s.Screen}
		case does == session.Working:
			return s, nil
		case does != session.Booting && (h.takes(s) && s.Screen == before || waited > h.Boot):
			return s, nil
		case waited > h.Boot:
			return s, fmt.Errorf("it still boots after %s; the screen ends:\n%s", h.Boot, end(s.Screen, 12))
		}
		before = s.Screen
		if err := pause(ctx, still); err != nil {
			return s, err
		}
	}
}

// takes reports whether the screen shows where a text is typed, as far as that is
// known.
func (h Hands) takes(s Sight) bool {
	c, known := h.Agent.(Composer)
	if !known {
		return true
	}
	_, shown := c.Composer(s.Screen)
	return shown || h.Agent.Ready(s.Screen)
}

// asks reports whether what is typed would be an answer.
func asks(s Sight) bool { return s.Detection.Activity == session.Blocked }

// clear takes a draft out of the composer, line by line. The first line always: one
// that was typed just now may not show yet. What stays there is no draft but a
// hint.
func (h Hands) clear(ctx context.Context, s Sight) (Sight, error) {
	c, known := h.Agent.(Composer)
	if !known {
		return s, nil
	}
	for n := range drafts {
		draft, shown := c.Composer(s.Screen)
		if !shown || draft == "" && n > 0 {
			return s, nil
		}
		keys := []string{"C-u"}
		if draft != "" {
			keys = append(keys, "BSpace") // the break before the line
		}
		for _, key := range keys {
			if err := h.Runtime.Send(ctx, h.Place, session.Input{Key: key}); err != nil {
				return s, err
			}
		}
		if draft == "" {
			return s, nil
		}
		if err := pause(ctx, 150*time.Millisecond); err != nil {
			return s, err
		}
		old := s.Screen
		var err error
		if s, err = h.Look(ctx); err != nil || s.Screen == old {
			return s, err
		}
	}
	return s, nil
}

// until looks until the agent has the text, or so long.
func (h Hands) until(ctx context.Context, w witness, long time.Duration) (now Sight, taken bool, err error) {
	began := time.Now()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		now, err = h.Look(ctx)
		switch left := errors.Is(err, session.ErrGone) || now.Detection.Source == agentLeft; {
		case left && w.command:
			return now, true, nil // to leave is what some commands are for
		case left && err == nil:
			return now, false, fmt.Errorf("it was typed, and the agent has left: %w", session.ErrGone)
		case err != nil || w.taken(now):
			return now, err == nil, err
		}
		if time.Since(began) > long || !w.knows(w.before) && time.Since(began) > blind {
			return now, false, nil
		}
		if err := pause(ctx, wait); err != nil {
			return now, false, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("see that it was taken: %w", ctx.Err())
	case <-time.After(d):
		return nil
	}
}
