package turn

import (
	"time"

	"github.com/agentform/agentform/session"
)

// Look is what one look saw of an agent.
type Look struct {
	At       time.Time
	Run      string // the id of its run
	Activity session.Activity
	Alive    bool
	OneShot  bool      // it exits when its work is done, so reporting that ends no turn
	Screen   bool      // only its screen shows its activity
	Prompt   bool      // its screen shows where a prompt is typed
	Given    time.Time // when it was last given something; zero: never
	Queued   bool      // it was at work when it was last given something
	Moved    time.Time // last output, to the second; zero: not known
	Since    time.Time // since when it has been so; zero: not known
	Ended    time.Time // when the agent exited; zero: it has not, or that is not known
	TurnAt   time.Time // when its last turn ended, if its hooks or its own file say
	Answer   Answer    // to what it was last sent
}

// working reports whether the agent works, or waits for an answer or a limit.
func (l Look) working() bool {
	return l.Activity == session.Working || l.Activity == session.Blocked || l.Activity == session.BlockedAPI
}

// resting reports whether the agent waits for a prompt, or reports that its work is done.
func (l Look) resting() bool {
	return l.Activity == session.Idle || l.Activity == session.Done && !l.OneShot
}

// phrase reports whether only a line on its screen shows that the agent is done or has failed. It
// may continue to work.
func (l Look) phrase() bool {
	return l.Screen && (l.Activity == session.Done || l.Activity == session.Failed)
}

// Answer is the state of the answer to the last text, according to the agent's file or hooks.
type Answer string

// The answers. A text is awaited until a turn has ended in which the agent has taken it up.
// Unknown: its file or hooks cannot say.
const (
	Unknown Answer = ""
	Awaited Answer = "awaited"
	Given   Answer = "given"
)

// How long a reading must have held.
const (
	// Calm is for an agent that was seen at work and rests now. A title or a screen
	// between two states does not last so long, nor does the rest before a queued message.
	Calm = 500 * time.Millisecond
	// Between is for an agent that was working when it got input: it may rest before it takes that
	// up, on a busy machine for longer than Calm (Gemini CLI 0.61.0).
	Between = 2 * time.Second
	// Settle is for an agent that was not seen at work since it was given something. The
	// longest rest seen before it took up the prompt of its command line was 1.5 s
	// (Gemini CLI 0.61.0).
	Settle = 5 * time.Second
	// Patience is for an agent that has not taken up what it was sent: a person may have
	// taken that back. On a busy machine, or with a slow hook, it rests for long before.
	Patience = 30 * time.Second
	// Quiet is for a line on the screen that shows that the agent is done, or has failed: what it
	// prints while it works is part of its work. Runtimes count seconds.
	Quiet = 2 * time.Second
	// FileLag is how long an agent's session file may lag behind its hooks and screen.
	FileLag = 2 * time.Second
	// tick is the resolution of Look.Moved: tmux counts seconds.
	tick = time.Second
)

// Course is what is known of one agent from several looks.
type Course struct {
	last  Look
	since time.Time // since when it has been so, as far as known
	work  bool      // it was seen at work since it was given something
	ended time.Time // EndedAt, until the agent works or is given something; zero: it was not seen to end
}

// Once returns the result of a single look at an agent.
func Once(l Look) *Course {
	var c Course
	c.See(l)
	return &c
}

// See adds a look.
func (c *Course) See(l Look) {
	was, first := c.last, c.last.At.IsZero() || c.last.Run != l.Run
	same := !first && l.Activity == was.Activity && l.Alive == was.Alive
	switch {
	case same:
	case !l.Ended.IsZero():
		c.since = l.Ended
	case first && !l.Since.IsZero() && l.Since.Before(l.At):
		c.since = l.Since
	case first && !l.Moved.IsZero() && l.Moved.Add(tick).Before(l.At):
		c.since = l.Moved.Add(tick) // nothing has changed on its screen since
	default:
		c.since = l.At
	}
	if first || l.Given.After(was.Given) {
		c.work, c.ended = false, time.Time{}
	}
	if l.At.After(l.Given) && l.working() {
		c.work, c.ended = true, time.Time{}
	}
	c.last = l
	if c.Ended() && (c.ended.IsZero() || l.TurnAt.After(c.ended)) {
		c.ended = c.end()
	}
}

// Since returns the start of the agent's current activity, as far as known.
func (c *Course) Since() time.Time { return c.since }

// Held returns how long the current activity has lasted since the last input.
func (c *Course) Held() time.Duration {
	from := c.since
	if c.last.Given.After(from) {
		from = c.last.Given
	}
	return c.last.At.Sub(from)
}

// Settled reports whether what the agent shows now is its answer to what it was last given.
// After a phrase it must rest: its prompt shows, or nothing has moved for a while.
func (c *Course) Settled() bool {
	switch {
	case c.last.Answer == Awaited:
		return c.Held() >= Patience
	case c.work && (!c.last.phrase() || c.last.Prompt):
		return c.Held() >= Calm
	}
	return c.Held() >= Settle && (c.last.Moved.IsZero() || c.last.At.Sub(c.last.Moved) >= Settle)
}

// Ended reports whether the live agent has finished its last input. Without input it has had no
// turn unless it was observed working.
func (c *Course) Ended() bool {
	l := c.last
	switch {
	case !l.Alive || !l.resting():
		return false
	case l.Answer == Awaited:
		return c.Settled()
	case l.Answer == Unknown && l.Queued && c.Held() < Between:
		return false // the turn may be the one before
	case l.TurnAt.After(l.Given):
		return true // reported by the agent itself
	}
	return (c.work || !l.Given.IsZero()) && c.Settled()
}

// EndedAt returns when the agent finished its last input: as it reported, or else when it was last
// observed working, or else the time of the input; zero: it has not. The result is stable until the
// agent works, gets input, or reports the end of another turn.
func (c *Course) EndedAt() time.Time {
	if !c.Ended() {
		return time.Time{}
	}
	return c.ended
}

// end returns the end of the turn of an agent that did not report one before.
func (c *Course) end() time.Time {
	switch l := c.last; {
	case l.TurnAt.After(l.Given):
		return l.TurnAt
	case c.work:
		return c.since
	default:
		return l.Given
	}
}

// Unconfirmed reports whether only a line on its screen shows that a live agent is done or has
// failed, and it does not rest.
func (c *Course) Unconfirmed() bool { return c.last.Alive && c.last.phrase() && !c.Settled() }

// Interruptible reports whether ending the agent now interrupts no work. An agent that asks, or is
// at a limit, does none. An agent that is done only by its screen may continue, and one with new
// input starts in a moment.
func (c *Course) Interruptible() bool {
	l := c.last
	awaits := l.Answer == Awaited && (l.Activity == session.Idle || l.Activity == session.Done)
	return l.Activity != session.Working && (!l.phrase() && !awaits || c.Settled())
}

// Due returns how much longer the agent must rest to have finished its last input; 0: it has, or
// rest alone does not decide.
func (c *Course) Due() time.Duration {
	l, held := c.last, c.Held()
	if !l.Alive || !l.resting() || !c.work && l.Given.IsZero() || c.Ended() {
		return 0
	}
	needs := Settle
	switch {
	case l.Answer == Awaited:
		needs = Patience
	case l.Answer == Unknown && l.Queued && held < Between:
		needs = Between
	case c.work && (!l.phrase() || l.Prompt):
		needs = Calm
	}
	rest := needs - held
	if needs == Settle && !l.Moved.IsZero() {
		rest = max(rest, Settle-l.At.Sub(l.Moved))
	}
	return max(rest, Calm)
}
