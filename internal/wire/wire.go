// Package wire encodes the values of JSON documents.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// Object is a JSON object: its keys, each followed by its value, in the order of writing.
type Object []any

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, v := range o {
		if i > 0 {
			b.WriteByte(",:"[i%2])
		}
		if err := e.Encode(v); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Write writes a value as an indented JSON document. Control characters are escaped.
func Write(w io.Writer, v any) error { return encode(w, v, "  ") }

// WriteLine writes a value as one line of JSON.
func WriteLine(w io.Writer, v any) error { return encode(w, v, "") }

func encode(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encode %T: %w", v, err)
	}
	_, err := w.Write(escape(b.Bytes()))
	return err
}

// escape replaces the characters that a terminal would act on by \uXXXX.
func escape(b []byte) []byte {
	found := func(r rune) bool { return r != '\n' && plaintext.Harmful(r) }
	if bytes.IndexFunc(b, found) < 0 {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		if found(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

// Tail returns the end of a text, at most session.TailLimit bytes of valid UTF-8 from the
// start of a line, and whether it was cut.
func Tail(text string) (tail string, truncated bool) {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= session.TailLimit {
		return text, false
	}
	whole := text[len(text)-session.TailLimit-1] == '\n'
	tail = text[len(text)-session.TailLimit:]
	if _, rest, ok := strings.Cut(tail, "\n"); ok && !whole && rest != "" {
		return rest, true
	}
	for !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return tail, true
}

// UTC returns a time as JSON documents give it, to the millisecond.
func UTC(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// UTCOrNil returns the time as UTC does, and nil for the zero time.
func UTCOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = UTC(t)
	return &t
}

// Seconds returns a duration as a number, to the millisecond.
func Seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// List returns a slice that is never null in JSON.
func List[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
