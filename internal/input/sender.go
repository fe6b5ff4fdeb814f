package input

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/session"
)

// Snapshot is the state of a session at one time.
type Snapshot struct {
	Screen     string
	Detection  session.Detection
	Transcript *session.Transcript // nil: no session file
	HookEvents int64               // the number of events from its hooks
	// Messages are those that the agent has taken up. Tells means that its session file or its
	// hooks report every message.
	Messages []session.Message
	Tells    bool
	// Awaited means that the message before has no answer yet: the agent may start to work on it at
	// any time, and queue others.
	Awaited bool
	// Unsent means that the screen ends with the last typed text, as left by a command that was
	// killed before it pressed Enter.
	Unsent bool
	// PromptBy is when an agent should have submitted the prompt of its start; zero: it has, or
	// nothing reports it. The agent submits the prompt from its composer, in place of typed text.
	PromptBy time.Time
}

func (s Snapshot) working() bool { return s.Detection.Activity == session.Working }

// busy reports whether the agent is working, or about to.
func (s Snapshot) busy() bool { return s.working() || s.Awaited }
func (s Snapshot) asks() bool { return s.Detection.Activity == session.Blocked }

func (s Snapshot) exited() bool { return s.Detection.Source == "exit" }

// end returns the end of the screen, for errors.
func (s Snapshot) end() string {
	rows := strings.Split(strings.TrimRight(s.Screen, "\n "), "\n")
	return strings.Join(rows[max(0, len(rows)-12):], "\n")
}

// Sender sends input to one session.
type Sender struct {
	Runtime  session.Runtime
	Location session.Location
	Agent    session.Agent
	Observe  func(context.Context) (Snapshot, error)
	// Typing is called right before a text is typed and submitted, unless it is nil. message means
	// that the text is for the model, and not a command. If Typing fails, nothing is typed.
	Typing func(text string, message bool) error
	// BootTimeout bounds the wait for an agent that is booting.
	BootTimeout time.Duration
	// KeepDraft means that Send does not replace a text that somebody has left in the composer.
	KeepDraft bool
}

// Composer is implemented by agents with a known composer, the field where text is edited.
type Composer interface {
	// Composer returns the start of the text in the composer on a screen, and whether the screen
	// shows a composer.
	Composer(screen string) (text string, shown bool)
	// Typed returns a text as it must be typed so that it is not a command of the agent.
	Typed(text string) string
	// Late reports whether the agent may submit a text seconds after Enter, with what was typed
	// meanwhile, and show it nowhere for seconds more: an empty composer does not mean that the
	// text was lost.
	Late() bool
}

// Outcome is the outcome of an input.
type Outcome string

// The outcomes. Unverified means that the agent's screen is not known.
const (
	Submitted  Outcome = "submitted"
	Queued     Outcome = "queued" // the agent is working and receives the text later
	Unverified Outcome = "unverified"
)

// PausedError means that nothing was typed because the session is paused.
type PausedError struct{ Err error }

// Error returns why nothing was typed.
func (e *PausedError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the runtime.
func (e *PausedError) Unwrap() error { return e.Err }

// untyped marks the error of a paused session into which nothing was typed.
func untyped(err error) error {
	if errors.Is(err, session.ErrRefused) {
		return &PausedError{err}
	}
	return err
}

// DialogError means that nothing was typed because the agent asks a question.
type DialogError struct {
	Question string
	Screen   string
}

// Error returns the question.
func (e *DialogError) Error() string {
	return "the agent asks a question, so the text was not sent:\n" + e.Question
}

// Excerpt returns the screen.
func (e *DialogError) Excerpt() string { return e.Screen }

// DraftError means that nothing was typed because the composer has a text that was not sent.
type DraftError struct{ Screen string }

// Error returns why nothing was typed.
func (e *DraftError) Error() string {
	return "its composer has a text that was not sent, which is kept"
}

// Excerpt returns the screen.
func (e *DraftError) Excerpt() string { return e.Screen }

// HasDraft reports whether the screen of an agent with a known composer shows a text in it.
func HasDraft(agent session.Agent, screen string) bool {
	c, known := agent.(Composer)
	return known && drafted(c, screen)
}

func drafted(c Composer, screen string) bool {
	text, shown := c.Composer(screen)
	return shown && text != ""
}

// NotTakenError means that nothing shows that the agent received a typed text.
type NotTakenError struct {
	Draft  bool // it is still in the composer
	Screen string
}

// Error returns the end of the screen.
func (e *NotTakenError) Error() string {
	what := "the text was typed, and nothing shows that the agent received it: it may be in the input"
	if e.Draft {
		what = "the text was typed, and is still in the composer after Enter was pressed again"
	}
	return what + "; the screen ends:\n" + Snapshot{Screen: e.Screen}.end()
}

// Excerpt returns the screen.
func (e *NotTakenError) Excerpt() string { return e.Screen }

const (
	// confirmTimeout is how long an agent may take to show a text before Enter is pressed again. It
	// takes some tenths of a second, longer on a busy machine.
	confirmTimeout = 1500 * time.Millisecond
	// retryTimeout bounds the wait for an agent to read its composer again.
	retryTimeout = 6 * time.Second
	// retries is how often Enter is pressed again: while slowTimeout is not over, and each time
	// after twice as long. On a busy machine Gemini CLI 0.61.0 ignored Enter for more than eight
	// seconds after it had resumed a conversation.
	retries     = 4
	slowTimeout = time.Minute
	// readTimeout bounds the wait for an agent to read typed text. Afterwards the text may still be
	// read, and is not typed again.
	readTimeout = 30 * time.Second
	// markTimeout bounds the wait for a mark, and then for its removal.
	markTimeout = readTimeout / time.Duration(len(marks))
	// drawnFor is how recently an agent must have drawn to read a mark by itself. An agent that
	// reads it together with Enter adds it to the text (Claude Code 2.1.197).
	drawnFor = 2 * time.Second
	// blindTimeout replaces confirmTimeout if nothing can confirm a text, although the screen may
	// change.
	blindTimeout = 300 * time.Millisecond
	// stableFor is how long a screen must not change before text is typed.
	stableFor = 200 * time.Millisecond
	// draftLines is the most lines of a draft that are cleared.
	draftLines = 50
)

// Send types a text and verifies that the agent received it. With verbatim, a text that looks like
// a command of the agent is one. The error is a *DialogError or *DraftError if nothing was
// typed, and a *NotTakenError if the agent did not receive the text.
func (s Sender) Send(ctx context.Context, text string, verbatim bool) (Outcome, error) {
	before, err := s.awaitReady(ctx)
	switch {
	case err != nil:
	case s.KeepDraft && HasDraft(s.Agent, before.Screen):
		err = &DraftError{before.Screen}
	default:
		before, err = s.clearDraft(ctx, before)
	}
	if err != nil {
		return "", untyped(err)
	}
	d := newDelivery(before, s.Agent, text, verbatim)
	d.at = time.Now()
	if s.Typing != nil {
		if err := s.Typing(text, d.message); err != nil {
			return "", err
		}
	}
	if err := s.Runtime.Send(ctx, s.Location, session.Input{Text: d.typed}); err != nil {
		return "", untyped(err)
	}
	now, received, err := s.confirm(ctx, d, d.patience())
	if err == nil && !received && d.verifiable(before) {
		now, received, err = s.retry(ctx, d, now)
	}
	switch {
	case err != nil:
		return "", err
	case received && before.working():
		return Queued, nil
	case received:
		return Submitted, nil
	case !d.verifiable(before):
		return Unverified, nil
	}
	return "", &NotTakenError{Draft: d.draft(now), Screen: now.Screen}
}

// retry waits for an agent that reads the text late, and types again what it did not receive: Enter
// while the text is in the composer, and the text if the agent has read it and it left no trace.
// Gemini CLI 0.61.0 shows a text while it loads a conversation but ignores Enter until then. On a
// busy machine any agent may read a text seconds late, along with the Enter, as a line break. retry
// does not press Enter before the agent has read the last one: Qwen Code 0.15.10 submits a text
// twice if it reads two at once.
func (s Sender) retry(ctx context.Context, d delivery, now Snapshot) (Snapshot, bool, error) {
	var drawn time.Time // when the screen was first observed to change
	drafted, marked, enters := false, false, 0
	began := time.Now()
	again, end := retryTimeout, began.Add(readTimeout)
	if d.late() { // it has had time to read the text
		again, end = readTimeout, began
	}
	for {
		var err error
		patience := d.patience()
		text, shown := d.composed(now)
		if drawn.IsZero() && now.Screen != d.before.Screen {
			drawn = time.Now()
		}
		switch {
		case now.asks():
		case text != "":
			if !drafted {
				drafted, end = true, time.Now().Add(again)
			}
			var read bool
			asked := time.Now()
			now, read, err = s.catchUp(ctx, d, now)
			if err != nil || d.received(now) {
				return now, err == nil, err
			}
			// The draft was a line of a conversation that was being loaded: the text may be lost.
			if !d.draft(now) && time.Since(began) < slowTimeout {
				end = time.Now().Add(again)
			}
			if read && d.draft(now) && !now.asks() {
				err = s.key(ctx, "Enter")
				patience = min(max(patience<<enters, 2*time.Since(asked)), readTimeout)
				enters++
				if end = time.Now().Add(patience); enters < retries && time.Since(began) < slowTimeout {
					end = end.Add(again)
				}
			}
		case shown && !d.late() && !marked && !drawn.IsZero() && time.Since(drawn) >= drawnFor:
			var read bool
			now, read, err = s.catchUp(ctx, d, now)
			empty := read && !d.draft(now)
			if err == nil && empty {
				now, _, err = s.confirm(ctx, d, confirmTimeout)
			}
			if err != nil || d.received(now) || empty && d.traced(now) {
				return now, err == nil, err
			}
			if marked, end = true, time.Now().Add(again); d.draft(now) {
				continue
			}
			if empty && d.lost(now) {
				err = s.Runtime.Send(ctx, s.Location, session.Input{Text: d.typed})
			}
		}
		if err != nil {
			return now, false, err
		}
		left := time.Until(end)
		seen, received, err := s.confirm(ctx, d, min(patience, left))
		if now = seen; err != nil || received || left <= patience {
			return now, received, err
		}
	}
}

// marks are typed one after the other, to be seen in the composer. They are neither commands nor,
// outside of modes like vim's, keys of any agent. Each is pressed as a key: Copilot CLI 1.0.102
// submits a pasted one that was removed from its composer.
const marks = ".,_"

// catchUp waits until the agent has read all typed text, and reports whether it has. It types a
// mark, waits until the composer shows that, and removes it. Gemini CLI 0.61.0 loses keys for a
// moment after it first shows its composer, so catchUp types another mark if one does not appear,
// or not disappear.
func (s Sender) catchUp(ctx context.Context, d delivery, before Snapshot) (now Snapshot, read bool, err error) {
	pending := 0 // typed marks without a key to remove them
	for n := range len(marks) {
		last := marks[n : n+1]
		if err := s.key(ctx, last); err != nil {
			return before, false, errors.Join(err, s.unmark(ctx, pending))
		}
		pending++
		shown := ""
		over := func(now Snapshot) bool { return d.received(now) || now.asks() }
		now, err = s.until(ctx, func(now Snapshot) bool {
			shown = d.marks(before, now, marks[:n+1])
			return strings.HasSuffix(shown, last) || over(now)
		})
		switch seen := strings.HasSuffix(shown, last); {
		case errors.Is(err, session.ErrGone) || now.exited():
			return now, false, nil // confirm decides what that means
		case err != nil || !seen && over(now):
			return now, false, errors.Join(err, s.unmark(ctx, pending))
		case !seen:
			continue
		}
		pending = 0
		if err := s.unmark(ctx, len(shown)); err != nil {
			return now, false, err
		}
		var gone time.Time
		now, err = s.until(ctx, func(now Snapshot) bool {
			if _, shown := d.composed(now); !shown || d.marks(before, now, marks[:n+1]) != "" {
				gone = time.Time{}
			} else if gone.IsZero() {
				gone = time.Now()
			}
			return !gone.IsZero() && time.Since(gone) >= stableFor
		})
		if err != nil || now.exited() || !gone.IsZero() {
			return now, err == nil && !gone.IsZero(), err
		}
	}
	return now, false, s.unmark(ctx, pending)
}

// unmark removes marks at the end of the text in the composer, even if the command is canceled. An
// agent that shows nothing yet reads this after the marks.
func (s Sender) unmark(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), retryTimeout)
	defer cancel()
	for range n {
		if err := s.key(ctx, "BSpace"); err != nil {
			return err
		}
	}
	return nil
}

// until observes the session until a snapshot is as wanted, at most for markTimeout.
func (s Sender) until(ctx context.Context, wanted func(Snapshot) bool) (now Snapshot, err error) {
	for began := time.Now(); ; {
		if err := pause(ctx, lookInterval); err != nil {
			return now, err
		}
		if now, err = s.Observe(ctx); err != nil || wanted(now) || now.exited() || time.Since(began) > markTimeout {
			return now, err
		}
	}
}

// Press sends input without verification: a key, a draft or a text. A working agent queues
// submitted input.
func (s Sender) Press(ctx context.Context, in session.Input) (Outcome, error) {
	if in.NoEnter && in.Key == "" && in.Text != "" {
		return Unverified, s.typeDraft(ctx, in)
	}
	outcome := Unverified
	if in.Key == "Enter" || in.Key == "" {
		if now, err := s.Observe(ctx); err == nil && now.working() {
			outcome = Queued
		}
	}
	return outcome, s.Runtime.Send(ctx, s.Location, in)
}

// typeDraft types a text that stays in the composer, and waits at most retryTimeout until it is
// shown there: Copilot CLI 1.0.102 reads a key before a paste that came shortly before.
func (s Sender) typeDraft(ctx context.Context, in session.Input) error {
	composed := func() (text string, shown bool) {
		c, known := s.Agent.(Composer)
		if !known {
			return "", false
		}
		now, err := s.Observe(ctx)
		if err != nil {
			return "", false
		}
		return c.Composer(now.Screen)
	}
	before, shown := composed()
	if err := s.Runtime.Send(ctx, s.Location, in); err != nil {
		return err
	}
	text := before
	for began := time.Now(); shown && text == before && time.Since(began) < retryTimeout; text, shown = composed() {
		if err := pause(ctx, lookInterval); err != nil {
			return err
		}
	}
	return nil
}

// awaitReady waits for an agent that is booting, drawing or about to submit its own prompt, and
// checks that it asks no question. Its prompt may replace typed text, and Claude Code 2.1.197 may
// keep a copy of received text in the composer.
func (s Sender) awaitReady(ctx context.Context) (Snapshot, error) {
	began, screen := time.Now(), ""
	for {
		now, err := s.Observe(ctx)
		late := time.Since(began) > s.BootTimeout
		unprompted := time.Now().Before(now.PromptBy)
		switch booting := now.Detection.Activity == session.Booting; {
		case err != nil:
			return now, err
		case now.asks():
			return now, &DialogError{Question: now.Detection.Detail, Screen: now.Screen}
		case !unprompted && (late && !booting || now.working() || !booting && s.editable(now) && now.Screen == screen):
			return now, nil
		case late && booting:
			return now, fmt.Errorf("the agent is still booting after %s; the screen ends:\n%s", s.BootTimeout, now.end())
		}
		screen = now.Screen
		if err := pause(ctx, stableFor); err != nil {
			return now, err
		}
	}
}

// editable reports whether the screen shows the composer, as far as that is known.
func (s Sender) editable(now Snapshot) bool {
	c, known := s.Agent.(Composer)
	if !known {
		return true
	}
	_, shown := c.Composer(now.Screen)
	return shown || s.Agent.Ready(now.Screen)
}

// clearDraft removes a draft from the composer, line by line. It clears the first line even if that
// looks empty, since text just typed may not be shown yet. A text that stays is a hint. Without a
// known composer, it removes the last text that was typed and not submitted.
func (s Sender) clearDraft(ctx context.Context, now Snapshot) (Snapshot, error) {
	c, known := s.Agent.(Composer)
	shown := false
	if known {
		_, shown = c.Composer(now.Screen)
	}
	if !shown && now.Unsent {
		if err := s.key(ctx, "C-u"); err != nil {
			return now, err
		}
		if err := pause(ctx, stableFor); err != nil {
			return now, err
		}
		return s.Observe(ctx)
	}
	for n := 0; known && n < draftLines; n++ {
		draft, shown := c.Composer(now.Screen)
		if !shown || draft == "" && n > 0 {
			break
		}
		keys := []string{"C-u"}
		if draft != "" {
			keys = append(keys, "BSpace") // the line break before it
		}
		for _, key := range keys {
			if err := s.Runtime.Send(ctx, s.Location, session.Input{Key: key}); err != nil {
				return now, err
			}
		}
		if draft == "" {
			break
		}
		if err := pause(ctx, 150*time.Millisecond); err != nil {
			return now, err
		}
		screen := now.Screen
		var err error
		if now, err = s.Observe(ctx); err != nil || now.Screen == screen {
			return now, err
		}
	}
	return now, nil
}

// confirm observes the session until the agent has received the text, at most for timeout.
func (s Sender) confirm(ctx context.Context, d delivery, timeout time.Duration) (now Snapshot, received bool, err error) {
	if !d.verifiable(d.before) {
		timeout = min(timeout, blindTimeout)
	}
	began := time.Now()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		now, err = s.Observe(ctx)
		switch gone := errors.Is(err, session.ErrGone) || now.exited(); {
		case gone && d.verbatim:
			return now, true, nil // some commands make the agent exit
		case gone && err == nil:
			return now, false, fmt.Errorf("the text was typed, and the agent exited: the session %w", session.ErrGone)
		case err != nil || d.received(now):
			return now, err == nil, err
		case time.Since(began) > timeout:
			return now, false, nil
		}
		if err := pause(ctx, wait); err != nil {
			return now, false, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	if !sleep.For(ctx, d) {
		return fmt.Errorf("wait for the agent to receive the text: %w", ctx.Err())
	}
	return nil
}
