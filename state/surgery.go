package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentform/agentform/session"
)

// Decode reads the text of a state file that is in none yet: one to be pushed. A
// newer format is a *NewerError; any other error says what is wrong with it.
func Decode(text []byte) (State, error) {
	s, err := decode("", text)
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		return s, corrupt.Err
	}
	return s, err
}

// Backup writes the state as it is to a file beside it that nothing overwrites, named
// after the serial (state.json.41.backup), and returns its path; empty: there is no
// state file.
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

// Encode is the state as a state file holds it: the text that Decode reads.
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

// StaleError is a state that may not be pushed over the one that is there.
type StaleError struct {
	Lineage bool // it is another project's; else it is older
	Have    State
	Given   State
}

// Error says what is wrong and how to go on.
func (e *StaleError) Error() string {
	if e.Lineage {
		return fmt.Sprintf("it is the state of another project: its lineage is %s, here it is %s; what lives here would not be known as ours any more", e.Given.Lineage, e.Have.Lineage)
	}
	return fmt.Sprintf("it is older than the state here: serial %d, here it is %d; pull again, and make the change in that", e.Given.Serial, e.Have.Serial)
}

// Push puts another state in place of the one that is there, all of it in one
// write, whose serial is higher than both. It must be of the same lineage, and of
// a serial that is not lower than the one here, else it is a *StaleError; force
// lets both pass. Where nothing is on record yet any state may be pushed.
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
	s.unsure = true // the head changes, also if no record does
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
