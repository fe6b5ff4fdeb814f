package hub

import (
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// memory is what the hub keeps of one session from look to look. All of it is made
// anew by a new hub, but for what stands in the history.
type memory struct {
	id, run string
	tail    *history.Tail
	events  []history.Event // without excerpts

	look       activity.Look
	looked     bool
	readAt     time.Time // when the look was made
	vital      session.Vital
	screen     string
	still      string    // the screen without what moves on it by itself
	shownAt    time.Time // when the screen was captured
	redrawn    bool      // it shows something else than when the agent was asked last
	movedAt    time.Time // last output, as the runtime says
	attached   int       // terminals
	heard      int64     // how much the hooks have told
	transcript string
	untold     bool      // what it does was seen while something was under way with it
	worked     bool      // it was seen at work since a turn of it ended
	restsSince time.Time // zero: it does not rest

	quietSince time.Time // nothing has moved since
	doubtSince time.Time // zero: it is known whether it lives
	pulse      health.Pulse
	probing    bool
	probedAt   time.Time
	finding    health.Finding
}

// rest is for how long an agent must have put nothing out for a phrase on its screen to
// count: see agent.
const rest = 2 * time.Second

// moving reports whether the session had put something out just before a time. By a
// clock that was set back it had not: it would be moving until the clock is there again.
func (m *memory) moving(at time.Time) bool {
	since := at.Sub(m.movedAt)
	return !m.movedAt.IsZero() && since >= 0 && since < rest
}

// advanced reports whether the screen shows something else than when it was asked last,
// what moves by itself aside: a spinner and its timer go on while a model is stalled. A
// screen that was captured while its program redrew it lacks its end, which is no change.
// Of a screen that was never captured every output counts.
func (m *memory) advanced() bool {
	now := agent.Still(m.screen)
	if !m.shownAt.IsZero() && strings.HasPrefix(m.still, strings.TrimSuffix(now, "\n")) {
		return false
	}
	m.still = now
	return true
}

// keptPast is how many of a session's events are kept in memory.
const keptPast = 400

// begin lets a memory be that of another run of its session.
func (m *memory) begin(run string, at time.Time) {
	if m.run == run {
		return
	}
	*m = memory{id: m.id, run: run, tail: m.tail, events: m.events, transcript: m.transcript, probing: m.probing, quietSince: at}
}

// hear reads what the history has more. Events come without their excerpts into the
// memory, and with them to whoever asked.
func (m *memory) hear() ([]history.Event, error) {
	fresh, err := m.tail.More()
	for _, e := range fresh {
		e.Excerpt = ""
		m.events = append(m.events, e)
	}
	if over := len(m.events) - keptPast; over > 0 {
		m.events = thin(m.events, over)
	}
	return fresh, err
}

// thin drops the oldest events, but not the last of each kind, which says how things
// stand, nor pull requests, which are told once.
func thin(events []history.Event, over int) []history.Event {
	last := map[history.Kind]int{}
	for i, e := range events {
		last[e.Kind] = i
	}
	i := -1
	return slices.DeleteFunc(events, func(e history.Event) bool {
		i++
		if over > 0 && e.Kind != history.PRDetected && last[e.Kind] != i {
			over--
			return true
		}
		return false
	})
}

// last is the youngest event that fits; nil: there is none, or one before which it
// does not count was met.
func last(events []history.Event, fits, ends func(history.Event) bool) *history.Event {
	for i := range slices.Backward(events) {
		switch e := &events[i]; {
		case fits(*e):
			return e
		case ends(*e):
			return nil
		}
	}
	return nil
}

// begun reports whether the session was begun to be started since a look began: what
// the look says is then of before, while the tries that it counted are of after.
func (m *memory) begun(looked, now time.Time) bool {
	is := func(e history.Event) bool { return started(e) && e.Time.After(looked) && !e.Time.After(now) }
	return slices.ContainsFunc(m.events, is)
}

// of reports whether an event is of one of the kinds.
func of(kinds ...history.Kind) func(history.Event) bool {
	return func(e history.Event) bool { return slices.Contains(kinds, e.Kind) }
}

// known is the state as it was read last.
type known struct {
	state.State
	read  bool
	fault error
}

// restFor is how long an agent that tells only by its screen that it rests has to do so
// until its turn counts as ended: between two steps of a turn it may show an empty
// composer.
const restFor = 2 * time.Second

// turnEnded returns when the agent's last turn ended, if it rests after one; zero: it does
// not, or that is not certain yet. A turn that ended before it was given the next thing is
// not its last.
func (m *memory) turnEnded(rec session.Record, now time.Time) time.Time {
	rests := m.vital == session.Alive && (m.look.Activity == session.Idle || m.look.Activity == session.Done)
	switch m.look.Activity {
	case session.Working, session.Blocked, session.BlockedAPI:
		m.worked = true
	}
	if !rests {
		m.restsSince = time.Time{}
		return time.Time{}
	}
	if m.restsSince.IsZero() {
		m.restsSince = now
	}
	given, _ := activity.Given(rec, m.events)
	switch {
	case m.look.TurnAt.After(given):
		m.worked = false
		return m.look.TurnAt
	case m.worked && m.restsSince.After(given) && now.Sub(m.restsSince) >= restFor:
		m.worked = false
		return m.restsSince
	}
	return time.Time{}
}

// resting reports whether an agent rests after work, and not for long enough to say that
// its turn has ended.
func (m *memory) resting() bool { return m.worked && !m.restsSince.IsZero() }
