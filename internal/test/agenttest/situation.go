package agenttest

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// Situation is something that an agent can be in, how to get it there, and what
// agentform has to make of it.
type Situation struct {
	Name string // of its folder in agent/testdata/AGENT
	// Bare starts the agent in an empty home, as nobody has set it up.
	Bare bool
	// Env is added to its environment.
	Env map[string]string
	// Before prepares the lab further; nil: nothing.
	Before func(*Lab)
	// Prompt is what it is started with. One that is empty, or that the adapter
	// wants typed, is not typed here: Steps may.
	Prompt string
	// Input changes what the adapter is given; nil: nothing.
	Input func(*session.StartInput)
	// Steps are what a person does to get it there; nil: nothing.
	Steps func(*Run)
	// Next ends the run and starts another one, which is looked at instead; nil: none.
	Next func(*Run) *Run
	// Want is what it does then, to be read from all signals together.
	Want session.Activity
	// Seen says that it is there, beyond that; nil: what is read is enough.
	Seen func(Look) bool

	again bool // the agent gave up, and was started again
}

// Reach brings an agent into a situation, and is what is seen there.
func (s Situation) Reach(t *testing.T, agent string) (*Run, Look) {
	t.Helper()
	lab := New
	if s.Bare {
		lab = Bare
	}
	l := lab(t, agent)
	for name, value := range s.Env {
		l.Env[name] = value
	}
	if s.Before != nil {
		s.Before(l)
	}
	var changes []func(*session.StartInput)
	if s.Input != nil {
		changes = append(changes, s.Input)
	}
	run := l.Start(s.Prompt, changes...)
	if s.Steps != nil {
		s.Steps(run)
	}
	if s.Next != nil {
		run = s.Next(run)
	}
	look := run.Until(s.Name+": "+string(s.Want), func(l Look) bool {
		return !s.again && gaveUp(l) || l.Detection.Activity == s.Want && (s.Seen == nil || s.Seen(l)) && s.written(l)
	})
	if !s.again && gaveUp(look) {
		s.again = true
		t.Logf("%s %s gave up, and is started again:\n%s", agent, run.Lab.Version, look.Screen)
		return s.Reach(t, agent)
	}
	return run, look
}

// gaveUp reports whether Codex has left since a part of what the terminal sends did not
// come within a second, as on a busy machine.
func gaveUp(l Look) bool {
	return l.Exit != nil && strings.Contains(l.Screen, "Error: timed out discarding buffered terminal input")
}

// written reports whether the prompt is in the session file, which agents write
// to a little later than they show what they do.
func (s Situation) written(l Look) bool {
	return s.Prompt == "" || l.Exit != nil || l.Transcript != nil && l.Transcript.Prompts > 0
}
