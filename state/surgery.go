package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentform/agentform/session"
)

// Decode parses the text of a state file. The error about a newer format is a *NewerError.
func Decode(text []byte) (State, error) {
	s, err := decode("", text, nil)
	if corrupt, is := errors.AsType[*CorruptError](err); is {
		return s, corrupt.Err
	}
	return s, err
}

// Backup writes the state to state.json.SERIAL.backup and returns the path, empty without a
// state.
func (s *Store) Backup() (path string, err error) {
	st := s.State()
	if st.Serial == 0 {
		return "", nil
	}
	b, err := st.Encode()
	if err != nil {
		return "", fmt.Errorf("back up state: %w", err)
	}
	path = fmt.Sprintf("%s.%d.backup", s.path, st.Serial)
	if _, err := replace(path, b); err != nil {
		return "", fmt.Errorf("back up state: %w", err)
	}
	return path, nil
}

// Encode returns the text of a state file, which Decode parses.
func (s State) Encode() ([]byte, error) {
	rows := make([]*row, len(s.Sessions))
	for i, r := range s.Sessions {
		raw, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Address, err)
		}
		rows[i] = &row{r, raw}
	}
	return encode(s, rows)
}

// StaleError reports a state that must not replace the current one.
type StaleError struct {
	Lineage bool // of another project; else it is older
	Have    State
	Given   State
}

// Error includes how to continue.
func (e *StaleError) Error() string {
	if e.Lineage {
		return fmt.Sprintf("it belongs to another project: its lineage is %s instead of %s, so running sessions would be lost", e.Given.Lineage, e.Have.Lineage)
	}
	return fmt.Sprintf("it is older than the current state: serial %d instead of %d; pull again and change that", e.Given.Serial, e.Have.Serial)
}

// Push replaces the state in one write. Another lineage or a lower serial is a *StaleError,
// unless force is set or nothing is on record.
func (s *Store) Push(st State, force bool) error {
	have := s.State()
	blank := have.Serial == 0 && len(have.Sessions) == 0
	if !force && !blank {
		switch {
		case st.Lineage != have.Lineage:
			return &StaleError{Lineage: true, Have: have, Given: st}
		case st.Serial < have.Serial:
			return &StaleError{Have: have, Given: st}
		}
	}
	var list []change
	for _, r := range have.Sessions {
		if !slices.ContainsFunc(st.Sessions, func(x session.Record) bool { return x.Address == r.Address }) {
			list = append(list, change{r.Address, nil})
		}
	}
	for _, r := range st.Sessions {
		raw, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("push %s: %w", r.Address, err)
		}
		list = append(list, change{r.Address, &row{r, raw}})
	}
	s.writing.Lock()
	s.unsure = true // the head changes even if no record does
	s.mu.Lock()
	s.head.Lineage, s.head.Serial = st.Lineage, max(st.Serial, have.Serial)
	s.mu.Unlock()
	s.writing.Unlock()
	if err := s.commit(list...); err != nil {
		return fmt.Errorf("push state: %w", err)
	}
	for _, r := range slices.Concat(have.Sessions, st.Sessions) {
		s.reflect(r.Address, r)
	}
	return keepLineage(s.path, st.Lineage)
}
