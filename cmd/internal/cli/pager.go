package cli

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

// pagerVariable names the pager of agentform alone.
const pagerVariable = "AGENTFORM_PAGER"

// paged runs a command and shows what it prints in the user's pager, if that is longer than
// the terminal has lines.
func paged(a *app, run func() error) error {
	style, env := a.out(), a.env
	pager := pagerOf(a)
	if pager == "" || style.Rows == 0 || env.Style != nil {
		return run()
	}
	var text bytes.Buffer
	a.env.Stdout, a.env.Style = &text, &style
	err := run()
	a.env.Stdout, a.env.Style = env.Stdout, env.Style
	if view.Rows(text.String(), style.Width) >= style.Rows { // the prompt needs one
		code, failed := runForeground(pagerCommand(a, pager, bytes.NewReader(text.Bytes())))
		if failed == nil && code != 126 && code != 127 { // otherwise the pager cannot be run
			return err
		}
	}
	_, failed := env.Stdout.Write(text.Bytes())
	return errors.Join(err, failed)
}

// pagerOf returns the command line of the user's pager; empty: none is wanted.
func pagerOf(a *app) string {
	e := a.env.Environ
	if a.globals.noPager || a.globals.json || e.Get("TERM") == "dumb" {
		return ""
	}
	for _, name := range []string{pagerVariable, "PAGER"} {
		if pager, set := e.Lookup(name); set {
			if pager = strings.TrimSpace(pager); pager == "cat" {
				return ""
			}
			return pager
		}
	}
	if _, installed := e.Program("less", a.env.Dir); !installed {
		return ""
	}
	return "less"
}

// pagerCommand returns the command of a pager with git's defaults for less.
func pagerCommand(a *app, pager string, in io.Reader) *exec.Cmd {
	c := exec.Command("sh", "-c", pager)
	c.Env = slices.Clone(a.env.Environ)
	for name, value := range map[string]string{"LESS": "FRX", "LV": "-c"} {
		if _, set := environ.Vars(c.Env).Lookup(name); !set {
			c.Env = append(c.Env, name+"="+value)
		}
	}
	c.Stdin, c.Stdout, c.Stderr = in, a.env.Stdout, a.env.Stderr
	return c
}
