package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/preflight"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// reporter reports progress to people or, with --json, to programs.
type reporter struct {
	app      *app
	command  string // as the last line calls it: Apply
	start    time.Time
	planned  bool // the plan was shown, with its errors
	progress *view.Progress
	lines    *view.Lines // nil: to people
	onStderr bool        // the command has other output than how it goes
}

func newReporter(a *app, command string) (*reporter, error) {
	t := &reporter{app: a, command: command, start: time.Now()}
	if !a.JSON {
		t.progress = view.NewProgress(a.Out, a.OutStyle())
		return t, nil
	}
	lines, err := view.NewLines(a.Out, a.Version, time.Now)
	t.lines = lines
	return t, err
}

// useStderr is for a command that prints data.
func (t *reporter) useStderr() {
	if t.lines == nil {
		t.onStderr, t.progress = true, view.NewProgress(t.app.Err, t.app.ErrStyle())
	}
}

func (t *reporter) complete(good bool) error {
	if !t.onStderr {
		return nil
	}
	summary := view.Tally{Command: t.command, Done: 1}
	if !good {
		summary.Done, summary.Failed = 0, 1
	}
	return view.Summary(t.app.Err, t.app.ErrStyle(), summary)
}

func (t *reporter) plan(p plan.Plan, detail string) error {
	if t.lines != nil {
		return t.lines.Plan(p)
	}
	t.planned = true
	return view.Plan(t.app.Out, t.app.OutStyle(), p, detail == "full")
}

func (t *reporter) event(e history.Event) {
	if t.lines != nil {
		t.lines.Event(e)
		return
	}
	if t.planned && e.Kind == history.BranchMismatch {
		return // shown just above, and again with all errors at the end
	}
	t.progress.Event(e)
}

// need says that a session needs a person.
func (t *reporter) need(x api.Session, now time.Time) {
	if t.lines == nil {
		_ = view.NeedRow(t.app.Err, t.app.ErrStyle(), view.Needy{Session: x, Reason: x.Needs.Reason, Since: x.Needs.Since}, now) // as fmt.Fprint: nothing else could tell
	}
}

func (t *reporter) diagnostics(ds []session.Diagnostic) error {
	if t.lines == nil {
		t.app.Warn(ds)
		return nil
	}
	for _, d := range ds {
		if err := t.lines.Diagnostic(d); err != nil {
			return err
		}
	}
	return nil
}

// notInheritedFile marks that the variables in it have been reported.
const notInheritedFile = "not-inherited.txt"

// environment reports variables that agents do not get, once on each machine.
func (t *reporter) environment(a apply.Applier, p plan.Plan) {
	const most = 8
	names := preflight.NotInherited(a.BaseEnv, preflight.Starting(p))
	if t.lines != nil || len(names) == 0 {
		return
	}
	path := filepath.Join(a.DataDir, notInheritedFile)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil { // it was reported, or nothing can be written
		return
	}
	_, err = f.WriteString(strings.Join(names, "\n") + "\n")
	if errors.Join(err, f.Close()) != nil {
		return
	}
	more := ""
	if n := len(names) - most; n > 0 {
		names, more = names[:most], fmt.Sprintf(" and %d more (%s)", n, t.app.Relative(path))
	}
	t.app.Say(fmt.Sprintf("Not passed on to agents: %s%s. To pass on more, set inherit_env.", strings.Join(names, ", "), more))
}

func (t *reporter) end(tally apply.Tally, problems []session.Diagnostic, err error) error {
	if err != nil && len(tally.Results) == 0 && t.lines == nil {
		return err // nothing was begun
	}
	if err := t.diagnostics(tally.Warnings); err != nil {
		return err
	}
	summary := view.Tally{Command: t.command, Done: tally.Done, Failed: tally.Failed, Skipped: tally.Skipped, Held: tally.Held, Elapsed: time.Since(t.start)}
	for _, d := range problems {
		if d.Severity == session.Error {
			summary.Errors = append(summary.Errors, d)
		}
	}
	code, out := exit.Done, t.app.Out
	if len(summary.Errors) > 0 {
		code, out = exit.Error, t.app.Err
	}
	if err != nil {
		summary.Errors = append(summary.Errors, err)
		code, out = exit.Of(err), t.app.Err
	}
	var failed error
	switch {
	case t.lines != nil:
		failed = t.lines.Summary(summary)
	case !t.onStderr || code != exit.Done:
		failed = view.Summary(out, t.app.Style(out), summary)
	}
	if failed != nil || code == exit.Done {
		return failed
	}
	return exit.Code(code)
}

// applySingle creates, adopts or destroys one session. It leaves the others as they are.
func applySingle(ctx context.Context, a *app, p *project.Project, t *reporter, q engine.Request, address session.Address, origin session.Origin) error {
	q.Options.Targets, q.Options.MaxRunning = []session.Address{address}, p.MaxRunning
	made, err := p.Reconciler(project.ToRead).Plan(ctx, q) // installs nothing, should it be refused
	if err != nil {
		return err
	}
	problems := slices.DeleteFunc(slices.Clone(made.Problems), func(d session.Diagnostic) bool { return d.Address != address && d.Address != "" })
	if session.HasErrors(problems) {
		return t.end(apply.Tally{}, problems, nil)
	}
	for _, c := range made.Changes {
		if c.Address == address && !c.Action.Acts() {
			return fmt.Errorf("%s: nothing was done: %s", address, c.Detail)
		}
	}
	if err := checkReady(ctx, a, t, made); err != nil {
		return err
	}
	r := p.Reconciler(project.ToAct)
	r.Applier.Origin, r.Applier.Emit = origin, t.event
	ctx, drain, done := a.Interruptible(ctx)
	defer done()
	tally, err := r.Apply(ctx, q, made, drain)
	t.environment(r.Applier, made)
	return t.end(tally, nil, err)
}

const (
	heldSessions = "held sessions"
	finishWord   = "finish"
)

// hubNeeds are what needs a hub besides what the manifest declares: sessions that are held, and
// those that are to end when they are done.
func hubNeeds(held, ending bool) (needs []string) {
	if ending {
		needs = append(needs, finishWord)
	}
	if held {
		needs = append(needs, heldSessions)
	}
	return needs
}

// hubNeedsOf returns them for recorded sessions.
func hubNeedsOf(all []session.Record) []string {
	return hubNeeds(
		slices.ContainsFunc(all, func(r session.Record) bool { return r.Intent == session.Queued || r.OverBudget != nil }),
		slices.ContainsFunc(all, func(r session.Record) bool {
			return r.Spec.Finish != session.FinishNever && r.Finished == nil && !r.Spent() && plan.Desired(r) == session.Running
		}))
}

// reportHub says what keeps the hub from doing what the manifest declares, or what else needs
// it: it does not run, it is suspended, or it was started with other settings.
func reportHub(a *app, p *project.Project, also []string) {
	needs := slices.Concat(p.Manifest.NeedsHub, also)
	if a.JSON {
		return
	}
	h, runs := hub.Running(p.Manifest.DataDir)
	if runs && !hub.Suspended(h) {
		if !p.SettingsOnly && !session.HasErrors(p.Problems) && hub.Settings(p.Manifest.DataDir) != project.HubSettings(p.Manifest) {
			a.Say("\nThe hub was started with other settings (notify, max_running, prices, budgets, telemetry). Restart it: agentform serve --stop && agentform serve --detach")
		}
		return
	}
	if len(needs) == 0 {
		return
	}
	list, verb := plaintext.List(needs, "and"), "needs"
	if len(needs) > 1 || needs[0] == heldSessions {
		verb = "need"
	}
	how := "which is not running: agentform serve --detach"
	if runs {
		how = "and " + hub.Continue(h)
	}
	if slices.Contains(needs, finishWord) {
		how += ", or agentform apply --wait"
	}
	a.Say(fmt.Sprintf("\n%s %s the hub, %s", list, verb, how))
}

func hasHolds(p plan.Plan) bool { return slices.ContainsFunc(p.Changes, plan.Change.Waits) }

// heldByHub reports whether something waits for what only a hub does.
func heldByHub(p plan.Plan) bool {
	return hasHolds(p) || slices.ContainsFunc(p.Changes, func(c plan.Change) bool { return c.Action == plan.Hold && c.Reason == plan.ReasonOverBudget })
}

func hasNewHolds(p plan.Plan) bool {
	return slices.ContainsFunc(p.Changes, func(c plan.Change) bool { return c.Queues() && !c.Queued() })
}

// autoHub starts the hub of a manifest with hub = "auto".
func autoHub(ctx context.Context, a *app, p *project.Project) {
	if _, runs := hub.Running(p.Manifest.DataDir); runs || !p.Manifest.HubAuto {
		return
	}
	var w io.Writer = a.Err
	if a.JSON {
		w = io.Discard
	}
	err := detach(ctx, a, p, serveOptions{}, w)
	var taken *hub.TakenError // by another apply, at the same moment
	if err != nil && !errors.As(err, &taken) {
		fmt.Fprintf(a.Err, "Warning: the hub could not be started: %v\n", err)
	}
}
