package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// sizeLimit is the size in bytes from which a history is shortened to half: an agent whose
// screen changes all day would fill the disk.
const sizeLimit = 1 << 20

// bound shortens a history that is too large. The caller must not have it locked.
func bound(path string) {
	if fi, err := os.Stat(path); err != nil || fi.Size() <= sizeLimit {
		return
	}
	_ = rewrite(path, func(text []byte) []byte {
		if len(text) <= sizeLimit { // another process did it
			return nil
		}
		return shortened(text)
	})
}

// rewrite replaces the text of a history by that of change, unless that is nil. What others
// append meanwhile is kept. They do not wait for the disk: the history is locked only when
// the new text has been synced.
func rewrite(path string, change func(text []byte) []byte) error {
	for {
		if done, err := rewriteOnce(path, change); done || err != nil {
			return err
		}
	}
}

// rewriteOnce reports false if another process replaced the history meanwhile.
func rewriteOnce(path string, change func(text []byte) []byte) (done bool, err error) {
	old, err := openRead(path)
	if err != nil {
		return false, err
	}
	defer old.Close()
	lines, from, err := linesFrom(old, 0)
	if err != nil {
		return false, err
	}
	text, err := io.ReadAll(lines)
	if err != nil {
		return false, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1] // somebody may be writing the rest
	end := from + int64(len(text))
	if text = change(text); text == nil {
		return true, nil
	}
	replacement, err := os.CreateTemp(filepath.Dir(path), "."+fileName+"*")
	if err != nil {
		return false, err
	}
	defer func() {
		err = errors.Join(err, replacement.Close())
		if !done {
			err = errors.Join(err, os.Remove(replacement.Name()))
		}
	}()
	if _, err := replacement.Write(text); err != nil {
		return false, err
	}
	if err := replacement.Sync(); err != nil {
		return false, err
	}
	now, err := openLocked(path, os.O_RDWR)
	if err != nil {
		return false, err
	}
	defer now.Close()
	if same, err := sameFile(old, now); err != nil || !same {
		return false, err
	}
	if _, err := now.Seek(end, io.SeekStart); err != nil {
		return false, err
	}
	if _, err := io.Copy(replacement, now); err != nil {
		return false, err
	}
	if err := os.Rename(replacement.Name(), path); err != nil {
		return false, err
	}
	return true, nil
}

func sameFile(a, b *os.File) (bool, error) {
	x, err := a.Stat()
	if err != nil {
		return false, err
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y), err
}

// shortened returns at most half of sizeLimit: the newest events, and of older ones, without
// their excerpts, those that still count.
func shortened(text []byte) []byte {
	lines := slices.Collect(bytes.Lines(text))
	recent, size := len(lines), 0
	for recent > 0 && size+len(lines[recent-1]) <= sizeLimit/4 {
		recent--
		size += len(lines[recent])
	}
	kept := make([][]byte, 0, len(lines))
	decisive, others := sizeLimit/8, sizeLimit/8
	seen := map[string]bool{}
	for i := recent - 1; i >= 0; i-- {
		e, ok := parse(lines[i])
		if !ok {
			continue
		}
		// The last of each kind is the current state, and a pull request is reported once.
		room := &others
		if what := fmt.Sprint(e.Kind, " ", e.Reason); !seen[what] || e.Kind.Once() {
			seen[what] = true
			room = &decisive
		} else if !counts(e.Kind) {
			continue
		}
		line := lines[i]
		if e.Excerpt != "" || e.Question != nil {
			e.Excerpt, e.Question = "", nil
			short, _ := json.Marshal(e) // it was parsed
			line = append(short, '\n')
		}
		if len(line) <= *room {
			*room -= len(line)
			kept = append(kept, line)
		}
	}
	slices.Reverse(kept)
	return slices.Concat(append(kept, lines[recent:]...)...)
}

// counts reports whether restarts are counted from such events, or people need them after
// weeks.
func counts(k Kind) bool {
	switch k {
	case StatusChanged, ApplyProgress, Sent, Observable, FirstTurnDone, IOAttached, Ready, WorkspaceReady, PromptDelivered,
		TurnEnded, ClientAttached, ClientDetached:
		return false
	}
	return true
}
