package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"

	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/session"
)

// Store is an open state. Many goroutines can use it.
type Store struct {
	path   string
	lock   *flock.Flock
	mirror mirror
	owner  session.Owner // see OwnedBy
	follow Follower      // nil: none

	writing  sync.Mutex // guards the fields up to mu; held while writing
	backed   bool       // the backup was made
	unsure   bool       // the disk may not have the last write: write the whole file next
	deferred []entry    // changes in the runtime directory
	closed   bool
	whole    whole    // the state file; size 0: none
	journal  appended // the changes since

	mu   sync.Mutex
	head State    // the state without its sessions
	rows []*row   // the sessions, sorted by address; replaced, never changed
	next *changes // changes of the next write
}

// row is a record with its JSON. It never changes.
type row struct {
	record session.Record
	raw    []byte
}

type changes struct {
	list []change
	done bool
	err  error
}

// change puts a row or deletes an address.
type change struct {
	address session.Address
	row     *row // nil: delete
}

// Open locks and reads the state file at path, or starts a new state, which the first Put
// writes, with the lineage of the sessions' directories there or in outputs. It waits for the
// lock until wait or ctx ends, and then returns a *LockedError. Other errors are those of
// Read. The next write records project and version (of agentform). The caller must Close the
// store.
func Open(ctx context.Context, path string, project, version string, who Holder, wait time.Duration, outputs ...string) (*Store, error) {
	l, err := lock(ctx, path, who, wait)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, lock: l, mirror: mirror{folder: layout.Data{Dir: filepath.Dir(path)}.Sessions()}, journal: appended{path: JournalOf(path)}}
	if err := s.load(outputs); err != nil {
		_ = unlock(l)
		return nil, err
	}
	s.head.Project, s.head.Agentform = project, version
	return s, nil
}

func (s *Store) load(outputs []string) error {
	st, k, err := read(s.path, nil)
	if errors.Is(err, ErrNone) {
		lineage, err := Lineage(s.path, outputs...)
		if err != nil {
			return err
		}
		if lineage == "" {
			lineage = NewLineage()
		}
		s.head = State{Version: Version, Lineage: lineage}
		return keepLineage(s.path, lineage)
	} else if err != nil {
		return err
	}
	for _, r := range st.Sessions {
		raw, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("read state %s: %s: %w", s.path, r.Address, err)
		}
		s.rows = append(s.rows, &row{r, raw})
	}
	st.Sessions = nil
	s.head = st
	s.whole, s.journal.size, s.unsure = k.whole, k.journal, k.torn
	sweep(s.path)
	if err := keepLineage(s.path, st.Lineage); err != nil && !Unwritable(err) {
		return err
	}
	if len(k.deferred) > 0 {
		s.deferred, s.unsure = k.deferred, true
		if err := s.write(nil); err != nil && !Unwritable(err) {
			return err
		}
	}
	return nil
}

// NewLineage returns a random UUID.
func NewLineage() string { return uuid.NewString() }

// State returns the current state. Replace slices and maps inside its records, never write
// into them.
func (s *Store) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.head
	st.Sessions = make([]session.Record, len(s.rows))
	for i, r := range s.rows {
		st.Sessions[i] = r.record
		if o := r.record.Override; o != nil {
			own := *o
			st.Sessions[i].Override = &own
		}
	}
	return st
}

// Put records r under its address and returns when that is durable. After an error the state
// is what it was before, unless the error says "may not survive a crash", and a later Put may
// succeed. If only the copy in the session's directory fails, MirrorErr returns that.
func (s *Store) Put(r session.Record) error { return s.put(r, "") }

// Move is Put of a session under a new address, as one change.
func (s *Store) Move(from session.Address, r session.Record) error {
	if from == r.Address {
		return s.put(r, "")
	}
	return s.put(r, from, change{from, nil})
}

func (s *Store) put(r session.Record, leaves session.Address, besides ...change) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("record %s in state: %w", r.Address, err)
		}
	}()
	raw, err := json.Marshal(s.withOwner(r, leaves))
	if err != nil {
		return err
	}
	// A deep copy, as it will be read.
	var kept session.Record
	if err := json.Unmarshal(raw, &kept); err != nil {
		return err
	}
	if err := check(kept); err != nil {
		return err
	}
	if s.follow != nil && kept.Intent != session.Settled {
		if err := s.follow.Allow(); err != nil {
			return err
		}
	}
	before, known := s.record(kept.Address)
	if err := s.commit(append(besides, change{kept.Address, &row{kept, raw}})...); err != nil {
		return err
	}
	if err := tell(s, !known && leaves == ""); err != nil {
		return errors.Join(err, s.commit(change{kept.Address, nil}))
	}
	if known && before.ID != kept.ID {
		s.reflect(kept.Address, before)
	}
	s.reflect(kept.Address, kept)
	return nil
}

// Delete deletes the record of a session durably. Its directory keeps its history.
func (s *Store) Delete(a session.Address) error {
	gone, known := s.record(a)
	if err := s.commit(change{a, nil}); err != nil {
		return fmt.Errorf("remove %s from state: %w", a, err)
	}
	_ = tell(s, false)
	if known {
		s.reflect(a, gone)
	}
	return nil
}

// Close waits for a write that is under way, merges a long journal, ends the Follower, and
// releases the lock.
func (s *Store) Close() (err error) {
	if f := s.follow; f != nil {
		s.follow = nil
		err = f.Close()
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed {
		return err
	}
	s.closed = true
	if j := s.journal.size; j > 0 && (s.whole.Size < smallState || j > s.whole.Size/closingShare) {
		_, _ = s.writeWhole(s.head, s.rows) // else the journal still has it
	}
	s.journal.close()
	if unlocked := unlock(s.lock); unlocked != nil {
		err = errors.Join(err, fmt.Errorf("unlock state %s: %w", s.path, unlocked))
	}
	return err
}

// commit writes the changes durably, together with others that wait.
func (s *Store) commit(c ...change) error {
	s.mu.Lock()
	if s.next == nil {
		s.next = &changes{}
	}
	mine := s.next
	mine.list = append(mine.list, c...)
	s.mu.Unlock()

	s.writing.Lock()
	defer s.writing.Unlock()
	if mine.done {
		return mine.err // written with another commit
	}
	s.mu.Lock()
	s.next = nil // later changes are in the next write
	s.mu.Unlock()
	mine.err = s.write(mine.list)
	mine.done = true
	return mine.err
}

// The caller of write holds s.writing.
func (s *Store) write(list []change) error {
	if s.closed {
		return os.ErrClosed
	}
	s.mu.Lock()
	head, rows := s.head, slices.Clone(s.rows)
	s.mu.Unlock()
	changed := map[session.Address]*row{}
	for _, c := range list {
		var changes bool
		if rows, changes = c.onto(rows); !changes {
			continue
		}
		changed[c.address] = c.row
	}
	if len(changed) == 0 && !s.unsure {
		return nil
	}
	head.Serial++
	var written bool
	var err error
	if s.unsure || s.whole.Size == 0 || s.journal.size >= max(s.whole.Size, shortJournal) {
		written, err = s.writeWhole(head, rows)
	} else {
		written, err = s.append(head, changed)
	}
	s.unsure = err != nil
	if written {
		s.mu.Lock()
		s.head, s.rows = head, rows
		s.mu.Unlock()
	}
	return err
}

func (s *Store) append(head State, changed map[session.Address]*row) (written bool, err error) {
	e := entry{Serial: head.Serial, Project: head.Project, Agentform: head.Agentform}
	for _, a := range slices.Sorted(maps.Keys(changed)) {
		if r := changed[a]; r != nil {
			e.Put = append(e.Put, r.raw)
		} else {
			e.Forget = append(e.Forget, a)
		}
	}
	written, err = s.journal.add(header{Version: Version, Agentform: head.Agentform, Continues: s.whole}, e)
	if err != nil {
		err = writeError(s.journal.path, err)
	}
	return written, err
}

func (s *Store) writeWhole(head State, rows []*row) (written bool, err error) {
	text, err := encode(head, rows)
	if err != nil {
		return false, err
	}
	if !s.backed && s.whole.Size > 0 {
		if err := backup(s.path); err != nil {
			return false, err
		}
	}
	written, err = replace(s.path, text)
	if written {
		s.backed, s.whole = true, wholeOf(head.Serial, text)
		s.journal.end()
		s.dropDeferred()
	}
	return written, err
}

func (s *Store) record(a session.Address) (session.Record, bool) {
	s.mu.Lock()
	rows := s.rows
	s.mu.Unlock()
	i, found := findRow(rows, a)
	if !found {
		return session.Record{}, false
	}
	return rows[i].record, true
}

// encode returns the text of a state, with a line for each record.
func encode(head State, rows []*row) ([]byte, error) {
	head.Sessions = []session.Record{}
	text, err := json.MarshalIndent(head, "", " ")
	if err != nil {
		return nil, err
	}
	size := len(text) + 8
	for _, r := range rows {
		size += len(r.raw) + 2
	}
	b := bytes.NewBuffer(make([]byte, 0, size))
	b.Write(bytes.TrimSuffix(text, []byte("]\n}")))
	for i, r := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(r.raw)
	}
	b.WriteString("\n]\n}\n")
	return b.Bytes(), nil
}
