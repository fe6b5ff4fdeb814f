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
	"strings"
	"syscall"

	"github.com/agentform/agentform/internal/shim/socketdir"
	"github.com/agentform/agentform/session"
)

// A session has to end also where its end cannot be recorded: on a disk that is full or
// read-only. Such a change is deferred: it is kept in the runtime directory, which is
// usually on another disk. Readers see it there, and the next command that can write
// the state takes it in.

// Unwritable reports whether an error says that the disk accepts no writes: it is full,
// read-only, broken, or its rights forbid it.
func Unwritable(err error) bool {
	for _, e := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.EACCES, syscall.EPERM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// deferred is the file of deferred changes. It counts only for the very state that it
// was written for.
type deferred struct {
	Lineage string  `json:"lineage"`
	Serial  uint64  `json:"serial"` // of the state file and its journal
	Changes []entry `json:"changes"`
}

// deferredLimit bounds what is read of the file.
const deferredLimit = 64 << 20

// deferredName is the name of the file for the state file at path.
func deferredName(path string) string {
	sum := sha256.Sum256([]byte(canonical(path)))
	return "state-" + hex.EncodeToString(sum[:4])
}

// readDeferred returns the deferred changes of the state with a lineage (empty: any) and
// a serial; nil: there are none.
func readDeferred(path string, lineage string, serial uint64) []entry {
	dir, found := socketdir.Find(filepath.Dir(path))
	if !found {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(dir, deferredName(path)), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	var d deferred
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if json.NewDecoder(io.LimitReader(f, deferredLimit)).Decode(&d) != nil || lineage != "" && d.Lineage != lineage || d.Serial != serial {
		return nil
	}
	return d.Changes
}

// withDeferred returns a state as it is with its deferred changes. Each counts as one
// write.
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

// Defer keeps a record that could not be put: the session has ended, and the disk
// accepts no writes. Readers and this store see it as it is now.
func (s *Store) Defer(r session.Record) error {
	raw, err := json.Marshal(r)
	if err == nil {
		err = s.keepDeferred(change{r.Address, &row{r, raw}})
	}
	if err != nil {
		return fmt.Errorf("keep the record of %s in the runtime directory: %w", r.Address, err)
	}
	return nil
}

// DeferDelete is Defer of a session that is to be forgotten.
func (s *Store) DeferDelete(a session.Address) error {
	if err := s.keepDeferred(change{a, nil}); err != nil {
		return fmt.Errorf("keep in the runtime directory that %s is gone: %w", a, err)
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

// dropDeferred removes the file of deferred changes, which the state file has now.
func (s *Store) dropDeferred() {
	if len(s.deferred) == 0 {
		return
	}
	s.deferred = nil
	if dir, found := socketdir.Find(filepath.Dir(s.path)); found {
		_ = os.Remove(filepath.Join(dir, deferredName(s.path))) // one that stays is of an earlier state, and counts for nothing
	}
}

// onto makes the change in a list of rows, and reports whether it changes anything.
func (c change) onto(rows []*row) ([]*row, bool) {
	i, found := slices.BinarySearchFunc(rows, c.address, func(r *row, a session.Address) int {
		return strings.Compare(string(r.record.Address), string(a))
	})
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
