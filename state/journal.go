package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agentform/agentform/session"
)

// The journal holds what has changed since the state file was written whole, so that
// a change writes as much in a project of ten sessions as in one of ten thousand. It
// is a text of lines, each with its checksum: first which state file it continues,
// then a line for each write. A last line that is not whole was never acknowledged.
// The state file is written whole again, and the journal removed, when the journal is
// as long as it: so each byte of a change is written about twice.

const (
	// smallState is the size in bytes up to which a store leaves nothing in the
	// journal when it is closed: writing so little whole costs as much as one change.
	smallState = 128 << 10
	// shortJournal is the size in bytes up to which a journal may be longer than the
	// state file.
	shortJournal = 32 << 10
	// closingShare is the part of the state file's size from which a journal is
	// taken into it when a store is closed, so that readers have little to go through.
	closingShare = 8
)

// whole tells one state file from another.
type whole struct {
	Serial uint64 `json:"serial"`
	Size   int    `json:"size"`
	Sum    uint32 `json:"crc32c"`
}

// entry is one write: records that are put in place of those with their addresses,
// and addresses that are forgotten.
type entry struct {
	Serial    uint64            `json:"serial"`
	Project   string            `json:"project"`
	Agentform string            `json:"agentform"`
	Put       []json.RawMessage `json:"put,omitempty"`
	Forget    []session.Address `json:"forget,omitempty"`
}

// header is the first line of a journal.
type header struct {
	Version   int    `json:"version"`
	Agentform string `json:"agentform"`
	Continues whole  `json:"continues"`
}

// journal is what was read of one.
type journal struct {
	head    header
	entries []entry
	size    int  // in bytes; 0: there is none
	torn    bool // its last line is not whole
}

// JournalOf is the path of the journal of the state file at path. It is written more
// often than that.
func JournalOf(path string) string { return path + ".journal" }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func wholeOf(serial uint64, text []byte) whole {
	return whole{Serial: serial, Size: len(text), Sum: crc32.Checksum(text, castagnoli)}
}

// line is v as a line of a journal: its checksum, a space, and what it is.
func line(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, castagnoli), text), nil
}

// readJournal reads the journal of the state file at path. A reader reads it before the
// state file: should that be written whole in between, it holds what the journal held.
func readJournal(path string) (journal, error) {
	b, err := readRegular(JournalOf(path))
	if errors.Is(err, fs.ErrNotExist) {
		return journal{}, nil
	}
	if err != nil {
		return journal{}, fmt.Errorf("read state: %w", err)
	}
	j, err := parseJournal(b)
	var newer *NewerError
	if errors.As(err, &newer) {
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
			if len(bytes.Trim(rest, "\x00")) > 0 { // a machine that crashed may leave zeros
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

// checked is a line without its checksum, and whether that is right.
func checked(text []byte) ([]byte, bool) {
	sum, text, ok := bytes.Cut(text, []byte(" "))
	if !ok || len(sum) != 8 {
		return nil, false
	}
	want, err := strconv.ParseUint(string(sum), 16, 32)
	return text, err == nil && uint32(want) == crc32.Checksum(text, castagnoli)
}

// serial is that of the last write in it; 0: there is none.
func (j journal) serial() uint64 {
	if len(j.entries) == 0 {
		return 0
	}
	return j.entries[len(j.entries)-1].Serial
}

// lastSerial is the serial of the state file that a journal continues, and that of its
// last write; sound is false when that takes a closer look.
func lastSerial(b []byte) (continues, last uint64, sound bool) {
	end := bytes.LastIndexByte(b, '\n')
	if end < 0 {
		return 0, 0, len(b) == 0
	}
	head, headSound := checked(b[:bytes.IndexByte(b, '\n')])
	tail, tailSound := checked(b[bytes.LastIndexByte(b[:end], '\n')+1 : end])
	var h header
	var e struct {
		Serial uint64 `json:"serial"`
	}
	sound = headSound && tailSound && json.Unmarshal(head, &h) == nil && h.Version == Version && json.Unmarshal(tail, &e) == nil
	return h.Continues.Serial, e.Serial, sound
}

// onto replays the journal on what the state file at path says, whose text is text.
// continues is false when the journal is of an earlier state file, which the one that
// is there replaced: then there is nothing in it that is not there.
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

// onto makes the changes of an entry in a state.
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
		st.Sessions = insert(st.Sessions, r)
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
	return slices.BinarySearchFunc(rs, a, func(r session.Record, a session.Address) int {
		return strings.Compare(string(r.Address), string(a))
	})
}

func insert(rs []session.Record, r session.Record) []session.Record {
	i, found := find(rs, r.Address)
	if found {
		rs[i] = r
		return rs
	}
	return slices.Insert(rs, i, r)
}

// JournalError is a journal that cannot be understood, or does not belong to the state
// file that it lies beside. Neither is ever overwritten.
type JournalError struct {
	Path string // of the state file
	Err  error
}

// Error says what is wrong and how to go on.
func (e *JournalError) Error() string {
	j := JournalOf(e.Path)
	return fmt.Sprintf("read state %s: its journal %s: %v; both were left as they are; to rebuild the state from what the sessions left: agentform state rebuild; or, to go on with the state file alone, move the journal away: mv %[2]s %[2]s.broken", e.Path, j, e.Err)
}

// Unwrap gives the cause.
func (e *JournalError) Unwrap() error { return e.Err }

// appended is a journal that a store writes.
type appended struct {
	path string
	file *os.File // nil: not opened yet
	size int      // in bytes; 0: there is none
}

// add appends one write and returns when it is durable. written without a nil error
// means that it is there and may not survive a crash. After any error the state file
// must be written whole before anything is appended again.
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
		if fresh { // one that is left of an earlier state file says nothing any more
			if err := removeFile(a.path); err != nil {
				return false, err
			}
		}
		if a.file, err = os.OpenFile(a.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
			return false, err
		}
	}
	if _, err := a.file.Write(text); err != nil {
		_ = a.file.Truncate(int64(a.size)) // else nobody takes what is torn for whole
		return false, err
	}
	a.size += len(text)
	if err := a.file.Sync(); err != nil {
		return true, fmt.Errorf("it is written and may not survive a crash: %w", err)
	}
	if fresh {
		if err := syncFolder(filepath.Dir(a.path)); err != nil {
			return true, fmt.Errorf("it is written and may not survive a crash: %w", err)
		}
	}
	return true, nil
}

// end removes the journal: the state file holds all of it. One that stays is of an
// earlier state file, and so counts for nothing.
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
