package state

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/agentform/agentform/internal/remedy"
	"github.com/agentform/agentform/session"
)

// The journal has the changes since the state file was written, so that a change costs as
// much with ten sessions as with ten thousand. Its first line names the state file, and each
// other is a write. An unfinished last line was never acknowledged. A journal as long as the
// state file is merged into that.

const (
	smallState   = 128 << 10 // bytes of a state file, up to which Close merges any journal
	closingShare = 8         // of the state file, from which Close merges a journal
	shortJournal = 32 << 10  // bytes of a journal that may be longer than the state file
)

// whole identifies a version of the state file.
type whole struct {
	Serial uint64 `json:"serial"`
	Size   int    `json:"size"`
	Sum    uint32 `json:"crc32c"`
}

// entry is one write: the new records, and the addresses of deleted ones.
type entry struct {
	Serial    uint64            `json:"serial"`
	Project   string            `json:"project"`
	Agentform string            `json:"agentform"`
	Put       []json.RawMessage `json:"put,omitempty"`
	Forget    []session.Address `json:"forget,omitempty"`
}

type header struct {
	Version   int    `json:"version"`
	Agentform string `json:"agentform"`
	Continues whole  `json:"continues"`
}

type journal struct {
	head    header
	entries []entry
	size    int  // in bytes; 0: no journal
	torn    bool // its last line is unfinished
}

// JournalOf returns the path of the journal of the state file at path.
func JournalOf(path string) string { return path + ".journal" }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func wholeOf(serial uint64, text []byte) whole {
	return whole{Serial: serial, Size: len(text), Sum: crc32.Checksum(text, castagnoli)}
}

// line returns a line of a journal: a checksum, a space, and JSON.
func line(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, castagnoli), text), nil
}

// readJournal must be called before the state file is read, which may be written in between.
func readJournal(path string) (journal, error) {
	b, err := readRegular(JournalOf(path))
	if errors.Is(err, fs.ErrNotExist) {
		return journal{}, nil
	}
	if err != nil {
		return journal{}, fmt.Errorf("read state: %w", err)
	}
	j, err := parseJournal(b)
	if newer, is := errors.AsType[*NewerError](err); is {
		newer.Path = JournalOf(path)
		return journal{}, err
	}
	if err != nil {
		return journal{}, &JournalError{Path: path, Err: err}
	}
	return j, nil
}

func parseJournal(b []byte) (journal, error) {
	j := journal{size: len(b)}
	for n := 0; len(b) > 0; n++ {
		text, rest, ended := bytes.Cut(b, []byte("\n"))
		text, sound := checked(text)
		if !ended || !sound {
			if len(bytes.Trim(rest, "\x00")) > 0 { // a crash of the machine may leave zeros
				return journal{}, fmt.Errorf("line %d is damaged", n+1)
			}
			j.torn = true
			return j, nil
		}
		b = rest
		if n == 0 {
			if err := json.Unmarshal(text, &j.head); err != nil {
				return journal{}, fmt.Errorf("line 1: %w", err)
			}
			if j.head.Version > Version {
				return journal{}, &NewerError{Version: j.head.Version, Agentform: j.head.Agentform}
			}
			continue
		}
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return journal{}, fmt.Errorf("line %d: %w", n+1, err)
		}
		j.entries = append(j.entries, e)
	}
	return j, nil
}

// checked returns a line without its checksum, and whether that is correct.
func checked(text []byte) ([]byte, bool) {
	sum, text, ok := bytes.Cut(text, []byte(" "))
	if !ok || len(sum) != 8 {
		return nil, false
	}
	want, err := strconv.ParseUint(string(sum), 16, 32)
	return text, err == nil && uint32(want) == crc32.Checksum(text, castagnoli)
}

// serial returns the serial of the last write; 0: none.
func (j journal) serial() uint64 {
	if len(j.entries) == 0 {
		return 0
	}
	return j.entries[len(j.entries)-1].Serial
}

// onto replays the journal. continues is false if it is of an earlier state file: then the
// state has all of it.
func (j journal) onto(path string, st State, text []byte) (_ State, continues bool, err error) {
	if j.size == 0 || j.head.Version == 0 {
		return st, false, nil
	}
	if j.head.Continues != wholeOf(st.Serial, text) {
		if j.serial() > st.Serial {
			return State{}, false, &JournalError{Path: path, Err: fmt.Errorf("it continues serial %d up to %d, and the state file is another one, with serial %d",
				j.head.Continues.Serial, j.serial(), st.Serial)}
		}
		return st, false, nil
	}
	for _, e := range j.entries {
		if err := e.onto(&st); err != nil {
			return State{}, false, &JournalError{Path: path, Err: fmt.Errorf("serial %d: %w", e.Serial, err)}
		}
	}
	return st, true, nil
}

func (e entry) onto(st *State) error {
	for _, raw := range e.Put {
		var r session.Record
		err := json.Unmarshal(raw, &r)
		if err == nil {
			err = check(r)
		}
		if err != nil {
			return err
		}
		i, found := find(st.Sessions, r.Address)
		if !found {
			st.Sessions = slices.Insert(st.Sessions, i, session.Record{})
		}
		st.Sessions[i] = r
	}
	for _, a := range e.Forget {
		if i, found := find(st.Sessions, a); found {
			st.Sessions = slices.Delete(st.Sessions, i, i+1)
		}
	}
	st.Serial, st.Project, st.Agentform = e.Serial, e.Project, e.Agentform
	return nil
}

func find(rs []session.Record, a session.Address) (int, bool) {
	return slices.BinarySearchFunc(rs, a, func(r session.Record, a session.Address) int { return cmp.Compare(r.Address, a) })
}

func findRow(rows []*row, a session.Address) (int, bool) {
	return slices.BinarySearchFunc(rows, a, func(r *row, a session.Address) int { return cmp.Compare(r.record.Address, a) })
}

// JournalError reports a journal that is damaged or belongs to another state file.
type JournalError struct {
	Path string // of the state file
	Err  error
}

// Error includes how to continue.
func (e *JournalError) Error() string {
	j := JournalOf(e.Path)
	return remedy.With(fmt.Sprintf("read state %s: its journal %s: %v; nothing was changed", e.Path, j, e.Err), session.Remedy{Code: session.RemedyRebuildJournal, Path: j})
}

// Unwrap returns the cause.
func (e *JournalError) Unwrap() error { return e.Err }

type appended struct {
	path string
	file *os.File // nil: not open
	size int      // in bytes; 0: no journal
}

// add appends one write durably. written with an error means that it may not survive a
// crash. After an error the state file must be written before anything else is appended.
func (a *appended) add(of header, e entry) (written bool, err error) {
	text, err := line(e)
	if err != nil {
		return false, err
	}
	fresh := a.size == 0
	if fresh {
		head, err := line(of)
		if err != nil {
			return false, err
		}
		text = append(head, text...)
	}
	if a.file == nil {
		if fresh { // left from an earlier state file
			if err := removeFile(a.path); err != nil {
				return false, err
			}
		}
		if a.file, err = os.OpenFile(a.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
			return false, err
		}
	}
	if _, err := a.file.Write(text); err != nil {
		_ = a.file.Truncate(int64(a.size)) // else readers ignore the unfinished line
		return false, err
	}
	a.size += len(text)
	if err := a.file.Sync(); err != nil {
		return true, fmt.Errorf("it is written, but may not survive a crash: %w", err)
	}
	if fresh {
		if err := syncFolder(filepath.Dir(a.path)); err != nil {
			return true, fmt.Errorf("it is written, but may not survive a crash: %w", err)
		}
	}
	return true, nil
}

// end removes the journal. If it stays, it is ignored as one of an earlier state file.
func (a *appended) end() {
	if a.file != nil || a.size > 0 {
		a.close()
		_ = removeFile(a.path)
	}
	a.size = 0
}

func (a *appended) close() {
	if a.file != nil {
		_ = a.file.Close()
		a.file = nil
	}
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
