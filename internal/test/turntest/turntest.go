// Package turntest has histories of agents, each with when its turns ended. Whoever says that a turn
// has ended must say the same of each.
package turntest

import (
	"time"

	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// History is what an agent shows that is given Prompt as soon as it has started.
type History struct {
	Name    string
	OneShot bool
	Steps   []sessiontest.Step
	// Ends is when its turn ended, since it started; 0: never. How an agent is known to rest
	// takes until Known.
	Ends, Known time.Duration
}

// Prompt is what the agents are given.
const Prompt = "Fix it."

// Long is longer than any of the histories.
const Long = 90 * time.Second

// Agent makes an agent of a session whose screen shows what the histories show.
func Agent(a *session.AgentSpec, h History) {
	a.PromptVia, a.Ready, a.StatusBarLines, a.OneShot = "argument", "^>$", 3, h.OneShot
	a.Patterns = session.Patterns{Working: []string{"busy"}, Blocked: []string{"May I"}, Done: []string{"all done"}, Failed: []string{"gave up"}}
}

// Histories returns the histories.
func Histories() []History {
	at := func(seconds float64, screen string) sessiontest.Step {
		return sessiontest.Step{After: time.Duration(seconds * float64(time.Second)), Screen: screen}
	}
	s := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
	return []History{
		{Name: "works, and rests", Steps: []sessiontest.Step{at(0, "busy"), at(20, "Fixed.\n>")}, Ends: s(20), Known: s(20.5)},
		{Name: "works too shortly to be seen", Steps: []sessiontest.Step{at(0, "Fixed.\n>")}, Ends: s(0), Known: s(6)},
		{Name: "rests between two steps", Steps: []sessiontest.Step{at(0, "busy"), at(20, "Now the next.\n>"), at(20.3, "busy again"), at(40, "Fixed.\n>")},
			Ends: s(40), Known: s(40.5)},
		{Name: "asks, and works when it was answered", Steps: []sessiontest.Step{at(0, "busy"), at(10, "May I?"), at(30, "busy"), at(40, "Fixed.\n>")},
			Ends: s(40), Known: s(40.5)},
		{Name: "asks", Steps: []sessiontest.Step{at(0, "busy"), at(10, "May I?")}},
		{Name: "says that it is done, and works", Steps: []sessiontest.Step{at(0, "busy"), at(20, "all done with the tests\n\n\n"), at(21, "busy"), at(40, "Fixed.\n>")},
			Ends: s(40), Known: s(40.5)},
		{Name: "says that it is done", Steps: []sessiontest.Step{at(0, "busy"), at(20, "all done\n\n\n")}, Ends: s(22), Known: s(27)},
		{Name: "says that it is done, and waits for a prompt", Steps: []sessiontest.Step{at(0, "busy"), at(20, "all done\n>")}, Ends: s(20), Known: s(20.5)},
		{Name: "says that it is done, and exits then", OneShot: true, Steps: []sessiontest.Step{at(0, "busy"), at(20, "all done\n\n\n")}},
		{Name: "exits when it is done, and waits for a prompt", OneShot: true, Steps: []sessiontest.Step{at(0, "busy"), at(20, "Fixed.\n>")}, Ends: s(20), Known: s(20.5)},
		{Name: "says that it failed", Steps: []sessiontest.Step{at(0, "busy"), at(20, "gave up\n\n\n")}},
	}
}
