package streams

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/environ"
)

// PagerVariable is the variable for agentform's own pager.
const PagerVariable = "AGENTFORM_PAGER"

// Paged runs a command and shows its output in the user's pager if it exceeds the terminal.
func (s *Streams) Paged(run func() error) error {
	style, out, fixed := s.OutStyle(), s.Out, s.Fixed
	pager := s.pager()
	if pager == "" || style.Rows == 0 || fixed != nil {
		return run()
	}
	var text bytes.Buffer
	s.Out, s.Fixed = &text, &style
	err := run()
	s.Out, s.Fixed = out, fixed
	if view.Rows(text.String(), style.Width) >= style.Rows { // the prompt needs one
		code, failed := Foreground(s.Pager(pager, bytes.NewReader(text.Bytes())))
		if failed == nil && code != 126 && code != 127 { // otherwise the pager cannot be run
			return err
		}
	}
	_, failed := out.Write(text.Bytes())
	return errors.Join(err, failed)
}

// pager returns the command line of the user's pager; empty: no pager.
func (s *Streams) pager() string {
	e := s.Environ
	if s.NoPager || s.JSON || e.Get("TERM") == "dumb" {
		return ""
	}
	for _, name := range []string{PagerVariable, "PAGER"} {
		if pager, set := e.Lookup(name); set {
			if pager = strings.TrimSpace(pager); pager == "cat" {
				return ""
			}
			return pager
		}
	}
	if _, installed := e.Program("less", s.ShellDir); !installed {
		return ""
	}
	return "less"
}

// Pager returns the command of a pager with git's defaults for less.
func (s *Streams) Pager(pager string, in io.Reader) *exec.Cmd {
	c := exec.Command("sh", "-c", pager)
	c.Env = slices.Clone(s.Environ)
	for name, value := range map[string]string{"LESS": "FRX", "LV": "-c"} {
		if _, set := environ.Vars(c.Env).Lookup(name); !set {
			c.Env = append(c.Env, name+"="+value)
		}
	}
	c.Stdin, c.Stdout, c.Stderr = in, s.Out, s.Err
	return c
}

// Titled is a writer that writes a title before the first bytes.
type Titled struct {
	W     io.Writer
	Title string
	Err   error // of the last write
	began bool
}

// Write writes to W.
func (t *Titled) Write(b []byte) (n int, err error) {
	if !t.began {
		t.began = true
		_, t.Err = io.WriteString(t.W, t.Title)
	}
	if t.Err == nil {
		n, t.Err = t.W.Write(b)
	}
	return n, t.Err
}

// GitSays returns git's output outside any repository: a user's setting.
func (s *Streams) GitSays(ctx context.Context, args ...string) string {
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir, c.Env = "/", s.Environ
	out, err := c.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// StartPager starts the user's pager as git does, with git's defaults for less. end waits until the
// user leaves it. Without a pager, StartPager returns standard output.
func (s *Streams) StartPager(ctx context.Context) (w io.Writer, end func() error) {
	none := func() error { return nil }
	pager, set := s.Environ.Lookup(PagerVariable)
	if !set {
		pager = s.GitSays(ctx, "var", "GIT_PAGER")
	}
	if pager == "" || pager == "cat" {
		return s.Out, none
	}
	r, pipe, err := os.Pipe()
	if err != nil {
		return s.Out, none
	}
	c := s.Pager(pager, r)
	left := make(chan error, 1)
	go func() {
		_, err := Foreground(c)
		r.Close()
		left <- err
	}()
	return pipe, func() error {
		pipe.Close()
		return <-left
	}
}
