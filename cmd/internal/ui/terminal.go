package ui

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// screen is the terminal while ui uses it.
type screen struct {
	in, out *os.File
	before  *term.State // nil: the terminal is unchanged
	drawn   []string    // lines on the screen; nil: not known
	size    Size
}

const (
	// The alternate screen, without a cursor, with marked pastes.
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?2004h"
	leaveScreen = "\x1b[0m\x1b[?2004l\x1b[?25h\x1b[?1049l"
)

// take starts to use the terminal.
func (s *screen) take() (err error) {
	if s.before, err = term.MakeRaw(int(s.in.Fd())); err != nil {
		return fmt.Errorf("set up the terminal: %w", err)
	}
	s.drawn = nil
	_, err = s.out.WriteString(enterScreen)
	return err
}

// giveBack restores the terminal. It may be called twice.
func (s *screen) giveBack() error {
	if s.before == nil {
		return nil
	}
	_, err := s.out.WriteString(leaveScreen)
	err = errors.Join(err, term.Restore(int(s.in.Fd()), s.before))
	s.before = nil
	return err
}

// measure returns the size of the terminal.
func (s *screen) measure() Size {
	if w, h, err := term.GetSize(int(s.out.Fd())); err == nil && w > 0 && h > 0 {
		return Size{w, h}
	}
	return Size{80, 24}
}

// draw writes the changed lines in one piece.
func (s *screen) draw(text string, cursor *Cursor, size Size) error {
	lines := strings.Split(text, "\n")
	var b strings.Builder
	b.WriteString("\x1b[?2026h\x1b[?25l") // synchronized output, on terminals that support it
	if s.drawn == nil || size != s.size {
		b.WriteString("\x1b[0m\x1b[2J")
		s.drawn = make([]string, size.Height)
	}
	s.size = size
	for i, l := range lines[:min(len(lines), len(s.drawn))] {
		if l == s.drawn[i] {
			continue
		}
		fmt.Fprintf(&b, "\x1b[%d;1H%s\x1b[0m", i+1, l)
		if width(l) < size.Width {
			b.WriteString("\x1b[K")
		}
		s.drawn[i] = l
	}
	if cursor != nil {
		fmt.Fprintf(&b, "\x1b[%d;%dH\x1b[?25h", cursor.Y+1, cursor.X+1)
	}
	b.WriteString("\x1b[?2026l")
	_, err := s.out.WriteString(b.String())
	return err
}

// escapeTime bounds the wait for the rest of a sequence that starts with Esc.
const escapeTime = 50 * time.Millisecond

// maxPaste bounds a paste without an end.
const maxPaste = 1 << 20

// keys reads keys and pasted text until stop is readable or the terminal is gone, and returns the
// reason.
func keys(in, stop *os.File, tell func(any)) error {
	var pending []byte
	buffer := make([]byte, 4096)
	for {
		wait := -1
		if len(pending) > 0 {
			wait = int(escapeTime.Milliseconds())
		}
		fds := []unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}, {Fd: int32(stop.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, wait)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case fds[1].Revents != 0:
			return nil
		}
		if n > 0 {
			got, err := unix.Read(int(in.Fd()), buffer)
			if err != nil && !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) || err == nil && got == 0 {
				return errors.Join(errGone, err)
			}
			pending = append(pending, buffer[:max(got, 0)]...)
		}
		for {
			message, took := decode(pending, n == 0)
			if took == 0 {
				break
			}
			pending = pending[took:]
			if message != nil {
				tell(message)
			}
		}
		if len(pending) > maxPaste {
			pending = nil
		}
	}
}

var errGone = errors.New("the terminal is gone")
