package agentform

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// tracker compares the observations of one session.
type tracker struct {
	mu      sync.Mutex
	stopped bool
	status  session.Status // of the last observation
	given   time.Time      // when the agent was last given something; zero: never
	queued  bool           // it was working then
	turn    turn.Course
	rested  bool   // the turn had ended at the last observation
	shown   string // the last screen, without its status bar
	prs     map[string]bool
}

// news says what an observation shows for the first time.
type news struct {
	statusChanged, request, turnEnded bool

	old    session.Status
	screen string // at most session.TailLimit bytes
}

// sent notes that the agent was given something.
func (t *tracker) sent(at time.Time, queued bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.given, t.queued, t.rested = at, queued, false
}

func (t *tracker) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped, t.status = true, session.StatusStopped
}

func (t *tracker) lastStatus() session.Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	return cmp.Or(t.status, session.StatusRunning)
}

// resting reports whether the turn had ended at the last observation, and nothing was
// sent since.
func (t *tracker) resting() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rested
}

// observe returns the observation of a run that the runtime shows, or does not show if l
// is nil, and what is new in it.
func (t *tracker) observe(r *launch.Run, l *session.Live, now time.Time) (Observation, news) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := Observation{At: now}
	switch {
	case t.stopped:
		o.Status = session.StatusStopped
	case l == nil:
		t.lost(&o, r)
	case l.Liveness == session.Unknown:
		t.unknown(&o, l.UnknownReason)
	default:
		t.seen(&o, r, l)
	}
	n := news{old: t.status, statusChanged: t.status != "" && t.status != o.Status, turnEnded: o.TurnEnded && !t.rested}
	if l != nil {
		n.screen, o.Snippet = launch.Clip(l.Screen), lastCharacters(l.Screen, SnippetLimit)
		shown := withoutBar(l.Screen, r.Record.Spec.Agent.StatusBarLines)
		o.Changed, t.shown = shown != t.shown, shown
	}
	if n.request = o.PR != "" && !t.prs[o.PR]; n.request {
		if t.prs == nil {
			t.prs = map[string]bool{}
		}
		t.prs[o.PR] = true
	}
	t.status, t.rested = o.Status, o.TurnEnded
	return o, n
}

// lost observes a session that the runtime does not show. If its agent lives, its state
// is unknown.
func (t *tracker) lost(o *Observation, r *launch.Run) {
	var facts session.RunFacts
	if r.Facts != nil {
		facts = r.Facts(r.Record.Run.ID)
	}
	if facts.Alive {
		t.unknown(o, fmt.Sprintf("it cannot be reached, and its agent lives (process %d)", facts.Agent.PID))
		return
	}
	o.Status, o.Activity, o.Detail, o.Exit = session.StatusExited, session.Exited, "the session is gone", facts.Exit
	if r.Record.Spec.Agent.Finished(facts.Exit) {
		o.Status, o.Activity = session.StatusDone, session.Done
	}
}

// unknown keeps status and turn of a session of which nothing can be known now.
func (t *tracker) unknown(o *Observation, why string) {
	o.Status, o.Activity, o.Detail = cmp.Or(t.status, session.StatusPending), session.NoActivity, why
	o.TurnEnded = t.rested
}

// seen observes a session that the runtime shows. While only a phrase on the screen says
// that a live agent is done or has failed, and it has not come to rest, it is running.
func (t *tracker) seen(o *Observation, r *launch.Run, l *session.Live) {
	look, state, spec := r.Activity(l), session.StateRunning, r.Record.Spec.Agent
	does := look.Activity
	if l.Liveness == session.Dead {
		state, o.Exit = session.StateStale, l.Exit
		if spec.Finished(l.Exit) {
			state, does = session.StateStopped, session.Done
		}
	}
	o.Status, o.Activity, o.Detail, o.PR = session.StatusOf(state, does), does, look.Detection.Detail, look.Detection.PR
	t.turn.See(turn.Look{
		At: o.At, Run: r.Record.Run.ID, Is: string(state) + " " + string(does), Alive: l.Liveness == session.Alive,
		Working: does == session.Working || does == session.Blocked || does == session.BlockedAPI,
		Resting: !spec.OneShot && (does == session.Idle || does == session.Done),
		Phrase:  look.Detection.Source == "screen" && (does == session.Done || does == session.Failed),
		Prompt:  spec.Ready != "" && r.Agent.Ready(l.Screen),
		Given:   t.given, Queued: t.queued, Moved: l.MovedAt, TurnAt: look.TurnAt,
	})
	if l.Liveness == session.Alive && look.Detection.Source == "screen" && (does == session.Done || does == session.Failed) && !t.turn.Settled() {
		o.Status = session.StatusOf(state, session.Working)
	}
	o.TurnEnded = t.turn.Ended()
	if n := look.Transcript; n != nil {
		o.Answer = n.LastMessage
		if !n.Answered(t.given) && t.turn.Held() < fileLag {
			o.TurnEnded = false // its file has the answer in a moment
		}
	}
}

// fileLag is how long an agent's session file may lag behind its hooks and screen.
const fileLag = 2 * time.Second

// withoutBar returns a screen without the last lines that show something, which change
// by themselves.
func withoutBar(screen string, bar int) string {
	lines := strings.Split(strings.TrimRight(screen, "\n "), "\n")
	return strings.Join(lines[:max(0, len(lines)-bar)], "\n")
}

// lastCharacters returns the last n characters of a text.
func lastCharacters(text string, n int) string {
	r := []rune(strings.TrimRight(text, "\n "))
	return string(r[max(0, len(r)-n):])
}
