package api

import (
	"github.com/agentform/agentform/history"
)

// EventRecord is a history event as in events --json, with its excerpt cut to the tail.
type EventRecord struct {
	history.Event
	Truncated bool `json:"truncated,omitempty"` // of the excerpt
}
