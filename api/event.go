package api

import (
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/wire"
)

// EventRecord is a history event as events --json writes it: what the log has,
// with its excerpt cut to the tail.
type EventRecord struct {
	history.Event
	Truncated bool `json:"truncated,omitempty"` // of the excerpt
}

// EventOf is the record of an event.
func EventOf(e history.Event) EventRecord {
	line := EventRecord{Event: e}
	line.Time = wire.UTC(e.Time)
	line.Excerpt, line.Truncated = wire.Tail(e.Excerpt)
	return line
}

// EventsOf returns the records of events.
func EventsOf(events []history.Event) []EventRecord {
	lines := make([]EventRecord, 0, len(events))
	for _, e := range events {
		lines = append(lines, EventOf(e))
	}
	return lines
}
