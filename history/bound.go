package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/google/renameio/v2"
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

// rewrite replaces the text of a history by that of change, unless that is nil.
func rewrite(path string, change func(text []byte) []byte) (err error) {
	f, err := openLocked(path, os.O_RDWR, exclusive)
	if err != nil {
		return err
	}
	defer f.Close()
	lines, _, err := linesFrom(f, 0)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(lines)
	if err != nil {
		return err
	}
	if text = change(text); text == nil {
		return nil
	}
	return renameio.WriteFile(path, text, 0o600)
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
