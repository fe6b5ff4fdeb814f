package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/shim/socketdir"
	"github.com/agentform/agentform/session"
)

// A session can also end on a full or read-only disk. Such a change is deferred: written to the
// runtime directory, and to the state by the next command that can.

// Unwritable reports whether an error means that the disk accepts no writes.
func Unwritable(err error) bool {
	for _, e := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.EACCES, syscall.EPERM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

type deferred struct {
	Lineage string  `json:"lineage"`
	Serial  uint64  `json:"serial"` // of the state file and its journal
	Changes []entry `json:"changes"`
}

const deferredLimit = 64 << 20

func deferredName(path string) string {
	sum := sha256.Sum256([]byte(canonical(path)))
	return "state-" + hex.EncodeToString(sum[:4])
}

// readDeferred returns the changes for a lineage (empty: any) and a serial.
func readDeferred(path string, lineage string, serial uint64) []entry {
	dir, found := socketdir.Find(filepath.Dir(path))
	if !found {
		return nil
	}
	f, err := layout.OpenRegular(filepath.Join(dir, deferredName(path)), syscall.O_NOFOLLOW)
	if err != nil {
		return nil
	}
	defer f.Close()
	var d deferred
	if json.NewDecoder(io.LimitReader(f, deferredLimit)).Decode(&d) != nil || lineage != "" && d.Lineage != lineage || d.Serial != serial {
		return nil
	}
	return d.Changes
}

// withDeferred counts each change as a write.
func withDeferred(path string, st State) (State, []entry) {
	changes := readDeferred(path, st.Lineage, st.Serial)
	with := st
	with.Sessions = slices.Clone(st.Sessions)
	for _, e := range changes {
		if err := e.onto(&with); err != nil {
			return st, nil
		}
	}
	return with, changes
}

// Defer records a session that has ended in the runtime directory, where readers and this
// store find it.
func (s *Store) Defer(r session.Record) error {
	raw, err := json.Marshal(r)
	if err == nil {
		err = s.keepDeferred(change{r.Address, &row{r, raw}})
	}
	if err != nil {
		return fmt.Errorf("write the record of %s to the runtime directory: %w", r.Address, err)
	}
	return nil
}

// DeferDelete is Delete to the runtime directory.
func (s *Store) DeferDelete(a session.Address) error {
	if err := s.keepDeferred(change{a, nil}); err != nil {
		return fmt.Errorf("delete %s in the runtime directory: %w", a, err)
	}
	return nil
}

func (s *Store) keepDeferred(c change) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	dir, err := socketdir.Create(filepath.Dir(s.path))
	if err != nil {
		return err
	}
	s.mu.Lock()
	head, rows := s.head, slices.Clone(s.rows)
	s.mu.Unlock()
	base := head.Serial - uint64(len(s.deferred))
	rows, changed := c.onto(rows)
	if !changed {
		return nil
	}
	head.Serial++
	e := entry{Serial: head.Serial, Project: head.Project, Agentform: head.Agentform}
	if c.row != nil {
		e.Put = []json.RawMessage{c.row.raw}
	} else {
		e.Forget = []session.Address{c.address}
	}
	all := append(slices.Clone(s.deferred), e)
	text, err := json.Marshal(deferred{Lineage: head.Lineage, Serial: base, Changes: all})
	if err != nil {
		return err
	}
	if _, err := replace(filepath.Join(dir, deferredName(s.path)), append(text, '\n')); err != nil {
		return err
	}
	s.mu.Lock()
	s.head, s.rows = head, rows
	s.mu.Unlock()
	s.deferred, s.unsure = all, true
	return nil
}

func (s *Store) dropDeferred() {
	if len(s.deferred) == 0 {
		return
	}
	s.deferred = nil
	if dir, found := socketdir.Find(filepath.Dir(s.path)); found {
		_ = os.Remove(filepath.Join(dir, deferredName(s.path))) // else it is invalid for the new serial
	}
}

// onto reports whether the change changes anything.
func (c change) onto(rows []*row) ([]*row, bool) {
	i, found := findRow(rows, c.address)
	switch {
	case c.row == nil && !found, c.row != nil && found && string(rows[i].raw) == string(c.row.raw):
		return rows, false
	case c.row == nil:
		return slices.Delete(rows, i, i+1), true
	case found:
		rows[i] = c.row
		return rows, true
	}
	return slices.Insert(rows, i, c.row), true
}
