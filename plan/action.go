package plan

import "cmp"

// Action is what to do with one session. The value is the word for programs.
type Action string

// The actions.
const (
	None    Action = "none"
	Create  Action = "create"
	Update  Action = "update" // in place
	Restart Action = "restart"
	Replace Action = "replace"
	Pause   Action = "pause"
	Resume  Action = "resume"
	Stop    Action = "stop"
	Delete  Action = "delete"
	Adopt   Action = "adopt"  // a managed live session that is not recorded
	Forget  Action = "forget" // a record with nothing live behind it
	Hold    Action = "hold"   // an action that has to wait
)

var symbols = map[Action]string{
	None: " ", Create: "+", Update: "~", Restart: "↻", Replace: "±", Pause: "‖",
	Resume: "‖", Stop: "‖", Delete: "-", Adopt: ">", Forget: ".", Hold: "…",
}

// Symbol returns the action's sign in a printed plan.
func (a Action) Symbol() string { return cmp.Or(symbols[a], " ") }

// Acts reports whether the action changes anything when it is applied.
func (a Action) Acts() bool { return a != None && a != Hold && a != "" }

// Forces is how far a change of a field reaches.
type Forces string

// The reaches, weakest first.
const (
	ForcesNothing Forces = "none"    // updated in place
	ForcesRestart Forces = "restart" // the agent restarts in its workspace
	ForcesReplace Forces = "replace" // the session is recreated
)
