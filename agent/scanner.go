package agent

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// scanner walks through a line of JSON and decodes only what is requested. Most of a line is a
// message's text, maybe megabytes: strings are skipped by searching for their ends. Skipped parts
// are not validated.
type scanner struct {
	text []byte
	at   int
	over bool // the rest is not JSON, or not needed
}

// stop ends the walk: the rest of the line is not needed.
func (s *scanner) stop() { s.over = true }

// object calls each for the members of an object, with their raw keys. each takes the value with
// another method, or leaves it. It skips a value that is not an object.
func (s *scanner) object(each func(key []byte)) {
	s.members('{', '}', func() {
		key := s.value()
		if s.next() != ':' || len(key) < 2 {
			s.stop()
			return
		}
		s.at++
		s.next()
		if at := s.at; !s.over {
			if each(key[1 : len(key)-1]); s.at == at {
				s.skip()
			}
		}
	})
}

// array calls each for the elements of an array; each must take the element. It skips a value that
// is not an array.
func (s *scanner) array(each func()) { s.members('[', ']', each) }

func (s *scanner) members(begin, end byte, each func()) {
	if s.next() != begin {
		s.skip()
		return
	}
	s.at++
	if s.next() == end {
		s.at++
		return
	}
	for !s.over {
		each()
		switch c := s.next(); {
		case c == end:
			s.at++
			return
		case c != ',':
			s.stop()
		}
		s.at++
	}
}

// whole reports whether the scanner is at the end of a valid line.
func (s *scanner) whole() bool {
	s.next()
	return !s.over && s.at == len(s.text)
}

// next returns the next byte that is not a space, or 0 at the end.
func (s *scanner) next() byte {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// value returns the text of a value.
func (s *scanner) value() []byte {
	s.next()
	from := s.at
	s.skip()
	if s.over {
		return nil
	}
	return s.text[from:s.at]
}

// skip skips a value.
func (s *scanner) skip() {
	switch s.next() {
	case '"':
		s.skipString()
	case '{', '[':
		for depth := 0; s.at < len(s.text) && !s.over; {
			switch s.text[s.at] {
			case '"':
				s.skipString()
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if s.at++; depth == 0 {
				return
			}
		}
		s.stop()
	default:
		n := bytes.IndexAny(s.text[s.at:], ",]} \t\r\n")
		if n < 0 {
			n = len(s.text) - s.at
		}
		if s.at += n; n == 0 {
			s.stop()
		}
	}
}

func (s *scanner) skipString() {
	for at := s.at + 1; ; {
		n := bytes.IndexByte(s.text[at:], '"')
		if n < 0 {
			s.stop()
			return
		}
		at += n + 1
		escapes := 0
		for s.text[at-2-escapes] == '\\' { // the string's opening quote ends the loop
			escapes++
		}
		if escapes%2 == 0 {
			s.at = at
			return
		}
	}
}

// str returns a string, or "" if the value is not a string.
func (s *scanner) str() string { return unquoted(s.value()) }

func unquoted(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return strings.ToValidUTF8(string(value[1:len(value)-1]), "\ufffd")
	}
	var text string
	_ = json.Unmarshal(value, &text) // an invalid string is empty
	return text
}

// count returns a number of tokens between 0 and a limit that keeps sums of foreign numbers from
// overflowing.
func (s *scanner) count() int64 {
	value := string(s.value())
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(f) {
			return 0
		}
		n = int64(min(max(f, 0), mostTokens))
	}
	return bounded(n)
}

func bounded(n int64) int64 { return min(max(n, 0), mostTokens) }

const mostTokens = 1 << 40

// time returns a time, or zero if the value is not a time.
func (s *scanner) time() time.Time {
	value := s.value()
	if len(value) < 2 {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, string(value[1:len(value)-1]))
	if err != nil {
		return time.Time{}
	}
	return at
}
