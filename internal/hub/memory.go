package hub

import (
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// memory is what the hub keeps of one session between looks, besides what all looks do.
type memory struct {
	id, run string
	branch  string
	// credential is what its agent uses; zero: not known.
	credential session.Credential
	access     plan.Access // of the last look
	*fleet.Past

	known      status.Input // by the last look at this run; without a Record: there was none
	activity   activity.Look
	readAt     time.Time // when the activity was read
	liveness   session.Liveness
	screen     string
	still      string    // the screen without spinners and timers
	shownAt    time.Time // when the screen was captured
	redrawn    bool      // the screen has changed since the activity was read
	movedAt    time.Time // last output, as the runtime says
	attached   int       // terminals
	heard      int64     // bytes that the hooks have reported
	unreported bool      // an operation was in progress when the activity was read
	turnOver   bool      // a turn has ended since the workspace was checked for changes
	checkedAt  time.Time // when that was

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

// keptPast is how many events the hub keeps of a session.
const keptPast = 400

func (m *memory) begin(run string, at time.Time) {
	if m.run == run {
		return
	}
	*m = memory{id: m.id, run: run, branch: m.branch, credential: m.credential, Past: m.Past, probing: m.probing, quietSince: at}
}

// operationSince reports whether an operation on the session began after a look: the look
// then shows the state before it, and counts restarts after it.
func (m *memory) operationSince(at, now time.Time) bool {
	is := func(e history.Event) bool { return endsEpisode(e) && e.Time.After(at) && !e.Time.After(now) }
	return slices.ContainsFunc(m.Events, is)
}

func of(kinds ...history.Kind) func(history.Event) bool {
	return func(e history.Event) bool { return slices.Contains(kinds, e.Kind) }
}
