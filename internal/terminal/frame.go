package terminal

import "unicode/utf8"

// The marks of a synchronized update (DEC private mode 2026): a terminal shows what is
// between them at once. Without them a screen that is redrawn flickers.
const (
	begin = "\x1b[?2026h"
	end   = "\x1b[?2026l"
)

// Framer cuts the output of one relay into frames. The zero value is at the start of the
// output.
type Framer struct{ state state }

// state is where in an escape sequence or a character a text ends.
type state struct {
	in   part
	left int // bytes of a UTF-8 character that are missing
}

type part int

const (
	ground  part = iota // between characters
	escape              // after ESC
	control             // in ESC [ …
	text                // in ESC ] … and others that end with BEL or ESC \
	textEnd             // after the ESC in text
)

// next returns the state after a byte.
func (s state) next(b byte) state {
	if s.left > 0 && b&0xc0 == 0x80 {
		return state{left: s.left - 1}
	}
	switch {
	case b == 0x18 || b == 0x1a: // CAN and SUB abort a sequence
		return state{}
	case s.in == text && b == 0x07, s.in == textEnd && b == '\\':
		return state{}
	case s.in == text && b != 0x1b:
		return s
	case s.in == text:
		return state{in: textEnd}
	case b == 0x1b:
		return state{in: escape}
	case s.in == escape || s.in == textEnd:
		switch {
		case b == '[':
			return state{in: control}
		case b == ']' || b == 'P' || b == '_' || b == '^' || b == 'X' || b == 'k': // k: a title of screen
			return state{in: text}
		case b >= 0x20 && b < 0x30:
			return state{in: escape}
		}
		return state{}
	case s.in == control:
		if b >= 0x40 && b < 0x7f {
			return state{}
		}
		return s
	case b >= 0xf0:
		return state{left: 3}
	case b >= 0xe0:
		return state{left: 2}
	case b >= 0xc0:
		return state{left: 1}
	}
	return state{}
}

func (s state) whole() bool { return s == state{} }

// Frame returns output as a frame, and what has to wait for the rest of its escape sequence
// or character. The frame is in the marks of a synchronized update, unless it starts or ends
// within a long sequence, which must not be broken.
func (f *Framer) Frame(out []byte) (frame, rest []byte) {
	marked, last, at := f.state.whole(), -1, f.state
	for i, b := range out {
		if at = at.next(b); at.whole() {
			last = i
		}
	}
	if last < 0 { // one sequence that goes on
		if marked && len(out) < utf8.UTFMax+64 {
			return nil, out
		}
		f.state = at
		return out, nil
	}
	frame, rest = out[:last+1], out[last+1:]
	f.state = state{}
	if marked {
		frame = append(append(append(make([]byte, 0, len(frame)+len(begin)+len(end)), begin...), frame...), end...)
	}
	return frame, rest
}
