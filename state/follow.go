package state

import (
	"encoding/json"
	"fmt"
)

// Follower keeps another copy of an open state, such as one that other machines read.
type Follower interface {
	// Allow is called before a write that announces a change of a session. If Allow returns an
	// error, nothing is written.
	Allow() error
	// Written is called after each write, with the serial of the state. If a session was
	// added, Written returns when the other copy has it, or else an error, and the session is
	// removed again.
	Written(serial uint64, added bool) error
	// Close is called before the state is unlocked.
	Close() error
}

// Follow makes f follow the writes from now on.
func (s *Store) Follow(f Follower) { s.follow = f }

// tell notifies the Follower of a write.
func tell(s *Store, added bool) error {
	if s.follow == nil {
		return nil
	}
	s.mu.Lock()
	serial := s.head.Serial
	s.mu.Unlock()
	return s.follow.Written(serial, added)
}

// Encoded returns the text of an open state and its serial. It is cheaper than State and
// Encode.
func Encoded(s *Store) (text []byte, serial uint64, err error) {
	s.mu.Lock()
	head, rows := s.head, s.rows
	s.mu.Unlock()
	text, err = encode(head, rows)
	return text, head.Serial, err
}

// Reset replaces the state by st, with its serial. The Follower is not called, and no copy of
// a record is written to its session's directory.
func (s *Store) Reset(st State) error {
	rows := make([]*row, len(st.Sessions))
	for i, r := range st.Sessions {
		raw, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("copy state: %s: %w", r.Address, err)
		}
		rows[i] = &row{r, raw}
	}
	st.Sessions = nil
	s.writing.Lock()
	defer s.writing.Unlock()
	if _, err := s.writeWhole(st, rows); err != nil {
		s.unsure = true
		return fmt.Errorf("copy state: %w", err)
	}
	s.mu.Lock()
	s.head, s.rows = st, rows
	s.mu.Unlock()
	return keepLineage(s.path, st.Lineage)
}
