// Package streams is what a command reads from and writes to: its standard streams, how text
// looks on them, questions to the user, the pager, and Ctrl-C.
package streams

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"golang.org/x/sys/unix"

	"github.com/agentform/agentform/cmd/internal/exit"
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

// Confirm asks a question that yes alone approves. instead is the command line that needs no answer.
func (s *Streams) Confirm(question, instead string) error {
	if !IsTerminal(s.In) {
		return fmt.Errorf("cannot ask for approval: standard input is not a terminal\nuse: %s", instead)
	}
	fmt.Fprintf(s.Err, "\n%s\n  Only 'yes' will be accepted: ", question)
	answer, err := s.Answer()
	if err != nil {
		return err
	}
	if answer != "yes" {
		return errors.New("not approved: no changes made")
	}
	return nil
}

// Answer returns a line of the input without white space around it; "" at its end.
func (s *Streams) Answer() (string, error) {
	text, err := s.ReadLine()
	if errors.Is(err, io.EOF) {
		return text, nil
	}
	return text, err
}

// ReadLine returns a line of the input without white space around it. With io.EOF it is
// one that no line break ends.
func (s *Streams) ReadLine() (string, error) {
	ctx, stop := UntilInterrupted(context.Background())
	defer stop()
	var text string
	typed := make(chan error, 1) // so that the reader, which nothing can call off, can end
	go func() {
		var err error
		text, err = bufio.NewReader(s.In).ReadString('\n')
		typed <- err
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(s.Err)
		return "", exit.Interrupted
	case err := <-typed:
		if err != nil {
			fmt.Fprintln(s.Err) // nobody has ended the question's line
			return strings.TrimSpace(text), fmt.Errorf("read the answer: %w", err)
		}
	}
	return strings.TrimSpace(text), nil
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
