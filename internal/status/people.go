package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/remedy"
	"github.com/agentform/agentform/session"
)

// forPeople adds to the document of a session what it means to people.
func forPeople(x api.Session, spec session.Spec) api.Session {
	x.Word = Word(x)
	x.WordNote, x.WordSince, x.WordUntil = behind(x)
	x.Tone, x.Why, x.Actions = ToneOf(x.Word), Why(x, nil, nil, nil), actions(x)
	x.Remedy, x.Kept = remedyOf(x, spec), kept(x, spec.Restart.Resume)
	return x
}

// Asking returns what a session that asks a question is to people. Nothing else is known of it.
func Asking(a session.Address, q *session.Question) api.Session {
	return forPeople(api.Session{Address: a, Status: session.StatusBlocked, Activity: session.Blocked, State: session.StateRunning, Question: q}, session.Spec{})
}

// TurnInterrupted says that a turn was cut off.
const TurnInterrupted = "its turn was interrupted"

// Why returns the reason for a session's state on one line; empty: the word is enough. text formats
// the times in agentform's texts, and at and until the time of an event or an end. nil: as in JSON.
func Why(x api.Session, text func(string) string, at, until func(time.Time) string) string {
	if text == nil {
		utc := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
		text, at, until = func(s string) string { return s }, func(t time.Time) string { return "at " + utc(t) }, utc
	}
	var parts []string
	if x.BranchFault != "" {
		parts = append(parts, x.BranchFault)
	}
	if x.Interrupted && Word(x) != WordInterrupted {
		parts = append(parts, TurnInterrupted)
	}
	if x.Detail != "" && x.Detail != string(x.State) && x.Detail != "finished" {
		asks := ""
		if x.Activity == session.Blocked && x.Question != nil {
			asks = "asks: "
		}
		parts = append(parts, asks+plaintext.OneLine(text(x.Detail)))
	}
	if x.Question != nil && x.Activity != session.Blocked {
		parts = append(parts, "asks: "+plaintext.OneLine(x.Question.String()))
	}
	if o := x.Override; o != nil {
		parts = append(parts, fmt.Sprintf("%s by %s %s", o.Desired, o.By, at(o.At)))
	}
	if o := x.OverBudget; o != nil && !o.Until.IsZero() {
		parts = append(parts, "until "+until(o.Until))
	}
	return strings.Join(parts, "; ")
}

// actions returns what makes sense to do with a session now. One that a budget holds is only
// started, which lets its budgets start over.
func actions(x api.Session) []api.Action {
	all := []api.Action{}
	add := func(a api.Action, sensible bool) {
		if sensible {
			all = append(all, a)
		}
	}
	alive, held := x.Alive != nil && *x.Alive, x.OverBudget != nil
	paused, blocked := x.State == session.StatePaused, x.Activity == session.Blocked
	recorded, stopped := x.ID != "", x.State == session.StateStopped
	ended := recorded && slices.Contains([]session.State{session.StateStopped, session.StateError, session.StatePending}, x.State)
	add(api.ActionAnswer, alive && !paused && blocked)
	add(api.ActionSend, alive && !paused && !blocked)
	add(api.ActionRestartSession, x.State == session.StateStale && !held)
	add(api.ActionStart, held || ended)
	add(api.ActionRestart, alive && !held)
	add(api.ActionPause, alive && !paused)
	add(api.ActionResume, paused && !held)
	starts := x.State != session.StateStale || x.Budget != nil && x.Budget.Until != nil // without anybody
	add(api.ActionStop, alive || recorded && !stopped && starts && x.State != session.StateUnknown)
	return all
}

// kept returns what becomes of a session's turn, conversation and files if its agent is ended, or started again.
// resumes is whether a restart resumes the conversation.
func kept(x api.Session, resumes bool) string {
	if x.ID == "" {
		return ""
	}
	var parts []string
	if x.Alive != nil && *x.Alive && x.Activity == session.Working {
		parts = append(parts, "Its turn is cut off.")
	}
	switch {
	case x.ConversationID == "":
		parts = append(parts, "It has no conversation to resume.")
	case resumes:
		parts = append(parts, "Its conversation is kept, and resumed when its agent is started.")
	default:
		parts = append(parts, "A new conversation begins when its agent is started (restart.resume).")
	}
	return strings.Join(append(parts, "Its files stay in its workspace, also what is not committed."), " ")
}

// Allows reports whether an action can be carried out with a session in a state. alive is whether its
// agent runs; nil: that is unknown. desired is its desired state, with manual overrides.
func Allows(a api.Action, state session.State, alive *bool, desired session.Desired) bool {
	lives := alive == nil || *alive
	switch a {
	case api.ActionRestartSession:
		return state == session.StateStale
	case api.ActionPause:
		return lives
	case api.ActionResume: // of a session that was stopped it would start the agent
		return lives || desired == session.Paused
	}
	return true
}

// remedyOf returns what to do about what a session is; nil: nothing.
func remedyOf(x api.Session, spec session.Spec) *api.Remedy {
	with := func(a api.Action, code session.RemedyCode) *api.Remedy {
		text := remedy.With("", session.Remedy{Code: code, Address: x.Address, Path: x.Workspace, Branch: x.Branch,
			InContainer: !spec.Runtime.Traits().HostGit && spec.Workspace.Mode == session.Clone})
		r := &api.Remedy{Action: a, Text: strings.TrimLeft(text, "\n:; ")}
		if to, command, _ := strings.Cut(r.Text, ": "); strings.HasPrefix(to, "to ") {
			r.Command = command
		}
		return r
	}
	switch word := Word(x); {
	case x.OverBudget != nil:
		return with(api.ActionStart, session.RemedyIgnoreBudget)
	case word == WordWrongBranch && x.BranchLive != "":
		return with("", session.RemedySwitch)
	case word == WordAsks && x.Question != nil:
		return with(api.ActionAnswer, session.RemedyAnswer)
	case word == WordAsks:
		return with(api.ActionAnswer, session.RemedyAttach)
	case word == WordRed && x.Verified.Held, word == WordInterrupted:
		return with(api.ActionSend, session.RemedyContinue)
	case word == WordUnknown && x.Host == "":
		return with("", session.RemedyDoctor)
	case slices.Contains([]string{WordExited, WordUnhealthy, WordError, WordFailed, WordTimedOut}, word):
		for _, a := range x.Actions {
			if a == api.ActionRestartSession || a == api.ActionStart || a == api.ActionRestart {
				return with(a, session.RemedyRestartSession)
			}
		}
	}
	return nil
}
