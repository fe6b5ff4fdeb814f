package state

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/internal/fileid"
	"github.com/agentform/agentform/session"
)

// OwnedBy sets the owner of runs that are recorded from now on. Put sets it in a record
// whose run is new or has no owner.
func (s *Store) OwnedBy(o session.Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.Lineage, o.DataDirID = s.head.Lineage, fileid.Of(filepath.Dir(s.path))
	s.owner = o
}

// own returns the changes that record r with its owner, and the owner in every record that
// has none. besides has the address that r leaves, if any.
func (s *Store) own(r session.Record, besides []change) ([]change, error) {
	s.mu.Lock()
	owner, rows := s.owner, s.rows
	s.mu.Unlock()
	var list []change
	add := func(r session.Record) error {
		raw, err := json.Marshal(r)
		list = append(list, change{r.Address, &row{r, raw}})
		return err
	}
	left := map[session.Address]bool{r.Address: true}
	for _, c := range besides {
		left[c.address] = true
	}
	if owner.Known() {
		run := r.Run.ID
		r.Owner = owner
		for _, x := range rows {
			was := x.record
			switch {
			case left[was.Address] && was.Run.ID == run && was.Owner.Known():
				r.Owner = was.Owner
			case !left[was.Address] && !was.Owner.Known():
				was.Owner = owner
				if err := add(was); err != nil {
					return nil, err
				}
			}
		}
	}
	return list, add(r)
}

// CopyOf returns the state file that the sessions of a state belong to, if the state was
// copied from there to dataDir and that file still exists, or "".
func (s State) CopyOf(dataDir string) string {
	seen := map[string]bool{}
	for _, r := range s.Sessions {
		for _, dir := range []string{r.Owner.DataDir, MadeIn(r.Tree)} {
			if dir == "" || seen[dir] {
				continue
			}
			seen[dir] = true
			original := filepath.Join(dir, "state.json")
			if !sameFile(dir, dataDir) && !fileid.Renamed(r.Owner.DataDirID, dir, dataDir) && lineageAt(original) == s.Lineage {
				return original
			}
		}
	}
	return ""
}

// MadeIn returns the data directory of a workspace that agentform made, by its path, or "".
func MadeIn(t session.WorkspaceState) string {
	in := filepath.Dir(filepath.Dir(t.Path))
	if !t.Created || filepath.Base(in) != "workspaces" {
		return ""
	}
	return filepath.Dir(in)
}

// lineageAt returns the lineage of the state file at path, from either of its two files.
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
