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

// sizeLimit is how large a history may become. One that is larger is shortened to half
// of that: an agent whose screen changes all day would fill the disk, and a history is
// read as a whole.
const sizeLimit = 1 << 20

// bound shortens the history at a path if it is larger than most. The caller must not
// have it locked. A history that cannot be shortened, for want of space, stays as it is.
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

// rewrite replaces the text of a history by what change returns of it, while no event
// is added; nil: it stays as it is.
func rewrite(path string, change func(text []byte) []byte) (err error) {
	f, err := openLocked(path, os.O_RDWR, exclusive)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := end(f, mostRead)
	if err != nil {
		return err
	}
	if text = change(text); text == nil {
		return nil
	}
	return renameio.WriteFile(path, text, 0o600)
}

// mostRead bounds what is read of a history that is rewritten, whatever its size: the
// rest is lost then.
const mostRead = readLimit

// end returns the last bytes of a file, from the beginning of a line on.
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

// shortened returns at most half as many bytes of a history as it may have: the newest
// events as they are, and of older ones, without their excerpts, those that somebody
// may still ask for.
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
		// The last of its kind says how things stand, and a pull request is told once.
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

// counts reports whether restarts are counted from events of a kind, or somebody may
// look for one after weeks.
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
