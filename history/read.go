package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"
)

// pollInterval is the time between two reads of Follow.
const pollInterval = 200 * time.Millisecond

// Read returns the events in the session's directory from a time on (zero: all), in the
// order in which they were recorded. It skips invalid lines, such as one that a crash has
// torn. Without a history there are no events. Of a file of more than 8 MiB, which agentform
// does not write, it reads only the end.
func Read(dir string, since time.Time) ([]Event, error) {
	f, err := openRead(filepath.Join(dir, fileName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	defer f.Close()
	r, _, err := linesFrom(f, 0)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	var events []Event
	for {
		line, err := r.ReadBytes('\n')
		if e, ok := parse(line); ok && !e.Time.Before(since) {
			events = append(events, e)
		}
		if err == io.EOF {
			return events, nil
		} else if err != nil {
			return nil, fmt.Errorf("read history: %w", err)
		}
	}
}

// Size returns the size of the history in the session's directory, which grows with each
// event.
func Size(dir string) int64 {
	fi, err := os.Stat(filepath.Join(dir, fileName))
	if err != nil {
		return 0
	}
	return fi.Size()
}

// Follow returns the events in the session's directory from a byte offset (0: all, negative:
// only new ones), and then new ones as they are appended, until ctx ends, the caller stops or
// an error occurs. It polls every 200 ms. It reads a shortened file after the last event,
// or, if that is gone, from the beginning without events that are not later.
func Follow(ctx context.Context, dir string, from int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := follower{path: filepath.Join(dir, fileName), at: from}
		if from < 0 {
			fi, err := os.Stat(f.path)
			f.at = 0
			if err == nil {
				f.at = fi.Size()
			}
		}
		for tick := time.NewTicker(pollInterval); ; {
			events, err := f.more()
			for _, e := range events {
				if ctx.Err() != nil || !yield(e, nil) {
					tick.Stop()
					return
				}
			}
			if err != nil {
				tick.Stop()
				yield(Event{}, fmt.Errorf("follow history: %w", err))
				return
			}
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	}
}

// Tail reads the new events of a history. It is for one goroutine.
type Tail struct{ follower }

// TailOf returns a Tail from the beginning of the history in a session's directory.
func TailOf(dir string) *Tail {
	return &Tail{follower{path: filepath.Join(dir, fileName)}}
}

// More returns the events since the last call. Without new ones it costs a stat.
func (t *Tail) More() ([]Event, error) {
	if fi, err := os.Stat(t.path); err == nil && fi.Size() == t.at && (t.file == nil || os.SameFile(t.file, fi)) {
		return nil, nil
	}
	events, err := t.more()
	if err != nil {
		return events, fmt.Errorf("read history: %w", err)
	}
	return events, nil
}

// follower is a position in a history.
type follower struct {
	path string
	at   int64     // the end of the last line read
	last time.Time // the latest event's
	sum  uint64    // of the last line with an event; 0: none
	file os.FileInfo
}

// more returns the events in new whole lines.
func (f *follower) more() ([]Event, error) {
	file, err := openRead(f.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer file.Close()
	fi, err := file.Stat()
	if err != nil {
		return nil, err
	}
	passed := int64(0)
	if size := fi.Size(); size < f.at || f.file != nil && !os.SameFile(f.file, fi) {
		// The file was shortened: continue after the last event, if that is still there.
		if f.at, err = after(file, f.sum); err != nil {
			return nil, err
		}
		if f.at == 0 {
			passed = size
		}
	} else if size == f.at {
		return nil, nil
	}
	f.file = fi
	reader, from, err := linesFrom(file, f.at)
	if err != nil {
		return nil, err
	}
	f.at = from
	var events []Event
	for last := f.last; ; {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF {
			return events, nil // an unfinished line is read again
		} else if err != nil {
			return events, err
		}
		f.at += int64(len(line))
		e, ok := parse(line)
		if !ok {
			continue
		}
		f.sum = sum(line)
		if f.at <= passed && !e.Time.After(last) {
			continue
		}
		if e.Time.After(f.last) {
			f.last = e.Time
		}
		events = append(events, e)
	}
}

// after returns the end of the last line with a sum; 0: there is no such line.
func after(file *os.File, of uint64) (at int64, err error) {
	found := int64(0)
	r, at, err := linesFrom(file, 0)
	if err != nil {
		return 0, err
	}
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return found, nil
		} else if err != nil {
			return 0, err
		}
		if at += int64(len(line)); of != 0 && sum(line) == of {
			found = at
		}
	}
}

func sum(line []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(line) // it never fails
	return h.Sum64()
}

// parse parses one line. Every event has a kind.
func parse(line []byte) (e Event, ok bool) {
	if len(line) == 0 || line[0] != '{' { // cheap
		return e, false
	}
	return e, json.Unmarshal(line, &e) == nil && e.Kind != ""
}
