package view

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// Many is the outcome of a command for several sessions.
type Many struct {
	Verb                        string // stopped, sent to
	Done, All                   int    // sessions
	Failed, Skipped, Held, Left int    // Left: not begun, because of an interruption
	Unchanged                   int
}

func (m Many) String() string {
	text := fmt.Sprintf("%s %d of %s", m.Verb, m.Done, plaintext.Count(m.All, "session"))
	if m.Done == m.All {
		text = m.Verb + " " + plaintext.Count(m.All, "session")
	}
	var rest []string
	for _, x := range []struct {
		n    int
		word string
	}{{m.Failed, "failed"}, {m.Skipped, "skipped"}, {m.Held, "held"}, {m.Unchanged, "unchanged"}, {m.Left, "not begun"}} {
		if x.n > 0 {
			rest = append(rest, fmt.Sprintf("%d %s", x.n, x.word))
		}
	}
	if len(rest) > 0 {
		text += "; " + strings.Join(rest, ", ")
	}
	return text
}

// Summaries writes errors, then the outcome of all sessions. Errors that were already reported take
// one line.
func Summaries(w io.Writer, s Style, m Many, errs []error) error {
	p := &page{Style: s}
	writeReported(p, errs)
	color := green
	if len(errs) > 0 || m.Failed+m.Skipped+m.Left > 0 {
		color = red
		p.blank()
	}
	p.line(p.paint(color, m.String()))
	return p.flush(w)
}

// writeReported writes errors, on one line if they were already reported.
func writeReported(p *page, errs []error) {
	for _, err := range flat(errs) {
		var told interface{ Reported() string }
		if errors.As(err, &told) {
			err = errors.New(told.Reported())
		}
		writeDiagnostic(p, diagnosticsOf([]error{err})[0])
	}
}

// Line writes one line about a session.
func Line(w io.Writer, s Style, a session.Address, text string) error {
	p := &page{Style: s}
	p.line(p.paint(bold, string(a)+":"), " ", p.paint(noInk, plaintext.OneLine(text)))
	return p.flush(w)
}

// Title writes the line above the output for one of several sessions.
func Title(w io.Writer, s Style, a session.Address) error {
	p := &page{Style: s}
	p.line(p.paint(bold, "==> "+plaintext.OneLine(string(a))+" <=="))
	return p.flush(w)
}

// Sent is the outcome of a text or key for one session.
type Sent struct {
	Address session.Address
	Outcome string // sent, queued, failed
	Err     error
}

// SentJSON writes the outcomes of a text or key as one document.
func SentJSON(w io.Writer, all []Sent) error {
	sent := make([]wire.Object, len(all))
	for i, x := range all {
		sent[i] = wire.Object{"address", x.Address, "outcome", x.Outcome, "error", failure(x.Err)}
	}
	return document(w, "sent", sent)
}

func failure(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Tail is the end of a session's screen or log.
type Tail struct {
	Address   session.Address
	Text      string          // of a screen or transcript
	Path      string          // of the agent's session file; empty: only Text is set
	Entries   []session.Entry // of that file
	Truncated bool
	Err       error
}

// TailText writes the end of a session's text, with titled below the session's name. truncated is true
// if the text was longer than the limit.
func TailText(w io.Writer, s Style, x Tail, titled bool) (truncated bool, err error) {
	tail, truncated := wire.Tail(plaintext.Safe(x.Text))
	if titled {
		err = Title(w, s, x.Address)
	}
	if err == nil && tail != "" {
		_, err = io.WriteString(w, tail+"\n")
	}
	return truncated, err
}

// TailsJSON writes the tails of several sessions as one document.
func TailsJSON(w io.Writer, all []Tail) error {
	sessions := make([]wire.Object, len(all))
	for i, x := range all {
		sessions[i] = x.fields()
		if x.Err != nil {
			sessions[i] = wire.Object{"address", x.Address, "error", x.Err.Error()}
		}
	}
	return document(w, "sessions", sessions)
}

// TailJSON writes the tail of one session as one document.
func TailJSON(w io.Writer, x Tail) error { return document(w, x.fields()...) }

func (x Tail) fields() wire.Object {
	if x.Path != "" {
		last, cut := status.LastEntries(x.Entries, 0)
		return wire.Object{"address", x.Address, "path", x.Path, "entries", last, "truncated", x.Truncated || cut}
	}
	tail, truncated := wire.Tail(x.Text)
	return wire.Object{"address", x.Address, "text", tail, "truncated", truncated}
}

// maxLine bounds the buffer for an incomplete line.
const maxLine = 64 << 10

// prefixInks distinguish sessions.
var prefixInks = []ink{cyan, yellow, green, magenta, blue, "96", "93", "92", "95", "94"}

// Prefixes writes the lines of several sessions to a writer, each after the session's name. It is
// safe for concurrent use.
type Prefixes struct {
	mu    sync.Mutex
	w     io.Writer
	heads []string
}

// NewPrefixes returns the Prefixes for sessions with these names.
func NewPrefixes(w io.Writer, s Style, names []string) *Prefixes {
	x, g, wide := &Prefixes{w: w}, glyphs(), 0
	for _, name := range names {
		wide = max(wide, g.StringWidth(plaintext.OneLine(name)))
	}
	for i, name := range names {
		name = plaintext.OneLine(name)
		name += strings.Repeat(" ", wide-g.StringWidth(name))
		x.heads = append(x.heads, s.paint(prefixInks[i%len(prefixInks)], name+" |"))
	}
	return x
}

// Writer returns a writer for the lines of session i. Close writes an incomplete last line.
func (x *Prefixes) Writer(i int) io.WriteCloser { return &prefixed{all: x, head: x.heads[i]} }

type prefixed struct {
	all  *Prefixes
	head string
	rest []byte // of a line
}

func (x *prefixed) Write(b []byte) (int, error) {
	x.all.mu.Lock()
	defer x.all.mu.Unlock()
	x.rest = append(x.rest, b...)
	var text strings.Builder
	end := strings.LastIndexByte(string(x.rest), '\n') + 1
	if end == 0 && len(x.rest) > maxLine {
		end = len(x.rest)
	}
	for line := range strings.Lines(string(x.rest[:end])) {
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			line = " " + line
		}
		text.WriteString(x.head + line + "\n")
	}
	x.rest = append(x.rest[:0], x.rest[end:]...)
	if text.Len() > 0 {
		if _, err := io.WriteString(x.all.w, text.String()); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func (x *prefixed) Close() error {
	if len(x.rest) == 0 {
		return nil
	}
	_, err := x.Write([]byte("\n"))
	return err
}
