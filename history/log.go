package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentform/agentform/session"
)

// fileName is the log in a session's folder.
const fileName = "events.jsonl"

// Log is the history of one session. Its methods may be called from many
// goroutines, and by many processes on one folder.
type Log struct{ folder string }

// Open is the log in the session's folder (DATA_DIR/agents/ROLE/ID). The folder
// and the file are made with the first Append.
func Open(folder string) *Log { return &Log{folder} }

// Append adds the event as one line, in one write, so that events of several
// writers never mix. It is not synced: a crash of the machine may cost the last
// events, never one of agentform. An excerpt over session.TailLimit keeps its
// end. A history that has become larger than 1 MiB is shortened.
func (l *Log) Append(e Event) error {
	if err := l.append(e); err != nil {
		return fmt.Errorf("record event %s of %s: %w", e.Kind, e.Address, err)
	}
	return nil
}

func (l *Log) append(e Event) error {
	if err := makeFolder(l.folder); err != nil {
		return err
	}
	path := filepath.Join(l.folder, fileName)
	f, err := openLocked(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, shared)
	if err != nil {
		return err
	}
	if err := errors.Join(put(f, e), f.Close()); err != nil {
		return err
	}
	bound(path, sizeLimit)
	return nil
}

// put adds the event to an open history.
func put(f *os.File, e Event) error {
	e.Excerpt = tail(e.Excerpt)
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if torn(f) {
		line = append([]byte{'\n'}, line...)
	}
	_, err = f.Write(line)
	return err
}

// torn reports whether the file ends in the middle of a line, because a writer
// died or the disk was full. What follows must not become part of that line.
func torn(f *os.File) bool {
	size, open := openLine(f)
	if !open {
		return false
	}
	// Somebody may be in the middle of writing it: then it grows.
	time.Sleep(time.Millisecond)
	again, open := openLine(f)
	return open && again == size
}

// openLine is the file's size, and whether its last line has no end.
func openLine(f *os.File) (size int64, open bool) {
	fi, err := f.Stat()
	if err != nil || fi.Size() == 0 {
		return 0, false
	}
	var last [1]byte
	n, _ := f.ReadAt(last[:], fi.Size()-1)
	return fi.Size(), n == 1 && last[0] != '\n'
}

// tail is the end of the text that fits into an event, beginning with a whole
// character.
func tail(s string) string {
	if len(s) <= session.TailLimit {
		return s
	}
	from := len(s) - session.TailLimit
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return strings.Clone(s[from:])
}
