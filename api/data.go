package api

import (
	"github.com/agentform/agentform/session"
)

// Data is the end of an agent's conversation and screen.
type Data struct {
	Format     string           `json:"format_version"`
	Address    session.Address  `json:"address"`
	ID         string           `json:"id"`
	Alive      *bool            `json:"session_alive"` // null: not known
	Observable bool             `json:"observable"`    // the agent's session file may be read
	Path       string           `json:"path"`          // of that file; empty: there is none yet
	Entries    []session.Entry  `json:"entries"`       // the last in that file
	Screen     Screen           `json:"screen"`        // the last one observed
	Activity   session.Activity `json:"activity"`
	Truncated  bool             `json:"truncated"` // entries or screen were cut
}

// Health is whether a hub is healthy.
type Health struct {
	Format string `json:"format_version"`
	// Status is ok; read_only: the state cannot be read; stuck: the last look is too old.
	Status string `json:"status"`
}
