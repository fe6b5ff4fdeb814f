package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// TranscriptName is the file with a session's screens. Older ones have the suffixes .1, .2,
// .3.
const TranscriptName = "transcript.log"

// Limits of a transcript: 4 × 16 MiB.
const (
	transcriptSize  = 16 << 20
	transcriptFiles = 4
)

// AppendScreen appends a run's screen, unless it is empty, to the transcript in the session's
// directory. Many processes can call it at once.
func AppendScreen(dir string, at time.Time, run, why, screen string) error {
	screen = withoutGaps(screen)
	if screen == "" {
		return nil
	}
	text := fmt.Sprintf("--- %s run %s: %s\n%s\n", at.Format(time.RFC3339), run, why, tail(screen))
	if err := appendTranscript(filepath.Join(dir, TranscriptName), text, transcriptSize); err != nil {
		return fmt.Errorf("append the screen to the transcript: %w", err)
	}
	return nil
}

// LastScreen returns the last screen in the transcript in a session's directory; empty: there is none.
func LastScreen(dir string) string {
	f, err := openRead(filepath.Join(dir, TranscriptName))
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	b := make([]byte, min(info.Size(), 2*session.TailLimit))
	n, _ := f.ReadAt(b, info.Size()-int64(len(b))) // what can be read is the end
	text := "\n" + string(b[:n])
	heads := screenHead.FindAllStringIndex(text, -1)
	if len(heads) == 0 {
		return ""
	}
	return strings.TrimRight(text[heads[len(heads)-1][1]:], "\n")
}

// screenHead is the line above a screen in a transcript.
var screenHead = regexp.MustCompile(`\n--- \S+ run \S+: .*\n`)

func withoutGaps(text string) string {
	var kept []string
	blank := true // drop those at the beginning
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " ")
		if line != "" || !blank {
			kept = append(kept, line)
		}
		blank = line == ""
	}
	return strings.TrimRight(strings.Join(kept, "\n"), "\n")
}

// appendTranscript renames a full file to .1 first, .1 to .2 and so on.
func appendTranscript(path, text string, size int64) error {
	for {
		f, err := openLocked(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		full := err == nil && info.Size() > 0 && info.Size()+int64(len(text)) > size
		switch {
		case full:
			err = rotate(path)
		case err == nil:
			_, err = f.WriteString(text)
		}
		if err = errors.Join(err, f.Close()); err != nil || !full {
			return err
		}
	}
}

func rotate(path string) error {
	for n := transcriptFiles - 1; n > 1; n-- {
		if err := os.Rename(fmt.Sprintf("%s.%d", path, n-1), fmt.Sprintf("%s.%d", path, n)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return os.Rename(path, path+".1")
}
