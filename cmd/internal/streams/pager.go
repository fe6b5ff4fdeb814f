package streams

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/environ"
)

// PagerVariable names the pager of agentform alone.
const PagerVariable = "AGENTFORM_PAGER"

// Paged runs a command and shows what it prints in the user's pager, if that is longer than
// the terminal has lines.
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

// pager returns the command line of the user's pager; empty: none is wanted.
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
