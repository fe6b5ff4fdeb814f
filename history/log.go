package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/agentform/agentform/session"
)

const fileName = "events.jsonl"

// Append appends events to the history in the session's directory, which it creates, in one
// write. It does not sync: a crash of the machine may lose the last events. Many goroutines
// and processes can call it at once.
func Append(dir string, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	path := filepath.Join(dir, fileName)
	f, err := openLocked(path, os.O_APPEND|os.O_CREATE|os.O_RDWR)
	if err == nil {
		err = errors.Join(put(f, events...), f.Close())
	}
	if err != nil {
		return fmt.Errorf("record event %s of %s: %w", events[0].Kind, events[0].Address, err)
	}
	bound(path)
	return nil
}

func put(f *os.File, events ...Event) error {
	var text []byte
	if torn(f) {
		text = append(text, '\n')
	}
	for _, e := range events {
		e.Excerpt = tail(e.Excerpt)
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	_, err := f.Write(text)
	return err
}

// torn reports whether a writer died, or the disk was full, in the middle of a line. The
// caller has locked the file.
func torn(f *os.File) bool {
	fi, err := f.Stat()
	if err != nil || fi.Size() == 0 {
		return false
	}
	var last [1]byte
	n, _ := f.ReadAt(last[:], fi.Size()-1)
	return n == 1 && last[0] != '\n'
}

// tail returns the end of a text that fits into an event, from a whole character.
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
