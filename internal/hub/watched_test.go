package hub

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// An agent that has exited while its leftovers ignore SIGTERM is neither alive nor dead
// until its shim writes the exit: that wakes the hub, and not the next sweep.
func TestExitOfUnknownIsWatched(t *testing.T) {
	live := &session.Live{Liveness: session.Unknown, Mark: session.Mark{Run: "r1"}}
	s := &Snapshot{Sessions: []status.Input{{Record: &session.Record{}, Live: live}}}
	w := watched(s, "/data/state.json", "/data")
	if exit := filepath.Join("/data", "runs", "r1", "exit"); !slices.Contains(w.Files, exit) {
		t.Errorf("%q are watched, want %s among them", w.Files, exit)
	}
	if len(w.Agents) > 0 {
		t.Errorf("an agent that has exited is watched: %v", w.Agents)
	}
}
