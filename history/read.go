package history

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Read returns the events in the session's directory from a time on (zero: all), in the order
// in which they were recorded. It skips invalid lines, such as one that a crash has torn.
func Read(dir string, since time.Time) ([]Event, error) {
	events, err := TailOf(dir).More()
	return slices.DeleteFunc(events, func(e Event) bool { return e.Time.Before(since) }), err
}

// Size returns the size of the history in bytes, which grows with each event.
func Size(dir string) int64 {
	fi, err := os.Stat(filepath.Join(dir, fileName))
	if err != nil {
		return 0
	}
	return fi.Size()
}

// Changed returns when an event was last added to the history, or zero.
func Changed(dir string) time.Time {
	fi, err := os.Stat(filepath.Join(dir, fileName))
	if err != nil {
		return time.Time{}
	}
	return fi.ModTime()
}

// Tail reads the new events of a history. It is for one goroutine.
type Tail struct {
	path string
	file os.FileInfo       // as last read
	at   int64             // the end of the last line read
	line [sha256.Size]byte // the sum of the last line with an event
	last time.Time         // the latest event's
}

// TailOf returns a Tail from the beginning of the history in a session's directory.
func TailOf(dir string) *Tail { return &Tail{path: filepath.Join(dir, fileName)} }

// More returns the events since the last call. Without new ones it costs a stat. It reads a
// shortened file after the last event, or, if that is gone, those events that are later.
func (t *Tail) More() ([]Event, error) {
	if fi, err := os.Lstat(t.path); err == nil && fi.Mode().IsRegular() && fi.Size() == t.at && (t.file == nil || os.SameFile(t.file, fi)) {
		return nil, nil
	}
	events, err := t.more()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return events, nil
}

func (t *Tail) more() ([]Event, error) {
	file, err := openRead(t.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	fi, err := file.Stat()
	if err != nil {
		return nil, err
	}
	shortened := fi.Size() < t.at || t.file != nil && !os.SameFile(t.file, fi)
	at := t.at
	if shortened {
		at = 0
	}
	lines, at, err := linesFrom(file, at)
	if err != nil {
		return nil, err
	}
	var events []Event
	var newest []byte
	known := shortened // all events, unless the last one read is found
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF { // an unfinished line is read again
			break
		} else if err != nil {
			return nil, err
		}
		at += int64(len(line))
		e, ok := parse(line)
		if !ok {
			continue
		}
		newest, events = line, append(events, e)
		if shortened && sha256.Sum256(line) == t.line {
			known, events = false, nil
		}
	}
	if known {
		events = slices.DeleteFunc(events, func(e Event) bool { return !e.Time.After(t.last) })
	}
	t.file, t.at = fi, at
	if newest != nil {
		t.line = sha256.Sum256(newest)
	}
	for _, e := range events {
		if e.Time.After(t.last) {
			t.last = e.Time
		}
	}
	return events, nil
}
