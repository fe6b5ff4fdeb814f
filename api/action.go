package api

import (
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Start is the body of start.
type Start struct {
	Wait bool `json:"wait,omitempty"` // respond when the agent is ready
}

// Restart is the body of restart.
type Restart struct {
	Fresh bool `json:"fresh,omitempty"` // start a new conversation, with the prompt
	Wait  bool `json:"wait,omitempty"`  // answer when the agent is ready
}

// RestartSession is the body of restart-session.
type RestartSession struct {
	Fresh bool  `json:"fresh,omitempty"` // start a new conversation, with the prompt
	Wait  *bool `json:"wait,omitempty"`  // respond when the agent is ready (default: true)
}

// Stop is the body of stop.
type Stop struct {
	AfterTurn bool             `json:"after_turn,omitempty"` // wait for the running turn to end
	Timeout   session.Duration `json:"timeout,omitempty"`    // limit of that wait, such as 5m
}

// Done is the result of an action on a session.
type Done struct {
	Format  string          `json:"format_version"`
	Address session.Address `json:"address"`
	Actions []Act           `json:"actions"` // empty: nothing had to be done
	Session Session         `json:"session"` // after the action
}

// Act is one change that was made.
type Act struct {
	Address session.Address `json:"address"`
	Action  plan.Action     `json:"action"`
	Outcome string          `json:"outcome"` // done, failed, skipped or held
	Detail  string          `json:"detail"`
	Seconds float64         `json:"elapsed_seconds"`
}

// Input is the body of send: a text, or a key.
type Input struct {
	Text    string `json:"text,omitempty"`
	Key     string `json:"key,omitempty"`      // a key by its name in tmux: Enter, Escape, C-c, y
	NoEnter bool   `json:"no_enter,omitempty"` // type the text without submitting it
}

// Sent is the result of send.
type Sent struct {
	Format  string          `json:"format_version"`
	Address session.Address `json:"address"`
	Alive   *bool           `json:"session_alive"` // null: not known
	Outcome string          `json:"outcome"`       // submitted; queued: for after the running turn; unverified: a key, or not submitted
}
