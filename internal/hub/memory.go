package hub

import (
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// memory is what the hub keeps of one session between looks, besides its history.
type memory struct {
	id, run string
	branch  string
	// credential is what its agent uses; zero: not known.
	credential session.Credential
	tail       *history.Tail
	events     []history.Event // without excerpts and questions

	activity     activity.Look
	activityRead bool
	readAt       time.Time // when the activity was read
	liveness     session.Liveness
	screen       string
	still        string    // the screen without spinners and timers
	shownAt      time.Time // when the screen was captured
	redrawn      bool      // the screen has changed since the activity was read
	movedAt      time.Time // last output, as the runtime says
	attached     int       // terminals
	heard        int64     // bytes that the hooks have reported
	transcript   string
	unreported   bool // an operation was in progress when the activity was read
	course       status.Course
	turnOver     bool      // a turn has ended since the workspace was checked for changes
	checkedAt    time.Time // when that was

	quietSince   time.Time // nothing has moved since
	unknownSince time.Time // zero: it is known whether it lives
	pulse        health.Pulse
	probing      bool
	probedAt     time.Time
	finding      health.Finding
}

func (m *memory) moving(at time.Time) bool {
	since := at.Sub(m.movedAt)
	return !m.movedAt.IsZero() && since >= 0 && since < turn.Quiet
}

// advanced reports whether the screen has changed since the last call, apart from
// spinners and timers, which go on while a model is stalled, and from a missing end, as
// of a screen that is being redrawn. If it was never captured, any output counts.
func (m *memory) advanced() bool {
	now := agent.Still(m.screen)
	if !m.shownAt.IsZero() && strings.HasPrefix(m.still, strings.TrimSuffix(now, "\n")) {
		return false
	}
	m.still = now
	return true
}

const keptPast = 400

func (m *memory) begin(run string, at time.Time) {
	if m.run == run {
		return
	}
	*m = memory{id: m.id, run: run, branch: m.branch, credential: m.credential, tail: m.tail, events: m.events, transcript: m.transcript, probing: m.probing, quietSince: at}
}

func (m *memory) readHistory() ([]history.Event, error) {
	fresh, err := m.tail.More()
	for _, e := range fresh {
		e.Excerpt, e.Question = "", nil
		m.events = append(m.events, e)
	}
	if over := len(m.events) - keptPast; over > 0 {
		m.events = thin(m.events, over)
	}
	return fresh, err
}

// thin drops the oldest events, but not the last of each kind, nor pull requests, which
// are reported once.
func thin(events []history.Event, over int) []history.Event {
	last := map[history.Kind]int{}
	for i, e := range events {
		last[e.Kind] = i
	}
	i := -1
	return slices.DeleteFunc(events, func(e history.Event) bool {
		i++
		if over > 0 && !e.Kind.Once() && last[e.Kind] != i {
			over--
			return true
		}
		return false
	})
}

// last returns the youngest event that fits, unless one that ends an episode is younger.
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

// operationSince reports whether an operation on the session began after a look: the look
// then shows the state before it, and counts restarts after it.
func (m *memory) operationSince(at, now time.Time) bool {
	is := func(e history.Event) bool { return endsEpisode(e) && e.Time.After(at) && !e.Time.After(now) }
	return slices.ContainsFunc(m.events, is)
}

func never(history.Event) bool { return false }

func of(kinds ...history.Kind) func(history.Event) bool {
	return func(e history.Event) bool { return slices.Contains(kinds, e.Kind) }
}
