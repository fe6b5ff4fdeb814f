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

// pollEvery is how often Follow looks for more.
const pollEvery = 200 * time.Millisecond

// Read returns the events in the session's folder that happened at since or
// later (the zero time: all), in the order in which they were recorded. Lines
// that are no event, such as one that a crash has torn, are passed over. A
// folder without a history has no events. Of a file of more than 8 MiB, which somebody
// else has written, only the end is read.
func Read(folder string, since time.Time) ([]Event, error) {
	f, err := openRead(filepath.Join(folder, fileName))
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

// Size is how many bytes the history in the session's folder has; 0 without one.
// It grows with each event, so that who has read it knows whether to read again.
func Size(folder string) int64 {
	fi, err := os.Stat(filepath.Join(folder, fileName))
	if err != nil {
		return 0
	}
	return fi.Size()
}

// Follow returns the events in the session's folder from the byte offset on (0:
// all there are; negative: only those that come), and goes on with what is
// added, until ctx ends or the caller stops. It looks every 200 ms. A file that
// was shortened is read on after the last event, or, where that is not in it any more,
// from its beginning, passing over what is not later. An error other than that of ctx, which ends it silently,
// is the last thing that it returns.
func Follow(ctx context.Context, folder string, from int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := follower{path: filepath.Join(folder, fileName), at: from}
		if from < 0 {
			fi, err := os.Stat(f.path)
			f.at = 0
			if err == nil {
				f.at = fi.Size()
			}
		}
		for tick := time.NewTicker(pollEvery); ; {
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

// Tail reads a history bit by bit. Its methods are for one goroutine.
type Tail struct{ follower }

// TailOf reads the history in the session's folder, from its beginning.
func TailOf(folder string) *Tail {
	return &Tail{follower{path: filepath.Join(folder, fileName)}}
}

// More are the events that were added since it was last called; the first time, all
// there are. Without anything new it costs a stat.
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

// follower is how far a file has been read.
type follower struct {
	path string
	at   int64     // every line before it has been returned
	last time.Time // of the latest event returned
	sum  uint64    // of the last line returned; 0: none
	file os.FileInfo
}

// more returns the events in whole lines that were added. A file that is not
// there (yet) has none.
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
		// It was cut: where the last event stands in it now, if it still does.
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
			return events, nil // a line that is not whole yet is read again
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

// after returns where the line after one with that sum begins; 0: there is no such line.
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

// parse reads one line. Every event has a kind.
func parse(line []byte) (e Event, ok bool) {
	if len(line) == 0 || line[0] != '{' { // cheap, where somebody has written something else
		return e, false
	}
	return e, json.Unmarshal(line, &e) == nil && e.Kind != ""
}
