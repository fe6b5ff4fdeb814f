package activity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/echo"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// typedFile, in a run directory, has a digest of each text that the run was sent,
// one a line: a text may be a secret.
const typedFile = "typed.jsonl"

// typedTail is how many bytes of its end are read: only the last texts still show.
const typedTail = 64 << 10

// typed is a line of typedFile.
type typed struct {
	At   time.Time `json:"at"`
	Text echo.Text `json:"text"`
}

// Note records the digest of a text before it is typed, so that it is not read from
// the screen as the outcome.
func (r *Reader) Note(run, text string, at time.Time) error {
	recognized := echo.Of(text, rand.Uint64())
	if run == "" || len(recognized.Lines) == 0 {
		return nil
	}
	line, err := json.Marshal(typed{at.UTC(), recognized})
	if err != nil {
		return fmt.Errorf("note what is typed: %w", err)
	}
	folder := filepath.Join(r.runs, run)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("note what is typed: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(folder, typedFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return fmt.Errorf("note what is typed: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("note what is typed: %w", err)
	}
	return nil
}

// given returns the texts that a run was sent, its prompt first, and when it was
// last sent one. What cannot be read is left out.
func (r *Reader) given(rec session.Record) ([]echo.Text, time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.run(rec.Run.ID)
	if p := rec.Spec.Prompt; s.prompt != p.Digest+p.Text {
		s.prompt, s.typed = p.Digest+p.Text, nil
		text := p.Text
		if text == "" && p.Digest != "" {
			text, _ = state.Blobs{Dir: filepath.Join(filepath.Dir(r.runs), "blobs")}.Get(p.Digest) // gone: its echo is read
		}
		if known := echo.Of(text, rand.Uint64()); len(known.Lines) > 0 {
			s.typed = append(s.typed, known)
		}
		s.own, s.sent = len(s.typed), 0
	}
	path := filepath.Join(r.runs, rec.Run.ID, typedFile)
	info, err := os.Lstat(path)
	if rec.Run.ID == "" || err != nil || !info.Mode().IsRegular() || info.Size() == s.sent {
		return s.typed, s.sentAt
	}
	s.sent, s.typed = info.Size(), s.typed[:s.own:s.own]
	for _, t := range readTyped(path) {
		s.typed, s.sentAt = append(s.typed, t.Text), t.At
	}
	return s.typed, s.sentAt
}

// readTyped reads the end of typedFile and skips invalid lines.
func readTyped(path string) []typed {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	from := max(0, info.Size()-typedTail)
	b, err := io.ReadAll(io.NewSectionReader(f, from, typedTail))
	if err != nil {
		return nil
	}
	if from > 0 {
		_, b, _ = bytes.Cut(b, []byte("\n"))
	}
	var all []typed
	for line := range bytes.Lines(b) {
		var t typed
		if json.Unmarshal(line, &t) == nil && len(t.Text.Lines) > 0 {
			all = append(all, t)
		}
	}
	return all
}
