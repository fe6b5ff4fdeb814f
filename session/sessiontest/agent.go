package sessiontest

import (
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// Agent is an agent for scripts. Its command line is the spec's, it is ready at once,
// its prompt is typed, and it does what Step.Activity says. The zero value is ready for
// use.
type Agent struct{ session.Fileless }

// Start returns the spec's command and arguments, and the prompt to be typed.
func (Agent) Start(in session.StartInput) session.Start {
	return session.Start{Argv: slices.Concat(in.Spec.Agent.Command, in.Spec.Args), Paste: in.Prompt, Conversation: in.Conversation}
}

// Ready returns true.
func (Agent) Ready(string) bool { return true }

// Detect returns the activity that the title has. The question of a blocked agent is the
// last line of the screen, and any text answers it. A dead agent has exited.
func (Agent) Detect(e session.Evidence) session.Detection {
	if e.Liveness == session.Dead {
		return session.Detection{Activity: session.Exited, Source: "exit"}
	}
	r := session.Detection{Activity: session.Activity(e.Title), Source: "title"}
	switch r.Activity {
	case "":
		r.Activity = session.Idle
	case session.Blocked:
		screen := strings.TrimRight(e.Screen, "\n ")
		last := strings.LastIndexByte(screen, '\n') + 1
		above, asked := screen[:last], screen[last:]
		r.Detail = asked
		r.Question = &session.Question{ID: asked, Text: asked, Says: asked, Above: above, Free: true}
	}
	return r
}
