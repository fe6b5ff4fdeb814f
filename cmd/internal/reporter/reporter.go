// Package reporter reports the progress of a command that changes sessions, to users or programs.
package reporter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Reporter reports progress to users or, with --json, to programs.
type Reporter struct {
	Command string      // the start of the last line: Apply
	Lines   *view.Lines // nil: for users

	out      *streams.Streams
	start    time.Time
	planned  bool // the plan was shown, including its errors
	progress *view.Progress
	onStderr bool // the command has other output than its progress
}

// New returns the reporter of a command. version is agentform's.
func New(s *streams.Streams, version, command string) (*Reporter, error) {
	t := &Reporter{out: s, Command: command, start: time.Now()}
	if !s.JSON {
		t.progress = view.NewProgress(s.Out, s.OutStyle())
		return t, nil
	}
	lines, err := view.NewLines(s.Out, version, time.Now)
	t.Lines = lines
	return t, err
}

// UseStderr selects standard error, for a command that prints data.
func (t *Reporter) UseStderr() {
	if t.Lines == nil {
		t.onStderr, t.progress = true, view.NewProgress(t.out.Err, t.out.ErrStyle())
	}
}

// Asked sets a verb for named sessions; see view.Progress.
func (t *Reporter) Asked(verb string, single bool) {
	if t.Lines == nil {
		t.progress.Asked(verb, single)
	}
}

// Complete writes the last line of a command that prints data.
func (t *Reporter) Complete(good bool) error {
	if !t.onStderr {
		return nil
	}
	summary := view.Tally{Command: t.Command, Done: 1}
	if !good {
		summary.Done, summary.Failed = 0, 1
	}
	return view.Summary(t.out.Err, t.out.ErrStyle(), summary)
}

// Plan writes a plan; all of it, or only its changes.
func (t *Reporter) Plan(p plan.Plan, all bool) error {
	if t.Lines != nil {
		return t.Lines.Plan(p)
	}
	t.planned = true
	return view.Plan(t.out.Out, t.out.OutStyle(), p, all)
}

// Event writes an event.
func (t *Reporter) Event(e history.Event) {
	if t.Lines != nil {
		t.Lines.Event(e)
		return
	}
	if t.planned && e.Kind == history.BranchMismatch {
		return // shown just above, and again with all errors at the end
	}
	t.progress.Event(e)
}

// Need reports that a session needs attention.
func (t *Reporter) Need(x api.Session, now time.Time) {
	if t.Lines == nil {
		_ = view.NeedRow(t.out.Err, t.out.ErrStyle(), view.Needy{Session: x, Reason: x.Needs.Reason, Since: x.Needs.Since}, now) // as fmt.Fprint: nothing else could tell
	}
}

// Diagnostics writes problems.
func (t *Reporter) Diagnostics(ds []session.Diagnostic) error {
	if t.Lines == nil {
		t.out.Warn(ds)
		return nil
	}
	for _, d := range ds {
		if err := t.Lines.Diagnostic(d); err != nil {
			return err
		}
	}
	return nil
}

// notInheritedFile marks that the variables in it have been reported.
const notInheritedFile = "not-inherited.txt"

// NotInherited reports variables that agents do not get, once on each machine. It records that in
// dir.
func (t *Reporter) NotInherited(names []string, dir string) {
	const most = 8
	if t.Lines != nil || len(names) == 0 {
		return
	}
	path := filepath.Join(dir, notInheritedFile)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil { // already reported, or not writable
		return
	}
	_, err = f.WriteString(strings.Join(names, "\n") + "\n")
	if errors.Join(err, f.Close()) != nil {
		return
	}
	more := ""
	if n := len(names) - most; n > 0 {
		names, more = names[:most], fmt.Sprintf(" and %d more (%s)", n, path)
	}
	t.out.Say(fmt.Sprintf("Not passed on to agents: %s%s. To pass on more, set inherit_env.", strings.Join(names, ", "), more))
}

// Fail writes the end of a command that had no effect.
func (t *Reporter) Fail(problems []session.Diagnostic, err error) error {
	return t.End(apply.Tally{}, problems, err)
}

// End writes the tally, and returns the exit status as an error. problems are those of the plan.
func (t *Reporter) End(tally apply.Tally, problems []session.Diagnostic, err error) error {
	if err != nil && len(tally.Results) == 0 && t.Lines == nil {
		return err // nothing was begun
	}
	if err := t.Diagnostics(tally.Warnings); err != nil {
		return err
	}
	summary := view.Tally{Command: t.Command, Done: tally.Done, Failed: tally.Failed, Skipped: tally.Skipped, Held: tally.Held, Elapsed: time.Since(t.start)}
	for _, d := range problems {
		if d.Severity == session.Error {
			summary.Errors = append(summary.Errors, d)
		}
	}
	code, out := exit.Done, t.out.Out
	if len(summary.Errors) > 0 {
		code, out = exit.Error, t.out.Err
	}
	if err != nil {
		summary.Errors = append(summary.Errors, err)
		code, out = exit.Of(err), t.out.Err
	}
	var failed error
	switch {
	case t.Lines != nil:
		failed = t.Lines.Summary(summary)
	case !t.onStderr || code != exit.Done:
		failed = view.Summary(out, t.out.Style(out), summary)
	}
	if failed != nil || code == exit.Done {
		return failed
	}
	return code
}
