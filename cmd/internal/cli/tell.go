package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/preflight"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// teller tells how a command that acts goes, as it goes: to people, or with
// --json to programs.
type teller struct {
	app      *app
	command  string // as the last line calls it: Apply
	began    time.Time
	planned  bool // the plan was shown, with its errors
	progress *view.Progress
	lines    *view.Lines // nil: to people
	aside    bool        // the command has other output than how it goes
}

func newTeller(a *app, command string) (*teller, error) {
	t := &teller{app: a, command: command, began: time.Now()}
	if !a.globals.json {
		t.progress = view.NewProgress(a.env.Stdout, a.out())
		return t, nil
	}
	lines, err := view.NewLines(a.env.Stdout, a.env.Version, time.Now)
	t.lines = lines
	return t, err
}

// stepAside makes standard output free for what a command prints: people read how it
// goes on standard error, and that it went well only at its end.
func (t *teller) stepAside() {
	if t.lines == nil {
		t.aside, t.progress = true, view.NewProgress(t.app.env.Stderr, t.app.err())
	}
}

// complete tells people that a command that stepped aside is done.
func (t *teller) complete(good bool) error {
	if !t.aside {
		return nil
	}
	summary := view.Tally{Command: t.command, Done: 1}
	if !good {
		summary.Done, summary.Failed = 0, 1
	}
	return view.Summary(t.app.env.Stderr, t.app.err(), summary)
}

// plan tells what is going to be done.
func (t *teller) plan(p plan.Plan, detail string) error {
	if t.lines != nil {
		return t.lines.Plan(p)
	}
	t.planned = true
	return view.Plan(t.app.env.Stdout, t.app.out(), p, view.PlanOptions{Full: detail == "full"})
}

// event tells one thing that happened.
func (t *teller) event(e history.Event) {
	if t.lines != nil {
		t.lines.Event(e)
		return
	}
	if t.planned && e.Kind == history.BranchMismatch {
		return // shown just above, and again with all errors at the end
	}
	t.progress.Event(e)
}

// diagnostics tells problems.
func (t *teller) diagnostics(ds []session.Diagnostic) error {
	if t.lines == nil {
		if len(ds) == 0 {
			return nil
		}
		return view.Diagnostics(t.app.env.Stderr, t.app.err(), ds)
	}
	for _, d := range ds {
		if err := t.lines.Diagnostic(d); err != nil {
			return err
		}
	}
	return nil
}

// environment reports, to people and once in a project, which variables the sessions
// of the plan did not get.
func (t *teller) environment(a apply.Applier, p plan.Plan) error {
	if t.lines != nil {
		return nil
	}
	return reportNotInherited(t.app, a.DataDir, a.BaseEnv, preflight.Starting(p))
}

// notInheritedFile in the data directory names the variables that the first apply did not
// pass on. Where it exists, they have been reported.
const notInheritedFile = "not-inherited.txt"

// reportNotInherited reports, with the first sessions that a project starts on this
// machine, which variables of the environment they do not get.
func reportNotInherited(a *app, dataDir string, environ []string, started []session.Spec) error {
	const most = 8
	names := preflight.NotInherited(environ, started)
	if len(names) == 0 {
		return nil
	}
	path := filepath.Join(dataDir, notInheritedFile)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil { // it was reported, or nothing can be written
		return nil
	}
	_, err = f.WriteString(strings.Join(names, "\n") + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return nil
	}
	more := ""
	if n := len(names) - most; n > 0 {
		names, more = names[:most], fmt.Sprintf(" and %d more (%s)", n, a.short(path))
	}
	_, err = fmt.Fprintf(a.env.Stderr, "Not passed on to agents: %s%s. To pass on more, set inherit_env.\n", strings.Join(names, ", "), more)
	return err
}

// end tells how it ended: the warnings, then all errors together, what the plan
// could not do among them, and the tally. It returns what the command does.
func (t *teller) end(tally apply.Tally, problems []session.Diagnostic, err error) error {
	if err != nil && len(tally.Results) == 0 && t.lines == nil {
		return err // nothing was begun
	}
	if err := t.diagnostics(tally.Warnings); err != nil {
		return err
	}
	summary := view.Tally{Command: t.command, Done: tally.Done, Failed: tally.Failed, Skipped: tally.Skipped, Held: tally.Held, Elapsed: time.Since(t.began)}
	for _, d := range problems {
		if d.Severity == session.Error {
			summary.Errors = append(summary.Errors, d)
		}
	}
	code := exitDone
	if len(summary.Errors) > 0 {
		code = exitError
	}
	if err != nil {
		summary.Errors = append(summary.Errors, err)
		code = codeOf(err)
	}
	if t.lines != nil {
		if err := t.lines.Summary(summary); err != nil {
			return err
		}
	} else if !t.aside || code != exitDone {
		out := t.app.env.Stdout
		if code != exitDone {
			out = t.app.env.Stderr
		}
		if err := view.Summary(out, t.app.style(out), summary); err != nil {
			return err
		}
	}
	if code != exitDone {
		return outcome(code)
	}
	return nil
}
