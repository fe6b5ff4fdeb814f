package config

import (
	"encoding/json"

	"github.com/agentform/agentform/session"
)

// Move is a moved block: what is on record under From is the session that is
// declared as To. Both name an instance, or both a block and mean its instances.
type Move struct {
	From, To session.Address
	Range    session.Range
}

// Removal is a removed block: what becomes of a session, or of all instances of
// a block, that is declared no longer.
type Removal struct {
	From    session.Address
	Destroy bool // false: it is left alive and taken off the record
	Range   session.Range
}

// Import is an import block: a live session that is not ours is to be taken over
// as To.
type Import struct {
	To    session.Address
	ID    string // tmux:SOCKET/SESSION
	Range session.Range
}

// Output is an output block's value.
type Output struct {
	Name        string
	Value       json.RawMessage
	Sensitive   bool // not to be shown unless asked for by name
	Description string
}

// SecretSource says where a secret's value comes from; one of the three is set.
type SecretSource struct {
	Env     string   // the name of an environment variable of agentform's own
	File    string   // the absolute path of a file
	Command []string // what prints it
}

// Notify is a notify block: where chosen events go.
type Notify struct {
	Name    string
	On      []string // kinds of events
	Command []string // gets the event as JSON on standard input
	Webhook string   // gets it as a POST
	Range   session.Range
}
