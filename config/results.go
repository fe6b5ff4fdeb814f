package config

import (
	"encoding/json"

	"github.com/agentform/agentform/session"
)

// Move is a moved block: the record of From belongs to the session declared as To. Both are
// instances, or both are blocks and stand for their instances.
type Move struct {
	From, To session.Address
	Range    session.Range
}

// Removal is a removed block: of a session, or of all instances of a block.
type Removal struct {
	From    session.Address
	Destroy bool // false: the session continues, and its record is removed
	Range   session.Range
}

// Import is an import block: a live session that agentform did not start becomes To.
type Import struct {
	To    session.Address
	ID    string // tmux:SOCKET/SESSION
	Range session.Range
}

// Output is the value of an output block.
type Output struct {
	Name        string
	Value       json.RawMessage
	Sensitive   bool // shown only when requested by name
	Description string
}

// SecretSource is where a secret's value comes from. One field is set.
type SecretSource struct {
	Env     string   // a variable of agentform's own environment
	File    string   // the absolute path of a file
	Command []string // prints it
	// Kubernetes has it in the cluster of the sessions that get it; nil: agentform has it.
	Kubernetes *session.SecretRef `json:",omitempty"`
}

// Notify is a notify block: where events of some kinds are sent.
type Notify struct {
	Name    string
	On      []string // kinds of events
	Report  string   `json:",omitempty"` // the local time of day of the report that it gets, HH:MM; empty: none
	Command []string // gets the event as JSON on standard input
	Webhook string   // gets it as a POST
	Secret  string   `json:",omitempty"` // names the secret that has the webhook's address
	Preset  string   `json:",omitempty"` // desktop, or the service of the webhook
	Range   session.Range
}
