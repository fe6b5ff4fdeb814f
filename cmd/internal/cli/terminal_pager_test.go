//go:build real

package cli_test

import (
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// onTerminal runs agentform at a terminal and returns what that shows.
func (w *world) onTerminal(rows uint16, env []string, args ...string) string {
	w.t.Helper()
	c := w.command(args...)
	c.Env = append(append(c.Env, "TERM=xterm-256color"), env...)
	terminal, err := pty.StartWithSize(c, &pty.Winsize{Rows: rows, Cols: 80})
	if err != nil {
		w.t.Fatal(err)
	}
	defer terminal.Close()
	var shown screen
	read := make(chan struct{})
	go func() {
		_, _ = io.Copy(&shown, terminal) // ends with an error when the process has ended
		close(read)
	}()
	_ = ended(w.t, c, &shown) // plan exits 0 or 2
	<-read
	return strings.ReplaceAll(shown.String(), "\r\n", "\n")
}

func TestPager(t *testing.T) {
	w := newWorld(t, `
session "api" {
  agent  = "claude"
  branch = "agents/api"
}
`)
	mark := "AGENTFORM_PAGER=sed s/^/p:/"
	for name, x := range map[string]struct {
		rows  uint16
		env   []string
		args  string
		paged bool
		has   string
	}{
		"long":      {10, []string{mark}, "help lifecycle", true, "p:Session states:"},
		"flag":      {10, []string{mark}, "plan --help", true, "p:Examples:"},
		"fits":      {200, []string{mark}, "help lifecycle", false, "Session states:"},
		"plan":      {5, []string{mark, "NO_COLOR=1"}, "plan", false, "Plan: 1 to create"},
		"not asked": {10, []string{mark}, "--no-pager help lifecycle", false, "Session states:"},
		"after":     {10, []string{mark}, "plan --help --no-pager", false, "Examples:"},
		"json":      {5, []string{mark}, "plan --json", false, `"create": 1`},
		"PAGER":     {10, []string{"PAGER=sed s/^/p:/"}, "help lifecycle", true, "p:Session states:"},
		"first":     {10, []string{"PAGER=false", mark}, "help lifecycle", true, "p:Session states:"},
		"cat":       {10, []string{"PAGER=cat"}, "help lifecycle", false, "Session states:"},
		"empty":     {10, []string{"AGENTFORM_PAGER=", "PAGER=sed s/^/p:/"}, "help lifecycle", false, "Session states:"},
		"missing":   {10, []string{"PAGER=no-such-pager"}, "help lifecycle", false, "Session states:"},
		"left":      {10, []string{"PAGER=head -n 3 | sed s/^/p:/"}, "help lifecycle", true, "p:A session is declared"},
	} {
		t.Run(name, func(t *testing.T) {
			got := w.onTerminal(x.rows, x.env, strings.Fields(x.args)...)
			if strings.Contains(got, "p:") != x.paged || !strings.Contains(got, x.has) {
				t.Errorf("it shows\n%s", got)
			}
		})
	}
	if plain := w.run("help", "lifecycle"); strings.Contains(plain, "p:") {
		t.Errorf("a pipe has a pager:\n%s", plain)
	}
}

// TestAlone: agentform without a command names ui to a person in a project, and with the
// prompt that fits into 24 lines.
func TestAlone(t *testing.T) {
	w := newWorld(t, "")
	text := w.onTerminal(24, []string{"PAGER=sed s/^/p:/"})
	if !strings.Contains(text, "agentform ui\n") || strings.Count(text, "\n") > 23 || strings.Contains(text, "p:") {
		t.Errorf("%d lines:\n%s", strings.Count(text, "\n"), text)
	}
	if piped := w.run(); strings.Contains(piped, "agentform ui") {
		t.Errorf("to a pipe:\n%s", piped)
	}
	w.dir = t.TempDir()
	if text := w.onTerminal(24, nil); strings.Contains(text, "agentform ui") {
		t.Errorf("outside of a project:\n%s", text)
	}
}
