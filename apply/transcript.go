package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// A transcript is kept in at most transcriptFiles files of transcriptSize bytes:
// "4 × 16 MiB".
const (
	transcriptSize  = 16 << 20
	transcriptFiles = 4
)

// keepTranscript appends what the session's screen showed to its transcript,
// before that screen is taken away. A place that is gone shows nothing; a
// transcript that cannot be written is a warning, since ending a session must
// also work on a full disk.
func (j *job) keepTranscript(ctx context.Context, rt session.Runtime, p session.Place) {
	text, err := rt.Capture(ctx, p, 0)
	if errors.Is(err, session.ErrGone) || err == nil && strings.TrimSpace(text) == "" {
		return
	}
	if err == nil {
		head := fmt.Sprintf("--- %s run %s: %s", j.run.now().Format(time.RFC3339), j.rec.Run.ID, j.change.Action)
		if j.change.Detail != "" {
			head += ": " + firstLine(j.change.Detail)
		}
		err = appendTranscript(filepath.Join(j.run.Folder(j.rec), "transcript.log"), head+"\n"+withoutGaps(text)+"\n", transcriptSize)
	}
	if err != nil {
		j.run.warn(j.change.Address, "the screen could not be kept in the transcript", err.Error())
	}
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
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 && info.Size()+int64(len(text)) > size {
		for n := transcriptFiles - 1; n > 0; n-- {
			from := path
			if n > 1 {
				from = fmt.Sprintf("%s.%d", path, n-1)
			}
			if err := os.Rename(from, fmt.Sprintf("%s.%d", path, n)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
