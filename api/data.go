package api

import (
	"github.com/agentform/agentform/session"
)

// Data is what an agent was told, did and said.
type Data struct {
	Format     string           `json:"format_version"`
	Address    session.Address  `json:"address"`
	ID         string           `json:"id"`
	Alive      *bool            `json:"session_alive"` // null: it cannot be known
	Observable bool             `json:"observable"`    // the agent's own session file may be looked for
	Path       string           `json:"path"`          // of that file; empty: it has none, or not yet
	Entries    []session.Entry  `json:"entries"`       // the last of what stands in it
	Screen     Screen           `json:"screen"`        // the last one that was seen
	Activity   session.Activity `json:"activity"`
	Truncated  bool             `json:"truncated"` // there was more, of the one or the other
}

// Health is whether the hub does its work.
type Health struct {
	Format string `json:"format_version"`
	// Status is ok; read_only: the state cannot be read, so it only looks; stuck: it
	// has not looked for long.
	Status string `json:"status"`
}
