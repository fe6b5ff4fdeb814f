// Package logs reads the logs of agents: their own session files, else the recorded screens.
package logs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/sessionfile"
	"github.com/agentform/agentform/session"
)

// Options select a part of a log.
type Options struct {
	Follow bool // additions are printed later
	Screen bool // the recorded screens instead of the session file
	Tail   Tail
	Style  view.Style
}

// Open returns the log of a session, to be printed to out.
func Open(p *project.Project, r session.Record, o Options, out io.WriteCloser) *Log {
	return &Log{Options: o, out: out, record: r, path: filepath.Join(p.SessionDir(r), history.TranscriptName),
		adapter: agent.For(r.Spec.Agent), lookup: p.Activity().Lookup(r)}
}

// Log is the log of one session: its agent's session file, else its recorded screens.
type Log struct {
	Options
	out     io.WriteCloser
	record  session.Record
	path    string // of the transcript
	adapter session.Agent
	lookup  session.Lookup

	reader sessionfile.Reader
	native bool // the agent keeps a session file
	place  sessionfile.Place
	at     int64 // in the transcript
}

// entries returns the entries added since the last call. cut reports whether some are missing.
func (l *Log) entries() (entries []session.Entry, path string, cut bool, err error) {
	transcript, err := l.reader.Read(l.adapter, l.record.Run.ID, l.lookup)
	if err != nil {
		return nil, "", false, fmt.Errorf("read the session file of %s: %w", l.record.Address, err)
	}
	if transcript == nil {
		return nil, "", false, nil
	}
	lines, place, cut, err := l.reader.More(l.adapter, l.record.Run.ID, l.lookup, l.place)
	if err != nil {
		return nil, "", false, err
	}
	l.place = place
	return sessionfile.Entries(l.adapter, lines), transcript.Path, cut, nil
}

// Document returns the log for a document.
func (l *Log) Document() view.Tail {
	x := view.Tail{Address: l.record.Address}
	if !l.Screen {
		entries, path, cut, err := l.entries()
		if err != nil || len(entries) > 0 {
			x.Entries, x.Path, x.Err = Last(l.Tail, entries), path, err
			x.Truncated = cut || len(x.Entries) < len(entries)
			return x
		}
	}
	x.Text, _, x.Err = transcriptEnd(l.path)
	x.Text = LastLines(l.Tail, x.Text)
	return x
}

// Print prints the log. note gets further remarks.
func (l *Log) Print(note func(string)) error {
	if !l.Screen {
		entries, path, cut, err := l.entries()
		if err != nil {
			return err
		}
		if l.native = len(entries) > 0 || path != "" && l.Follow; l.native {
			shown := Last(l.Tail, entries)
			if cut && len(shown) == len(entries) {
				note(fmt.Sprintf("(the middle is left out; the whole file: %s)", plaintext.Safe(path)))
			}
			return view.Entries(l.out, l.Style, shown, time.Now())
		}
	}
	n, err := printTranscript(l.out, l.path, l.Tail)
	if err != nil {
		return err
	}
	if l.at = n; n == 0 && !l.Follow {
		note(fmt.Sprintf("%s: no log yet. For the screen: agentform capture %s", l.record.Address, target.Quoted(l.record.Address)))
	}
	return l.out.Close()
}

// More prints the additions. An agent without a session file may have one by now.
func (l *Log) More() error {
	if l.Screen {
		return l.moreScreens()
	}
	entries, path, _, err := l.entries()
	if err != nil {
		return err
	}
	if l.native = l.native || path != ""; !l.native {
		return l.moreScreens()
	}
	return view.Entries(l.out, l.Style, entries, time.Now())
}

// moreScreens prints the additions, starting with those in a rotated transcript.
func (l *Log) moreScreens() error {
	if info, err := os.Stat(l.path); err == nil && info.Size() < l.at {
		if _, err := printFrom(l.out, l.path+".1", l.at); err != nil {
			return err
		}
		l.at = 0
	}
	n, err := printFrom(l.out, l.path, l.at)
	l.at += n
	return err
}

// Tail is the number of items at the end to return; below 0: all.
type Tail int

// Last returns the last items.
func Last[T any](t Tail, items []T) []T {
	if t < 0 || int(t) >= len(items) {
		return items
	}
	return items[len(items)-int(t):]
}

// LastLines returns the last lines of a text.
func LastLines(t Tail, text string) string {
	return strings.Join(Last(t, slices.Collect(strings.Lines(text))), "")
}

// printTranscript returns how many bytes of the newest file it read.
func printTranscript(w io.Writer, path string, tail Tail) (n int64, err error) {
	if tail >= 0 {
		text, n, err := transcriptEnd(path)
		if err == nil {
			_, err = io.WriteString(w, plaintext.Safe(LastLines(tail, text)))
		}
		return n, err
	}
	for _, file := range transcripts(path) {
		if n, err = printFrom(w, file, 0); err != nil {
			return n, err
		}
	}
	return n, nil
}

// transcripts returns the files of a transcript, the oldest first. apply rotates them.
func transcripts(path string) []string { return []string{path + ".3", path + ".2", path + ".1", path} }

// transcriptEnd returns more than is shown, so that its caller can detect a cut.
func transcriptEnd(path string) (text string, newest int64, err error) {
	for _, file := range slices.Backward(transcripts(path)) {
		part, size, err := readEnd(file, 0, int64(2*session.TailLimit-len(text)))
		if err != nil {
			return "", 0, err
		}
		if text = part + text; file == path {
			newest = size
		}
	}
	return text, newest, nil
}

// maxPrinted exceeds every transcript that agentform writes.
const maxPrinted = 64 << 20

// printFrom returns how many bytes were added since the offset.
func printFrom(w io.Writer, path string, at int64) (int64, error) {
	text, size, err := readEnd(path, at, maxPrinted)
	if err != nil || size <= at {
		return 0, err
	}
	_, err = io.WriteString(w, plaintext.Safe(text))
	return size - at, err
}

// readEnd also returns the file's size. A file that does not exist is empty.
func readEnd(path string, at, most int64) (text string, size int64, err error) {
	f, err := layout.OpenRegular(path, syscall.O_NOFOLLOW)
	if errors.Is(err, os.ErrNotExist) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("read the transcript: %w", err)
	}
	defer f.Close()
	if size, err = f.Seek(0, io.SeekEnd); err != nil {
		return "", 0, fmt.Errorf("read the transcript: %w", err)
	}
	from := max(min(at, size), size-most)
	b, err := io.ReadAll(io.NewSectionReader(f, from, size-from))
	if err != nil {
		return "", 0, fmt.Errorf("read the transcript: %w", err)
	}
	return string(b), size, nil
}
