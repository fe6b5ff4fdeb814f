package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/internal/remedy"
	"github.com/agentform/agentform/session"
)

// Version is the format of the state file.
const Version = 1

// State is the content of a state file.
type State struct {
	Version   int              `json:"version"`
	Serial    uint64           `json:"serial"`    // grows by one with each write
	Lineage   string           `json:"lineage"`   // the project's identity, which never changes
	Project   string           `json:"project"`   // as the last writer called it
	Agentform string           `json:"agentform"` // version of the last writer
	Sessions  []session.Record `json:"sessions"`  // sorted by address, one record each
}

// ErrNone reports that there is no state file.
var ErrNone = errors.New("no state file")

// CorruptError reports a damaged state file, which is never overwritten.
type CorruptError struct {
	Path   string
	Backup string // the path of its backup, if any
	Err    error
}

// Error returns the problem and the remedy.
func (e *CorruptError) Error() string {
	fix := session.Remedy{Code: session.RemedyRebuildCorrupt, Path: e.Path, HolderPath: e.Backup}
	if e.Backup != "" {
		fix.Code = session.RemedyRebuildBackup
	}
	return remedy.With(fmt.Sprintf("read state %s: %v; nothing was changed", e.Path, e.Err), fix)
}

// Unwrap gives the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// NewerError reports a state file in a newer format than Version.
type NewerError struct {
	Path      string // empty: it was not read from a file
	Version   int
	Agentform string // the version of agentform that wrote it
}

// Error names the required agentform.
func (e *NewerError) Error() string {
	by := "a newer agentform"
	if e.Agentform != "" {
		by = "agentform " + e.Agentform
	}
	of := "state " + e.Path
	if e.Path == "" {
		of = "the state that was given"
	}
	return fmt.Sprintf("read %s: it has format %d, written by %s, and this agentform supports up to %d; nothing was changed; upgrade agentform",
		of, e.Version, by, Version)
}

// Read reads a state file without its lock. The error is ErrNone, or a *NewerError,
// *CorruptError, *JournalError or *CopiedError.
func Read(path string) (State, error) {
	st, _, err := read(path, nil)
	return st, err
}

// ReadNamed is Read that may leave out records in which no address ends with one of the
// names. It takes less time where there are many.
func ReadNamed(path string, names ...string) (State, error) {
	st, _, err := read(path, func(record []byte) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			text, err := json.Marshal(name)
			return err != nil || bytes.Contains(record, text[1:])
		})
	})
	return st, err
}

type kept struct {
	whole   whole
	journal int  // its size in bytes; 0: empty, or of an earlier state file
	torn    bool // with an unfinished write

	deferred []entry // changes in the runtime directory
}

// read leaves out the records that wanted does not want, if it is not nil.
func read(path string, wanted func(record []byte) bool) (State, kept, error) {
	if err := original(path); err != nil {
		return State{}, kept{}, err
	}
	j, err := readJournal(path)
	if err != nil {
		return State{}, kept{}, err
	}
	b, err := readRegular(path)
	if err != nil {
		return State{}, kept{}, unreadable(path, err)
	}
	st, err := decode(path, b, wanted)
	if err != nil {
		return State{}, kept{}, err
	}
	k := kept{whole: wholeOf(st.Serial, b), torn: j.torn}
	st, continues, err := j.onto(path, st, b)
	if continues {
		k.journal = j.size
	}
	if err == nil {
		st, k.deferred = withDeferred(path, st)
	}
	return st, k, err
}

// Serial returns the serial of a state; 0 without one. It is cheaper than Read.
func Serial(path string) (uint64, error) {
	j, err := readJournal(path)
	if err != nil {
		return 0, err
	}
	serial, err := serialOf(path)
	if err != nil {
		return 0, err
	}
	if j.head.Continues.Serial == serial {
		serial = max(serial, j.serial())
	}
	return serial + uint64(len(readDeferred(path, "", serial))), nil
}

func serialOf(path string) (uint64, error) {
	f, _, err := openRegular(path)
	if err != nil {
		if err = unreadable(path, err); errors.Is(err, ErrNone) {
			err = nil
		}
		return 0, err
	}
	defer f.Close()
	// This package writes the serial in the first bytes.
	d := json.NewDecoder(io.LimitReader(f, 512))
	for {
		key, err := d.Token()
		if err != nil {
			break
		}
		if key == "serial" {
			var serial uint64
			if d.Decode(&serial) != nil {
				break
			}
			return serial, nil
		}
	}
	s, err := Read(path)
	return s.Serial, err
}

func unreadable(path string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read state %s: %w", path, ErrNone)
	}
	return fmt.Errorf("read state: %w", err)
}

func decode(path string, b []byte, wanted func(record []byte) bool) (State, error) {
	corrupt := func(err error) (State, error) {
		e := &CorruptError{Path: path, Err: err}
		if _, err := os.Stat(backupOf(path)); err == nil {
			e.Backup = backupOf(path)
		}
		return State{}, e
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return corrupt(errors.New("empty"))
	}
	s, err := unmarshal(b, wanted)
	if err != nil || s.Version != Version {
		// Another format may differ in everything but the version.
		var head struct {
			Version   *int            `json:"version"`
			Agentform json.RawMessage `json:"agentform"`
		}
		switch err := json.Unmarshal(b, &head); {
		case err != nil:
			return corrupt(explain(b, err))
		case head.Version == nil || *head.Version < 1:
			return corrupt(errors.New("it has no version"))
		case *head.Version > Version:
			e := &NewerError{Path: path, Version: *head.Version}
			_ = json.Unmarshal(head.Agentform, &e.Agentform) // only to name it
			return State{}, e
		}
	}
	if err != nil {
		return corrupt(explain(b, err))
	}
	if s.Lineage == "" {
		return corrupt(errors.New("it has no lineage"))
	}
	if s.Sessions == nil {
		s.Sessions = []session.Record{}
	}
	for _, r := range s.Sessions {
		if err := check(r); err != nil {
			return corrupt(err)
		}
	}
	slices.SortStableFunc(s.Sessions, func(a, b session.Record) int { return strings.Compare(string(a.Address), string(b.Address)) })
	for i := 1; i < len(s.Sessions); i++ {
		if s.Sessions[i].Address == s.Sessions[i-1].Address {
			return corrupt(fmt.Errorf("it has two records of %s", s.Sessions[i].Address))
		}
	}
	return s, nil
}

func unmarshal(b []byte, wanted func(record []byte) bool) (s State, err error) {
	if wanted == nil {
		return s, json.Unmarshal(b, &s)
	}
	var raw struct {
		State
		Sessions []json.RawMessage `json:"sessions"`
	}
	err = json.Unmarshal(b, &raw)
	s = raw.State
	for _, record := range raw.Sessions {
		if err == nil && wanted(record) {
			var r session.Record
			err = json.Unmarshal(record, &r)
			s.Sessions = append(s.Sessions, r)
		}
	}
	return s, err
}

func check(r session.Record) error {
	block, ok := strings.CutPrefix(string(r.Address), "session.")
	open := strings.IndexByte(block, '[')
	if !ok || block == "" || open == 0 || open > 0 && !strings.HasSuffix(block, "]") {
		return fmt.Errorf("a record has the invalid address %q", r.Address)
	}
	if r.ID == "" || r.ID[0] == '.' || filepath.Base(r.ID) != r.ID || strings.ContainsRune(r.ID, 0) {
		return fmt.Errorf("the record of %s has the invalid id %q", r.Address, r.ID)
	}
	return nil
}

func explain(b []byte, err error) error {
	if syntax, is := errors.AsType[*json.SyntaxError](err); is {
		at := min(int(syntax.Offset), len(b))
		return fmt.Errorf("line %d: %w", 1+bytes.Count(b[:at], []byte("\n")), err)
	}
	return err
}

func backupOf(path string) string { return path + ".backup" }
