package state

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/internal/fileid"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/session"
)

// OwnedBy sets the owner of runs that are recorded from now on and have none.
func (s *Store) OwnedBy(o session.Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.Lineage, o.DataDirID = s.head.Lineage, fileid.Of(filepath.Dir(s.path))
	s.owner = o
}

// withOwner keeps the owner of a run on record, under its address or the one that it leaves.
func (s *Store) withOwner(r session.Record, leaves session.Address) session.Record {
	s.mu.Lock()
	owner := s.owner
	s.mu.Unlock()
	if !owner.Known() {
		return r
	}
	run := r.Run.ID
	r.Owner = owner
	for _, a := range []session.Address{leaves, r.Address} {
		if was, known := s.record(a); known && was.Run.ID == run && was.Owner.Known() {
			r.Owner = was.Owner
		}
	}
	return r
}

// CopyOf returns the state file from which the state in dataDir was copied, if that still
// exists, or "".
func (s State) CopyOf(dataDir string) string {
	seen := map[string]bool{"": true}
	for _, r := range s.Sessions {
		dir := r.Owner.DataDir
		if seen[dir] {
			continue
		}
		seen[dir] = true
		original := filepath.Join(dir, "state.json")
		if !sameFile(dir, dataDir) && !fileid.Renamed(r.Owner.DataDirID, dir, dataDir) && lineageAt(original) == s.Lineage {
			return original
		}
	}
	return ""
}

// Mixed reports whether some of the sessions belong to the state in dataDir.
func (s State) Mixed(dataDir string) bool {
	return slices.ContainsFunc(s.Sessions, func(r session.Record) bool { return r.Owner.DataDir != "" && sameFile(r.Owner.DataDir, dataDir) })
}

// MadeIn returns the data directory of a workspace that agentform made, by its path, or "".
func MadeIn(t session.WorkspaceState) string {
	if data, ok := layout.Of(t.Path); t.Created && ok {
		return data.Dir
	}
	return ""
}

func lineageAt(path string) string {
	if k, err := identity(path); err == nil && k.lineage != "" {
		return k.lineage
	}
	var head struct {
		Lineage string `json:"lineage"`
	}
	b, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(b, &head) != nil {
		return ""
	}
	return head.Lineage
}

func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errors.Join(errA, errB) == nil && os.SameFile(x, y) || strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}
