package api

import (
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Start is the body of start.
type Start struct {
	Wait bool `json:"wait,omitempty"` // answer when the agent is ready
}

// Restart is the body of restart.
type Restart struct {
	Fresh bool `json:"fresh,omitempty"` // begin a fresh conversation, with the prompt
	Wait  bool `json:"wait,omitempty"`  // answer when the agent is ready
}

// RestartSession is the body of restart-session.
type RestartSession struct {
	Fresh bool  `json:"fresh,omitempty"` // begin a fresh conversation, with the prompt
	Wait  *bool `json:"wait,omitempty"`  // answer when the agent is ready (default: true)
}

// Stop is the body of stop.
type Stop struct {
	AfterTurn bool             `json:"after_turn,omitempty"` // let the running turn end first
	Timeout   session.Duration `json:"timeout,omitempty"`    // how long that may take, such as 5m; with after_turn
}

// Done is what became of what a session was told.
type Done struct {
	Format  string          `json:"format_version"`
	Address session.Address `json:"address"`
	Actions []Act           `json:"actions"` // empty: it was so already
	Session Session         `json:"session"` // as it is now
}

// Act is one thing that was done.
type Act struct {
	Address session.Address `json:"address"`
	Action  plan.Action     `json:"action"`
	Outcome apply.Outcome   `json:"outcome"`
	Detail  string          `json:"detail"`
	Seconds float64         `json:"elapsed_seconds"`
}

// Input is the body of send: a text, or a key.
type Input struct {
	Text    string `json:"text,omitempty"`
	Key     string `json:"key,omitempty"`      // one named key, as tmux calls it: Enter, Escape, C-c, y
	NoEnter bool   `json:"no_enter,omitempty"` // only type the text
}

// Sent is what became of what was typed.
type Sent struct {
	Format  string          `json:"format_version"`
	Address session.Address `json:"address"`
	Alive   *bool           `json:"session_alive"` // null: it cannot be known
	Outcome string          `json:"outcome"`       // submitted; queued: it is at work, and takes it up after that; unverified: a key, or only typed
}
