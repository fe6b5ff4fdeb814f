// Package streams has a command's standard streams, with their text styles, questions to the user,
// the pager, and Ctrl-C.
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
	Fixed            *view.Style // of Out; nil: depends on the terminal
	ShellDir         string      // base of displayed relative paths, without links
	JSON             bool        // Out gets JSON
	NoColor, NoPager bool
}

// OutStyle returns the style of text on Out.
func (s *Streams) OutStyle() view.Style { return s.Style(s.Out) }

// ErrStyle returns the style of text on Err.
func (s *Streams) ErrStyle() view.Style { return s.Style(s.Err) }

// Style returns the style of text for a writer.
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
	_ = view.Diagnostics(s.Err, s.ErrStyle(), problems) // ignored as for fmt.Fprint
}

// Say writes a line to Err, wrapped to the terminal.
func (s *Streams) Say(text string) {
	_ = view.Prose(s.Err, s.ErrStyle(), text) // ignored as for fmt.Fprint
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && isatty.IsTerminal(f.Fd())
}

// ReaderGone reports whether a writer has no reader, so that a command that follows something can
// end before its next write.
func ReaderGone(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1 && fds[0].Revents&unix.POLLERR != 0
}
