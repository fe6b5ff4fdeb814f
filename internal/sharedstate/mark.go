package sharedstate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/google/renameio/v2"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/session"
)

// Mark identifies the original of a copy of a state. It is next to the copy.
type Mark struct {
	Backend string          `json:"backend"`
	Version backend.Version `json:"version,omitempty"` // last read or written; empty: none yet
	// Serial is that of the copy when it was the same as Version. A copy with another
	// serial has changes that were not sent.
	Serial   uint64                     `json:"serial"`
	Restarts map[string][]health.Moment `json:"restarts,omitempty"` // by the session's id
	Place    Place                      `json:"place"`
	Project  string                     `json:"project,omitempty"` // the project's directory when the copy was written
}

// Place is where a backend is, as far as that may be kept on disk: without credentials.
type Place struct {
	Kind   string            `json:"kind"`
	Values map[string]string `json:"values,omitempty"`
	Given  map[string]string `json:"given,omitempty"` // those of them that init was given
}

// started reports whether a session of the copy can have been started. Before the first write
// to the backend none is.
func (m Mark) started(r session.Record) bool {
	return m.Version != "" || r.Intent != session.Creating
}

// MarkOf returns the path of the mark of the state file at path.
func MarkOf(path string) string { return path + ".backend" }

// ReadMark returns the mark of the state file at path. It is zero if the state is not shared.
func ReadMark(path string) (m Mark, err error) {
	text, err := os.ReadFile(MarkOf(path))
	if errors.Is(err, os.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if errors.Is(err, os.ErrPermission) {
		return m, fmt.Errorf("read where the state is: %w", err)
	}
	if err != nil {
		return m, fmt.Errorf("read %s, which says where the state is: %w; remove it and run: agentform init --reconfigure", MarkOf(path), err)
	}
	return m, nil
}

func writeMark(path string, m Mark) error {
	text, err := json.Marshal(m)
	if err == nil {
		err = renameio.WriteFile(MarkOf(path), append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("note what was read from the backend: %w", err)
	}
	return nil
}
