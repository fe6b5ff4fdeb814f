package history

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Trim removes the events before a time, and returns their number. It writes nothing unless
// the first event is older.
func Trim(dir string, before time.Time) (int, error) {
	path := filepath.Join(dir, fileName)
	if old, err := begins(path, before); err != nil || !old {
		return 0, err
	}
	removed := 0
	err := rewrite(path, func(text []byte) []byte {
		removed = 0 // it may be called again
		kept := make([]byte, 0, len(text))
		for line := range bytes.Lines(text) {
			if e, ok := parse(line); ok && e.Time.Before(before) {
				removed++
				continue
			}
			kept = append(kept, line...)
		}
		return kept
	})
	if err != nil {
		return 0, fmt.Errorf("trim history: %w", err)
	}
	return removed, nil
}

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
		return false, nil // empty, or an unfinished line
	}
	first, ok := parse(line)
	return ok && first.Time.Before(before), nil
}
