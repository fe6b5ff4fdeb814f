package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Trim takes the events that happened before a time out of the history in the
// session's folder, and returns how many. Nothing is written as long as the
// first event is not older.
func Trim(folder string, before time.Time) (int, error) {
	path := filepath.Join(folder, fileName)
	if old, err := begins(path, before); err != nil || !old {
		return 0, err
	}
	taken := 0
	err := rewrite(path, func(text []byte) []byte {
		kept := make([]byte, 0, len(text))
		for line := range bytes.Lines(text) {
			if e, ok := parse(line); ok && e.Time.Before(before) {
				taken++
				continue
			}
			kept = append(kept, line...)
		}
		return kept
	})
	if err != nil {
		return 0, fmt.Errorf("trim history: %w", err)
	}
	return taken, nil
}

// begins reports whether the first event of a history happened before a time.
func begins(path string, before time.Time) (bool, error) {
	f, err := openRead(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("trim history: %w", err)
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, readLimit)).ReadBytes('\n')
	if err != nil {
		return false, nil // empty, or its only line is under way
	}
	var first struct{ Time time.Time }
	return json.Unmarshal(line, &first) == nil && first.Time.Before(before), nil
}
