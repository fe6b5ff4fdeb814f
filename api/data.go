package api

import (
	"encoding/json"

	"github.com/agentform/agentform/internal/wire"
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

// LastEntries are the last entries that fit into a tail, and no more than most (0: as
// many as fit), as a document has them, and whether there were more.
func LastEntries(entries []session.Entry, most int) (last []session.Entry, cut bool) {
	size, from := 0, len(entries)
	for from > 0 && (most == 0 || len(entries)-from < most) {
		b, err := json.Marshal(entries[from-1])
		if size += len(b) + 1; err != nil || size > session.TailLimit {
			break
		}
		from--
	}
	last = append([]session.Entry{}, entries[from:]...)
	for i := range last {
		last[i].At = wire.UTC(last[i].At)
	}
	return last, from > 0
}
