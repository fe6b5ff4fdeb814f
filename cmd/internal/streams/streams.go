// Package streams is what a command reads from and writes to: its standard streams, how text
// looks on them, questions to the user, the pager, and Ctrl-C.
package streams

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
	"golang.org/x/sys/unix"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/session"
)

// Streams are the standard streams of a command.
type Streams struct {
	In               io.Reader
	Out, Err         io.Writer // data; everything else
	Environ          environ.Vars
	Fixed            *view.Style // of Out; nil: as it is a terminal or not
	ShellDir         string      // what paths are relative to where they are printed; without links
	JSON             bool        // Out gets JSON
	NoColor, NoPager bool
}

// OutStyle returns how text on Out looks.
func (s *Streams) OutStyle() view.Style { return s.Style(s.Out) }

// ErrStyle returns how text on Err looks.
func (s *Streams) ErrStyle() view.Style { return s.Style(s.Err) }

// Style returns how text for a writer looks.
func (s *Streams) Style(w io.Writer) view.Style {
	style := view.StyleFor(w, s.NoColor, s.Environ)
	if s.Fixed != nil && w == s.Out {
		style = *s.Fixed
	}
	style.Dir = s.ShellDir
	return style
}

// Warn prints problems to Err.
func (s *Streams) Warn(problems []session.Diagnostic) {
	_ = view.Diagnostics(s.Err, s.ErrStyle(), problems) // as fmt.Fprint: nothing else could tell
}

// Say writes a line to Err, wrapped to the terminal.
func (s *Streams) Say(text string) {
	_ = view.Prose(s.Err, s.ErrStyle(), text) // as fmt.Fprint: nothing else could tell
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && isatty.IsTerminal(f.Fd())
}

// ReaderGone reports whether nobody reads what is written, so that a command that follows
// something ends before its next write.
func ReaderGone(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1 && fds[0].Revents&unix.POLLERR != 0
}
