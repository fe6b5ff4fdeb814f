package input

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// Reply is an answer to a question of an agent.
type Reply struct {
	// Text is yes, always or no, a number or label of an option, or a text where the
	// question takes one.
	Text string
	// Question is the ID of the question to answer. Empty: the one on the screen.
	Question string
}

// Answered is an answer that was given.
type Answered struct {
	Question session.Question
	Option   session.Option    // zero: a text was typed
	Next     *session.Question // the current question; nil: none
	Exited   bool              // the agent has since exited
}

// String returns the answer: the option's name, or text.
func (a Answered) String() string {
	if a.Option.Number == 0 || a.Option.Text {
		return "with a text"
	}
	return a.Option.Name()
}

// NoQuestionError means that the agent asks no question that can be answered.
type NoQuestionError struct {
	Activity session.Activity
	Detail   string // the question, if its answers cannot be read from the screen
	Screen   string
}

// Error returns the agent's activity.
func (e *NoQuestionError) Error() string {
	if e.Activity == session.Blocked {
		return "the agent asks a question whose answers cannot be read from its screen:\n" + e.Detail
	}
	return fmt.Sprintf("the agent asks no question: it is %s", e.Activity)
}

// Excerpt returns the screen.
func (e *NoQuestionError) Excerpt() string { return e.Screen }

// OtherQuestionError means that nothing was answered because the agent asks another question.
type OtherQuestionError struct {
	Now    *session.Question // nil: it no longer asks
	Screen string
}

// Error returns the current question.
func (e *OtherQuestionError) Error() string {
	if e.Now == nil {
		return "nothing was answered: the question is gone from the screen"
	}
	return "nothing was answered: the agent now asks another question: " + e.Now.String()
}

// Excerpt returns the screen.
func (e *OtherQuestionError) Excerpt() string { return e.Screen }

// UnknownAnswerError means that a question has no such answer.
type UnknownAnswerError struct {
	Answer   string
	Question session.Question
	Several  []session.Option // the options that the answer could mean
}

// Error lists the possible answers.
func (e *UnknownAnswerError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q is not an answer to: %s\nAnswers:", e.Answer, e.Question.Text)
	for _, o := range e.Question.Options {
		fmt.Fprintf(&b, "\n  %d", o.Number)
		if o.Word != "" {
			fmt.Fprintf(&b, " or %s", o.Word)
		}
		fmt.Fprintf(&b, ": %s", o.Label)
		if o.About != "" {
			fmt.Fprintf(&b, " (%s)", o.About)
		}
	}
	if e.Question.Free {
		b.WriteString("\n  or a text")
	}
	return b.String()
}

// NotAnsweredError means that keys were pressed and the question is still on the screen.
type NotAnsweredError struct {
	Question session.Question
	Pressed  bool // the answer was given; otherwise only the cursor moved
	Screen   string
}

// Error returns the unanswered question.
func (e *NotAnsweredError) Error() string {
	what := "the dialog does not react to keys, and nothing was answered"
	if e.Pressed {
		what = "the answer was given, and the question is still on the screen"
	}
	return what + "; the screen ends:\n" + Snapshot{Screen: e.Screen}.end()
}

// Excerpt returns the screen.
func (e *NotAnsweredError) Excerpt() string { return e.Screen }

// choose returns the option for an answer. ok is false if the answer is a text to type.
func choose(q session.Question, answer string) (session.Option, bool, error) {
	answer = strings.TrimSpace(answer)
	unknown := &UnknownAnswerError{Answer: answer, Question: q}
	if answer == "" {
		return session.Option{}, false, unknown
	}
	if len(q.Options) == 0 {
		return session.Option{}, false, nil
	}
	number, err := strconv.Atoi(answer)
	for _, o := range q.Options {
		if !o.Text && (err == nil && o.Number == number || o.Word != "" && o.Word == answer || strings.EqualFold(o.Label, answer) && !reserved(answer)) {
			return o, true, nil
		}
	}
	if q.Free && err != nil && !reserved(answer) {
		return session.Option{}, false, nil
	}
	return session.Option{}, false, unknown
}

// reserved reports whether an answer is a name that options get by their meaning, and so neither a
// label nor a text.
func reserved(answer string) bool {
	switch strings.ToLower(answer) {
	case session.Yes, session.Always, session.No:
		return true
	}
	return false
}

const (
	// dialogTimeout bounds the wait for a dialog that a hook has announced. On a busy machine
	// drawing it takes seconds.
	dialogTimeout = 10 * time.Second
	// reactTimeout bounds the wait for the cursor of a dialog to move. A dialog may be shown a
	// little before it reads keys, and with a seventh of a processor Gemini CLI 0.61.0 read a key
	// more than six seconds late.
	reactTimeout = 20 * time.Second
	// moveTimeout is how long one key may take to move the cursor.
	moveTimeout = 700 * time.Millisecond
	// restTime is how long a cursor must not move after a key was pressed again. A busy agent reads
	// late keys one after another.
	restTime = time.Second
	// goneTimeout bounds the wait for an answered dialog to close.
	goneTimeout = 5 * time.Second
	// redrawTimeout is how long a question may be off the screen during a redraw. Gemini CLI 0.61.0
	// redraws in parts.
	redrawTimeout = 400 * time.Millisecond
	// absentTimeout is how long a dialog may be off the screen while a text is typed into it.
	absentTimeout = 3 * time.Second
	// repeatTimeout is how long the answered question must stay below other words to count as the
	// next one: Claude Code draws above its trust question before it removes that.
	repeatTimeout = 3 * time.Second
	// lookInterval is the time between two looks at a dialog.
	lookInterval = 40 * time.Millisecond
)

// Answer answers the question on the screen. It presses a key that chooses only right after it has
// seen that question unchanged, and returns once the question is gone. The error is a
// *NoQuestionError, *OtherQuestionError or *UnknownAnswerError if nothing was answered, and a
// *NotAnsweredError if the question is still shown.
func (s Sender) Answer(ctx context.Context, r Reply) (Answered, error) {
	now, err := s.awaitQuestion(ctx)
	if err != nil {
		return Answered{}, err
	}
	q := *now.Detection.Question
	if r.Question != "" && r.Question != q.ID {
		return Answered{}, &OtherQuestionError{Now: &q, Screen: now.Screen}
	}
	a := Answered{Question: q}
	option, chosen, err := choose(q, r.Text)
	switch {
	case err != nil:
		return a, err
	case q.Several:
		return a, fmt.Errorf("%s takes several answers at once, which can only be given in the terminal (agentform attach): nothing was answered", q.Text)
	case chosen:
		a.Option = option
		err = s.choose(ctx, q, option)
	default:
		for _, o := range q.Options {
			if o.Text {
				a.Option = o
			}
		}
		err = s.typeAnswer(ctx, q, a.Option, strings.TrimSpace(r.Text))
	}
	if err != nil {
		return a, err
	}
	answered, err := s.awaitGone(ctx, a)
	if _, stays := errors.AsType[*NotAnsweredError](err); chosen && q.Marked == 0 || !stays {
		return answered, err
	}
	// Keys are read in order: once the dialog has reacted to a later key, Enter was read and lost.
	// An agent that has exited has read it: Gemini CLI exits after the answer about trusting its
	// directory.
	var again error
	if chosen {
		again = s.choose(ctx, q, option)
	} else {
		again = s.submitAgain(ctx, q, strings.TrimSpace(r.Text))
	}
	if _, other := errors.AsType[*OtherQuestionError](again); again != nil && !other && !errors.Is(again, session.ErrGone) {
		return answered, err
	}
	return s.awaitGone(ctx, a)
}

// awaitQuestion returns a snapshot with a fully drawn question: two looks in a row show the same
// one.
func (s Sender) awaitQuestion(ctx context.Context) (Snapshot, error) {
	id := ""
	for began := time.Now(); ; {
		now, err := s.Observe(ctx)
		q := now.Detection.Question
		switch {
		case err != nil:
			return now, err
		case q != nil && q.ID == id:
			return now, nil
		case q != nil:
			id = q.ID
		case now.asks() && time.Since(began) < dialogTimeout, id != "" && time.Since(began) < stableFor:
			id = ""
		default:
			return now, &NoQuestionError{Activity: now.Detection.Activity, Detail: now.Detection.Detail, Screen: now.Screen}
		}
		if err := pause(ctx, stableFor/2); err != nil {
			return now, err
		}
	}
}

// look returns a snapshot that shows the question, or an *OtherQuestionError if the question does
// not reappear within redrawTimeout.
func (s Sender) look(ctx context.Context, q session.Question) (Snapshot, error) {
	for began := time.Now(); ; {
		now, err := s.Observe(ctx)
		if err != nil {
			return now, err
		}
		x := now.Detection.Question
		if x != nil && x.ID == q.ID {
			return now, nil
		}
		if now.exited() || time.Since(began) > redrawTimeout {
			return now, &OtherQuestionError{Now: x, Screen: now.Screen}
		}
		if err := pause(ctx, lookInterval); err != nil {
			return now, err
		}
	}
}

// choose selects an option of a dialog.
func (s Sender) choose(ctx context.Context, q session.Question, o session.Option) error {
	switch {
	case q.Marked > 0:
		if err := s.mark(ctx, q, o.Number); err != nil {
			return err
		}
		if o.Key == "Escape" { // Copilot CLI 1.0.102 waits for a text after Enter
			return s.key(ctx, o.Key)
		}
		return s.key(ctx, "Enter")
	case strings.ToLower(o.Key) != o.Key: // named keys are not shown, and choose at once
		_, err := s.look(ctx, q)
		for key := range strings.FieldsSeq(o.Key) {
			if err == nil {
				err = s.key(ctx, key)
			}
		}
		return err
	}
	return s.typeLine(ctx, q, o.Key)
}

// mark moves the cursor of a dialog to an option. A movement shows that the dialog reads keys, so a
// cursor that is already there is moved away and back. A key without effect was lost or is read
// later. From then on the cursor must come to rest after each key, for twice the time that it took
// to move.
func (s Sender) mark(ctx context.Context, q session.Question, number int) error {
	moved := len(q.Options) == 1
	var rest time.Duration // zero: each key has moved the cursor at once
	var unmoved time.Time  // when the first key without effect was pressed
	for {
		now, err := s.look(ctx, q)
		if err == nil && moved && rest > 0 {
			now, err = s.awaitRest(ctx, q, now, rest)
		}
		if err != nil {
			return err
		}
		at := now.Detection.Question.Marked
		if at == number && moved {
			return nil
		}
		if !unmoved.IsZero() && time.Since(unmoved) > reactTimeout {
			return &NotAnsweredError{Question: q, Screen: now.Screen}
		}
		key := "Down"
		if at > number || at == number && at == len(q.Options) {
			key = "Up"
		}
		if err := s.key(ctx, key); err != nil {
			return err
		}
		pressed := time.Now()
		if unmoved.IsZero() {
			unmoved = pressed
		}
		for now.Detection.Question.Marked == at && time.Since(pressed) < moveTimeout {
			if err := pause(ctx, lookInterval); err != nil {
				return err
			}
			if now, err = s.look(ctx, q); err != nil {
				return err
			}
		}
		if now.Detection.Question.Marked == at {
			rest = max(rest, restTime)
			continue
		}
		if rest > 0 {
			rest = max(rest, 2*time.Since(unmoved))
		}
		moved, unmoved = true, time.Time{}
	}
}

// awaitRest waits until the cursor of a dialog has rested for a time.
func (s Sender) awaitRest(ctx context.Context, q session.Question, now Snapshot, rest time.Duration) (Snapshot, error) {
	for since := time.Now(); time.Since(since) < rest; {
		at := now.Detection.Question.Marked
		err := pause(ctx, lookInterval)
		if err == nil {
			now, err = s.look(ctx, q)
		}
		if err != nil {
			return now, err
		}
		if now.Detection.Question.Marked != at {
			since = time.Now()
		}
	}
	return now, nil
}

func (s Sender) key(ctx context.Context, key string) error {
	return s.Runtime.Send(ctx, s.Location, session.Input{Key: key})
}

// typeLine types the key of an option in a dialog without a cursor, and presses Enter if the
// program shows the key and waits. A program that reads a line shows it behind the question, which
// then is no question any more.
func (s Sender) typeLine(ctx context.Context, q session.Question, key string) error {
	before, err := s.look(ctx, q)
	if err != nil {
		return err
	}
	if err := s.Runtime.Send(ctx, s.Location, session.Input{Text: key, NoEnter: true}); err != nil {
		return err
	}
	var echoed time.Time // since when the key is behind the question
	for pressed := time.Now(); time.Since(pressed) < moveTimeout; {
		if err := pause(ctx, lookInterval); err != nil {
			return err
		}
		now, err := s.Observe(ctx)
		if err != nil {
			return err
		}
		rest, follows := strings.CutPrefix(strings.TrimSpace(now.Screen), strings.TrimSpace(before.Screen))
		switch x := now.Detection.Question; {
		case x != nil && x.ID == q.ID && now.Screen != before.Screen:
			return s.key(ctx, "Enter")
		case x != nil && x.ID == q.ID:
		case !follows || strings.TrimSpace(rest) != key:
			return nil
		case echoed.IsZero():
			echoed = time.Now()
		case time.Since(echoed) >= stableFor:
			return s.key(ctx, "Enter")
		}
	}
	return nil // awaitGone decides
}

// typeAnswer types a text as the answer and submits it once the dialog shows it. Gemini CLI 0.61.0
// ignores an Enter that it reads together with the text.
func (s Sender) typeAnswer(ctx context.Context, q session.Question, o session.Option, text string) error {
	if o.Number > 0 {
		if err := s.mark(ctx, q, o.Number); err != nil {
			return err
		}
	}
	before, err := s.look(ctx, q)
	if err != nil {
		return err
	}
	if err := s.Runtime.Send(ctx, s.Location, session.Input{Text: text, NoEnter: true}); err != nil {
		return err
	}
	parts := append(probesOf(text), ending(text))
	now, err := s.awaitTyped(ctx, q, func(now Snapshot) bool { return shows(now.Screen, parts) > shows(before.Screen, parts) })
	// A dialog may hide the typed text.
	if _, hidden := errors.AsType[*NotAnsweredError](err); err != nil && (!hidden || now.Screen == before.Screen) {
		return err
	}
	return s.key(ctx, "Enter")
}

// submitAgain submits a typed answer whose Enter was lost. First it types a mark and removes it,
// and the dialog must show both.
func (s Sender) submitAgain(ctx context.Context, q session.Question, text string) error {
	mark := marks[:1]
	marked := []string{ending(text + mark)}
	before, err := s.Observe(ctx)
	if err != nil {
		return err
	}
	there := func(now Snapshot) bool { return shows(now.Screen, marked) > shows(before.Screen, marked) }
	if err := s.key(ctx, mark); err != nil {
		return err
	}
	_, err = s.awaitTyped(ctx, q, there)
	// An agent that shows nothing yet reads this after the mark, too.
	if e := s.key(ctx, "BSpace"); err != nil || e != nil {
		return errors.Join(err, e)
	}
	if _, err = s.awaitTyped(ctx, q, func(now Snapshot) bool { return !there(now) }); err != nil {
		return err
	}
	return s.key(ctx, "Enter")
}

// awaitTyped waits until a dialog shows the typed text. The error is a *NotAnsweredError after
// readTimeout, and an *OtherQuestionError if the dialog is gone.
func (s Sender) awaitTyped(ctx context.Context, q session.Question, shown func(Snapshot) bool) (Snapshot, error) {
	for began, there := time.Now(), time.Now(); ; {
		if err := pause(ctx, stableFor); err != nil {
			return Snapshot{}, err
		}
		now, err := s.Observe(ctx)
		same := sameDialog(now.Detection.Question, q)
		if same {
			there = time.Now()
		}
		switch {
		case err != nil, same && shown(now):
			return now, err
		case now.exited(), time.Since(there) > absentTimeout:
			return now, &OtherQuestionError{Now: now.Detection.Question, Screen: now.Screen}
		case time.Since(began) > readTimeout:
			return now, &NotAnsweredError{Question: q, Screen: now.Screen}
		}
	}
}

// sameDialog reports whether a dialog is that of a question, ignoring typed text.
func sameDialog(now *session.Question, q session.Question) bool {
	switch {
	case now == nil || len(now.Options) != len(q.Options):
		return false
	case len(q.Options) == 0:
		return strings.HasPrefix(now.Says, q.Says)
	}
	return now.ID == q.ID || q.Free && now.Says == q.Says
}

// awaitGone waits until the answered question is gone. The same words below other words are the
// next question.
func (s Sender) awaitGone(ctx context.Context, a Answered) (Answered, error) {
	gone := time.Time{}
	for began := time.Now(); ; {
		now, err := s.Observe(ctx)
		if errors.Is(err, session.ErrGone) || err == nil && now.exited() {
			a.Exited = true
			return a, nil
		}
		if err != nil {
			return a, err
		}
		x := now.Detection.Question
		switch there := sameDialog(x, a.Question) && x.Above == a.Question.Above; {
		case there:
			gone = time.Time{}
		case gone.IsZero():
			gone = time.Now()
		case sameDialog(x, a.Question) && time.Since(gone) < repeatTimeout:
		case time.Since(gone) >= stableFor:
			a.Next = x
			return a, nil
		}
		if gone.IsZero() && time.Since(began) > goneTimeout {
			return a, &NotAnsweredError{Question: a.Question, Pressed: true, Screen: now.Screen}
		}
		if err := pause(ctx, lookInterval); err != nil {
			return a, err
		}
	}
}
