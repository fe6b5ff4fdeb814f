package watch

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// Goals are what is waited for.
type Goals struct {
	Of             []follow.Goal // one is enough
	Any            bool          // one session is enough
	FailOnQuestion bool          // nobody is to wait for an answer
	Timeout        time.Duration // 0: none
}

// Wait is a wait for sessions.
type Wait struct {
	Goals
	Resting  []session.Address // that are left out, because they were stopped before
	named    []session.Address
	sessions *Selection
	byFlag   bool
	last     Observation
	reported map[session.Address]string // what was said of a session on the way
}

// NewWait waits for sessions. Of those that flags choose, the ones that were stopped before are left
// out.
func NewWait(f *Selection, g Goals, byFlag bool) *Wait {
	return &Wait{Goals: g, named: f.Named, sessions: f, byFlag: byFlag, reported: map[session.Address]string{}}
}

// See takes a look. ended reports whether nothing is left to wait for, and reached whether the sessions
// got there. It fails if an agent does not show when it reaches one of the goals.
func (w *Wait) See(g Observation) (ended, reached bool, err error) {
	first := w.last.At.IsZero()
	w.last = g
	if first && w.byFlag {
		w.leaveOut()
	}
	if err := w.visible(); err != nil {
		return true, false, err
	}
	ended, reached = w.judge()
	return ended, reached, nil
}

// followed returns what each session must show.
func (w *Wait) followed() []follow.Goal {
	if w.FailOnQuestion && !slices.Contains(w.Of, follow.Blocked) {
		return slices.Concat(w.Of, []follow.Goal{follow.Blocked})
	}
	return w.Of
}

// visible fails if a session's agent does not show when it reaches one of the goals.
func (w *Wait) visible() error {
	var errs []error
	for _, x := range w.last.Sessions {
		switch x.State {
		case session.StateRunning, session.StateStarting, session.StatePaused:
			for _, g := range w.followed() {
				if err := follow.Visible(w.sessions.specs[x.Address], g); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", x.Address, err))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// leaveOut leaves out chosen sessions that were stopped before.
func (w *Wait) leaveOut() {
	var resting []session.Address
	for _, a := range w.named {
		if x := w.last.Of(a); x != nil && target.Rests(x.State) && w.verdict(a) == follow.Over {
			resting = append(resting, a)
		}
	}
	w.named = slices.DeleteFunc(slices.Clone(w.named), func(a session.Address) bool { return slices.Contains(resting, a) })
	w.Resting = resting
}

// verdict returns Over for a session that asks a question if nobody is to wait for the answer.
func (w *Wait) verdict(a session.Address) follow.Verdict {
	v := w.last.Verdict(a, w.Of...)
	if v == follow.Waiting && w.FailOnQuestion && w.last.Verdict(a, follow.Blocked) == follow.Reached {
		return follow.Over
	}
	return v
}

func (w *Wait) judge() (ended, reached bool) {
	counts := map[follow.Verdict]int{}
	for _, a := range w.named {
		counts[w.verdict(a)]++
	}
	all := len(w.named)
	if w.Any {
		return counts[follow.Reached] > 0 || counts[follow.Over] == all, counts[follow.Reached] > 0
	}
	return counts[follow.Reached] == all || counts[follow.Over] > 0, counts[follow.Reached] == all
}

// Stuck returns the sessions that do not go on by themselves, once each time that they change.
func (w *Wait) Stuck() (all []view.Waited) {
	for _, x := range w.last.Sessions {
		now := status.Word(x)
		if !slices.Contains(w.named, x.Address) || w.reported[x.Address] == now {
			continue
		}
		w.reported[x.Address] = now
		if stuck(x) {
			all = append(all, view.Waited{Session: x})
		}
	}
	return all
}

func stuck(x api.Session) bool {
	switch x.State {
	case session.StatePaused, session.StatePending, session.StateUnknown:
		return true
	}
	return x.Activity == session.Blocked || x.Activity == session.BlockedAPI || red(x)
}

// red reports whether a session's work fails verification, and its agent is sent nothing more.
func red(x api.Session) bool { return x.Verified != nil && x.Verified.Held }

// Result is how a wait ended.
type Result struct {
	Sessions []view.Waited
	Goals    string // "turn,done"
	Errs     []error
	Many     view.Many
}

// Result returns what became of the sessions.
func (w *Wait) Result(reached, timedOut bool) Result {
	words := wordsOf(w.Of)
	r := Result{Goals: words.names, Many: view.Many{Verb: words.reached, All: len(w.named)}}
	for _, a := range w.named {
		x := api.Session{Address: a, Limits: []api.Limit{}, Actions: []api.Action{}}
		if w.last.At.IsZero() { // what has them did not answer in time
			x.State, x.Status = session.StateUnknown, session.StatusOf(session.StateUnknown, "")
		}
		if seen := w.last.Of(a); seen != nil {
			x = *seen
		}
		r.Sessions = append(r.Sessions, view.Waited{Session: x, Outcome: string(w.verdict(a))})
	}
	for _, x := range r.Sessions {
		switch follow.Verdict(x.Outcome) {
		case follow.Reached:
			r.Many.Done++
		case follow.Over:
			r.Many.Failed++
			r.Errs = append(r.Errs, errOver(x, words.never))
		}
	}
	if timedOut {
		r.Errs = append(r.Errs, fmt.Errorf("timed out after %s waiting for %s", w.Timeout, words.waited))
	}
	return r
}

// Reached reports whether a session got there.
func Reached(x view.Waited) bool { return x.Outcome == string(follow.Reached) }

// goalWords are what a goal is called.
type goalWords struct{ names, waited, never, reached string }

var wordsOfGoal = map[follow.Goal]goalWords{
	follow.Turn:     {"turn", "the turn to end", "finish a turn", "turn ended in"},
	follow.Done:     {"done", "the work to be done", "be done", "done:"},
	follow.Verified: {"verified", "the work to be verified", "be verified", "verified:"},
	follow.Blocked:  {"blocked", "a question", "ask", "blocked:"},
	follow.Ready:    {"ready", "the agent to be ready", "be ready", "ready:"},
}

func wordsOf(goals []follow.Goal) goalWords {
	all := wordsOfGoal[goals[0]]
	for _, g := range goals[1:] {
		w := wordsOfGoal[g]
		all = goalWords{all.names + "," + w.names, all.waited + " or " + w.waited, all.never + " or " + w.never, "reached:"}
	}
	return all
}

// questionError is the question of a session that nobody is to wait for.
type questionError struct{ address session.Address }

func (e *questionError) ExitCode() exit.Code { return exit.Asks }

func (e *questionError) Error() string {
	return fmt.Sprintf("%s asks a question\nto answer it: agentform answer %[2]s ANSWER, or agentform attach %[2]s", e.address, target.Quoted(e.address))
}

func errOver(x view.Waited, never string) error {
	switch {
	case x.State == "":
		return fmt.Errorf("%s no longer exists", x.Address)
	case x.Activity == session.Blocked:
		return &questionError{x.Address}
	case red(x.Session):
		return fmt.Errorf("%s fails verification: %s\nagentform logs %s --verify prints the output", x.Address, x.Verified.Detail, target.Quoted(x.Address))
	}
	return fmt.Errorf("%s is %s and will not %s\nagentform show %[4]s shows why, agentform restart %[4]s restarts it",
		x.Address, status.Word(x.Session), never, target.Quoted(x.Address))
}
