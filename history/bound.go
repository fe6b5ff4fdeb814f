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

// sizeLimit is the size of a history in bytes from which it is shortened to half: an agent
// whose screen changes all day would fill the disk.
const sizeLimit = 1 << 20

// bound shortens the history at a path if it is larger than most, and if there is space to.
// The caller must not have it locked.
func bound(path string, most int64) {
	if fi, err := os.Stat(path); err != nil || fi.Size() <= most {
		return
	}
	_ = rewrite(path, func(text []byte) []byte {
		if int64(len(text)) <= most { // another process did it
			return nil
		}
		return shortened(text, int(most))
	})
}

// rewrite replaces the text of a history by the result of change, unless that is nil. No
// event is appended meanwhile.
func rewrite(path string, change func(text []byte) []byte) (err error) {
	f, err := openLocked(path, os.O_RDWR, exclusive)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := end(f, readLimit)
	if err != nil {
		return err
	}
	if text = change(text); text == nil {
		return nil
	}
	return renameio.WriteFile(path, text, 0o600)
}

// end returns at most the last bytes of a file, from the beginning of a line.
func end(f *os.File, most int64) ([]byte, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, fi.Size()-most)
	text, err := io.ReadAll(io.NewSectionReader(f, from, fi.Size()-from))
	if err != nil {
		return nil, err
	}
	if from > 0 {
		_, text, _ = bytes.Cut(text, []byte{'\n'})
	}
	return text, nil
}

// shortened returns at most half of most bytes of a history: the newest events, and of
// older ones, without their excerpts, those that still count.
func shortened(text []byte, most int) []byte {
	lines := slices.Collect(bytes.Lines(text))
	recent, size := len(lines), 0
	for recent > 0 && size+len(lines[recent-1]) <= most/4 {
		recent--
		size += len(lines[recent])
	}
	kept := make([][]byte, 0, len(lines))
	decisive, others := most/8, most/8
	seen := map[string]bool{}
	for i := recent - 1; i >= 0; i-- {
		e, ok := parse(lines[i])
		if !ok {
			continue
		}
		// The last of each kind is the current state, and a pull request is reported once.
		room := &others
		if what := fmt.Sprint(e.Kind, " ", e.Reason); !seen[what] || e.Kind == PRDetected {
			seen[what] = true
			room = &decisive
		} else if !counts(e.Kind) {
			continue
		}
		line := withoutExcerpt(lines[i], e)
		if len(line) <= *room {
			*room -= len(line)
			kept = append(kept, line)
		}
	}
	slices.Reverse(kept)
	return slices.Concat(append(kept, lines[recent:]...)...)
}

// counts reports whether events of a kind are needed to count restarts, or by people after
// weeks.
func counts(k Kind) bool {
	switch k {
	case StatusChanged, ApplyProgress, Sent, Observable, FirstTurnDone, IOAttached, Ready, WorkspaceReady, PromptDelivered,
		TurnEnded, ClientAttached, ClientDetached:
		return false
	}
	return true
}

func withoutExcerpt(line []byte, e Event) []byte {
	if e.Excerpt == "" {
		return line
	}
	e.Excerpt = ""
	short, err := json.Marshal(e)
	if err != nil {
		return line
	}
	return append(short, '\n')
}
