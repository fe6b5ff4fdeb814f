package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// TranscriptName is the file in a session's folder that its screens are kept in, the
// newest last; older ones are in files named so and .1, .2 and .3.
const TranscriptName = "transcript.log"

// A transcript is kept in at most transcriptFiles files of transcriptSize bytes:
// "4 × 16 MiB".
const (
	transcriptSize  = 16 << 20
	transcriptFiles = 4
)

// Keep appends to the transcript in the session's folder what the screen of a run shows,
// at most session.TailLimit bytes of it, and why it is kept. A screen that shows nothing
// is not kept. Many processes may do so at once.
func Keep(folder string, at time.Time, run, why, screen string) error {
	screen = withoutGaps(screen)
	if screen == "" {
		return nil
	}
	text := fmt.Sprintf("--- %s run %s: %s\n%s\n", at.Format(time.RFC3339), run, why, tail(screen))
	if err := appendTranscript(filepath.Join(folder, TranscriptName), text, transcriptSize); err != nil {
		return fmt.Errorf("keep the screen in the transcript: %w", err)
	}
	return nil
}

// withoutGaps is a screen with no more than one blank line at a time: what a
// terminal shows between the end of the output and its own last line is empty.
func withoutGaps(text string) string {
	var kept []string
	blank := true // none at the beginning
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " ")
		if line != "" || !blank {
			kept = append(kept, line)
		}
		blank = line == ""
	}
	return strings.TrimRight(strings.Join(kept, "\n"), "\n")
}

// appendTranscript appends to the file, moving it aside first when it would
// grow past the size: to .1, what was .1 to .2, and the oldest away.
func appendTranscript(path, text string, size int64) error {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	for {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
		if err != nil {
			return err
		}
		again, err := appendLocked(f, path, text, size)
		err = errors.Join(err, f.Close())
		if !again || err != nil {
			return err
		}
	}
}

// appendLocked appends to the file that is open, if it still is the one at path and has
// room; again says that it was moved aside.
func appendLocked(f *os.File, path, text string, size int64) (again bool, err error) {
	if err := await(f); err != nil {
		return false, err
	}
	ours, err := f.Stat()
	if err != nil {
		return false, err
	}
	if !ours.Mode().IsRegular() {
		return false, fmt.Errorf("%s is not a regular file (%s): move it away", path, ours.Mode())
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(ours, now) {
		return true, nil // somebody else did
	}
	if ours.Size() > 0 && ours.Size()+int64(len(text)) > size {
		return true, rotate(path)
	}
	_, err = f.WriteString(text)
	return false, err
}

func rotate(path string) error {
	for n := transcriptFiles - 1; n > 0; n-- {
		from := path
		if n > 1 {
			from = fmt.Sprintf("%s.%d", path, n-1)
		}
		if err := os.Rename(from, fmt.Sprintf("%s.%d", path, n)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
