package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/cmd/internal/view/ci"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/remedy"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

type driftOptions struct {
	planFlags
	ignore            []string
	format            *string
	exitcode, offline bool
}

func driftCommand(a *app) *cobra.Command {
	var o driftOptions
	c := &cobra.Command{
		Use:   "drift",
		Short: "Report drift between running sessions and the state",
		Long: `Compares running sessions with the state and reports the differences, for CI. It changes
nothing and takes no lock. A missing state is an error.

A workspace on another branch and a session that cannot be inspected make the exit code 1.

--offline compares the state with the manifest, on any machine that has both. Running
sessions are not inspected.`,
		Example: `  agentform drift
  agentform drift --detailed-exitcode --ignore experiment
  agentform drift --format=github
  agentform drift --format=sarif > drift.sarif
  agentform drift --offline --state state.json`,
		RunE: func(c *cobra.Command, _ []string) error { return runDrift(c.Context(), a, o) },
	}
	flags := c.Flags()
	o.format = formatFlag(a, c, "text", "json", "markdown", "junit", "sarif", "github")
	flags.BoolVar(&o.exitcode, "detailed-exitcode", false, "exit 0: no drift, 1: error, 2: drift")
	flags.StringArrayVar(&o.ignore, "ignore", nil, "ignore drift of this `address` (repeatable)")
	flags.BoolVar(&o.offline, "offline", false, "compare the state with the manifest; do not inspect running sessions")
	o.registerTargets(a, c)
	completeFlag(c, "ignore", completeAddresses(a, unlimited))
	return c
}

func runDrift(ctx context.Context, a *app, o driftOptions) error {
	p, s, err := openForDrift(a, o.offline)
	if err != nil {
		return err
	}
	o.refreshOnly, o.detail = !o.offline, "changes"
	options, err := o.options(p)
	if err != nil {
		return err
	}
	options.MaxRunning = 0 // how many may run at once is no matter of what differs
	var report view.DriftReport
	if o.offline {
		report = offlineDrift(p, s, options)
	} else if report, err = liveDrift(ctx, a, p, s, options); err != nil {
		return err
	}
	if err := ignoreDrift(a, &report, addresses(p.Manifest.Sessions, s.Sessions), o.ignore); err != nil {
		return err
	}
	report.Project, report.Agentform, report.Dir = p.Manifest.Project, a.env.Version, p.Manifest.Root
	report.Lineage = s.Lineage
	locate(ctx, p, &report, *o.format)
	if err := printDrift(a, report, *o.format); err != nil {
		return err
	}
	a.log.Debug("compared", "state", p.State, "serial", report.Serial, "complete", report.Complete, "differences", len(report.Items))
	switch {
	case !report.Complete && !o.offline, session.HasErrors(report.Problems), mismatched(report.Items):
		return outcome(exitError)
	case o.exitcode && report.Drifted():
		return outcome(exitChanges)
	}
	return nil
}

// openForDrift needs a state and, with --offline, a valid manifest.
func openForDrift(a *app, offline bool) (*project.Project, state.State, error) {
	p := a.open()
	if offline {
		if _, err := a.openManifest(); err != nil {
			return nil, state.State{}, err
		}
	} else if session.HasErrors(p.Problems) && len(p.Manifest.Files) > 0 {
		a.warn(p.Problems)
	}
	if err := a.pull(p); err != nil {
		return nil, state.State{}, err
	}
	s, err := state.Read(p.State)
	if errors.Is(err, state.ErrNone) {
		err = fmt.Errorf("no state to compare with: %s does not exist\nagentform apply creates it; run this in the project's directory (-C DIR), or give another state with --state FILE", p.State)
	}
	return p, s, err
}

// liveDrift includes declared sessions without a record, because they may run.
func liveDrift(ctx context.Context, a *app, p *project.Project, s state.State, options plan.Options) (view.DriftReport, error) {
	const tries = 3
	r := p.Reconciler(project.ToRead)
	for n := 1; ; n++ {
		made, err := r.Plan(ctx, engine.Request{Wanted: recordedOrDeclared(p, s), Options: options})
		if err != nil {
			return view.DriftReport{}, err
		}
		if made.Serial != s.Serial && n < tries { // changed since it was read
			if s, err = state.Read(p.State); err != nil {
				return view.DriftReport{}, err
			}
			continue
		}
		report := driftOf(made, p.Owner())
		report.Complete = report.Complete && made.Serial == s.Serial
		return report, nil
	}
}

func recordedOrDeclared(p *project.Project, s state.State) []session.Spec {
	var specs []session.Spec
	for _, r := range s.Sessions {
		specs = append(specs, r.Spec)
		specs[len(specs)-1].Address = r.Address
	}
	for _, w := range p.Manifest.Sessions {
		if project.Find(s.Sessions, w.Address) == nil {
			specs = append(specs, w)
		}
	}
	return specs
}

// driftOf returns the report of a plan. A session that another machine has was not inspected.
func driftOf(made plan.Plan, here session.Owner) view.DriftReport {
	report := view.DriftReport{Serial: made.Serial, At: made.At}
	ambiguous, drifted := map[session.Address]bool{}, map[session.Address]bool{}
	for _, d := range made.Drift {
		drifted[d.Address] = true
	}
	var strays []view.DriftItem
	for _, c := range made.Changes {
		ambiguous[c.Address] = c.Reason == plan.ReasonAmbiguous
		switch {
		case c.Reason == plan.ReasonNotTargeted:
		case c.Reason == plan.ReasonElsewhere && !drifted[c.Address]:
			report.Sessions = append(report.Sessions, c.Address)
			report.Items = append(report.Items, view.DriftItem{Address: c.Address, Kind: plan.Unreachable,
				Detail: remedy.With(c.Detail, plan.Elsewhere(*c.Before, here))})
		case c.Reason == plan.ReasonUnderWay && !drifted[c.Address]:
			report.UnderWay++
		case c.Before != nil:
			report.Sessions = append(report.Sessions, c.Address)
		case c.Live != nil:
			strays = append(strays, view.DriftItem{Address: c.Address, Kind: plan.Orphaned, Detail: "it is running and declared, but not in the state; apply adopts it"})
		}
	}
	for _, d := range made.Drift {
		if d.Kind != plan.Orphaned || includes(made.Options, d.Address) {
			report.Items = append(report.Items, view.DriftItem{Address: d.Address, Kind: d.Kind, Detail: d.Detail})
		}
	}
	report.Items = append(report.Items, strays...)
	report.Complete = made.Complete && !slices.ContainsFunc(report.Items, unknown)
	// What keeps a session from being as it is wanted is a matter of plan, not of
	// what differs, unless nobody can say which object the session is.
	for _, d := range made.Problems {
		if d.Address == "" || ambiguous[d.Address] {
			report.Problems = append(report.Problems, d)
		}
	}
	return report
}

// includes selects sessions that are neither declared nor recorded.
func includes(o plan.Options, a session.Address) bool {
	return (len(o.Targets) == 0 || slices.ContainsFunc(o.Targets, a.Within)) && !slices.ContainsFunc(o.Exclude, a.Within)
}

// ignoreDrift completes a report in which nothing else is unknown.
func ignoreDrift(a *app, r *view.DriftReport, known []session.Address, typed []string) error {
	for _, i := range r.Items {
		known = append(known, i.Address)
	}
	var ignored []session.Address
	for _, t := range typed {
		found, err := resolve(known, t)
		if err != nil {
			if _, unreadable := session.ParseAddress(t); unreadable != nil {
				return usageError{a.command, fmt.Errorf("--ignore: %w", unreadable)}
			}
			// Sessions come and go; that one is gone is no reason to fail.
			fmt.Fprintf(a.env.Stderr, "Warning: --ignore %s: no such session\n", t)
		}
		ignored = append(ignored, found...)
	}
	out := func(a session.Address) bool { return slices.Contains(ignored, a) }
	before := slices.ContainsFunc(r.Items, unknown)
	r.Items = slices.DeleteFunc(r.Items, func(i view.DriftItem) bool { return out(i.Address) })
	compared := len(r.Sessions)
	r.Sessions = slices.DeleteFunc(r.Sessions, out)
	r.Ignored = compared - len(r.Sessions)
	r.Problems = slices.DeleteFunc(r.Problems, func(d session.Diagnostic) bool { return out(d.Address) })
	if before && !slices.ContainsFunc(r.Items, unknown) && !stateMoved(r.Problems) {
		r.Complete, r.Problems = true, nil
	}
	return nil
}

func unknown(i view.DriftItem) bool { return i.Kind == plan.Unreachable }

func stateMoved(problems []session.Diagnostic) bool {
	return slices.ContainsFunc(problems, func(d session.Diagnostic) bool { return d.Severity == session.Warning })
}

func mismatched(items []view.DriftItem) bool {
	return slices.ContainsFunc(items, func(i view.DriftItem) bool { return i.Kind == plan.BranchMismatch })
}

// offlineDrift assumes that every session runs as recorded. Its report is never complete.
func offlineDrift(p *project.Project, s state.State, options plan.Options) view.DriftReport {
	q := p.Request(options)
	records := make(map[session.Address]*session.Record, len(s.Sessions))
	for i := range s.Sessions {
		a := s.Sessions[i].Address
		for _, m := range q.Moves {
			if a.Within(m.From) {
				a = m.To + a[len(m.From):]
			}
		}
		records[a] = &s.Sessions[i]
	}
	wanted := make([]session.Spec, len(q.Wanted))
	for i, w := range q.Wanted {
		wanted[i] = relocate(w, records[w.Address])
	}
	// Imports are left out: what stands under an id is not looked for.
	made := engine.Explain(plan.Compute(plan.Input{
		Now: time.Now(), Project: p.Manifest.Project, Lineage: s.Lineage, Serial: s.Serial,
		Wanted: wanted, Moves: q.Moves, Removed: q.Removed, Records: s.Sessions, World: asRecorded(s, wanted), Options: options,
	}))
	report := view.DriftReport{Serial: made.Serial, At: made.At, Offline: true}
	faults := map[session.Address]string{}
	for _, d := range slices.Backward(made.Problems) { // the first one counts
		first, _, _ := strings.Cut(d.Detail, "\n")
		faults[d.Address] = d.Summary + ": " + first
	}
	for _, c := range made.Changes {
		if c.Reason == plan.ReasonNotTargeted {
			continue
		}
		report.Sessions = append(report.Sessions, c.Address)
		if detail := cmp.Or(describeDrift(c), faults[c.Address]); detail != "" {
			report.Items = append(report.Items, view.DriftItem{Address: c.Address, Kind: view.NotApplied, Detail: detail})
		}
	}
	return report
}

func describeDrift(c plan.Change) string {
	switch {
	case c.Action == plan.None:
		return ""
	case c.Before == nil:
		return "declared, but not in the state"
	case c.After == nil && c.Reason != plan.ReasonRemoved:
		return "in the state, but no longer in the manifest"
	case c.Reason == plan.ReasonMoved:
		return "in the state as " + string(c.Moved)
	case c.Moved != "":
		return "in the state as " + string(c.Moved) + "; " + c.Detail
	case c.Detail == "":
		return string(c.Action)
	}
	return c.Detail
}

// asRecorded returns a world in which nothing prevents the other sessions.
func asRecorded(s state.State, wanted []session.Spec) session.World {
	w := session.World{Runtimes: map[string]error{}, Checkouts: map[string]session.Checkout{}}
	for _, spec := range wanted {
		w.Runtimes[spec.Runtime.Engine()] = nil
		if spec.Workspace.Mode == session.InPlace {
			w.Checkouts[spec.Workspace.Path] = session.Checkout{Path: spec.Workspace.Path, Exists: true, Git: true, Branch: spec.Branch}
		}
	}
	for _, r := range s.Sessions {
		w.Runtimes[r.Spec.Runtime.Engine()] = nil
		w.Checkouts[r.Tree.Path] = session.Checkout{Path: r.Tree.Path, Exists: true, Git: r.Tree.Mode != session.Plain, Branch: r.Tree.Branch}
		desired := plan.Desired(r)
		if r.Intent == session.Creating || r.Unmade() || desired == session.Stopped {
			continue
		}
		w.Lives = append(w.Lives, session.Live{
			Mark:     session.Mark{Project: s.Lineage, Address: r.Address, ID: r.ID, Run: r.Run.ID},
			Location: r.Location, PlaceUp: true, Liveness: session.Alive, InputOff: desired == session.Paused,
		})
	}
	return w
}

// relocate compares in another clone of the recorded repository, where only paths would differ.
func relocate(w session.Spec, r *session.Record) session.Spec {
	if r == nil {
		return w
	}
	was := r.Spec.Workspace
	if was.Mode != w.Workspace.Mode || session.Remote(was.Repo) || session.Remote(w.Workspace.Repo) || fileExists(cmp.Or(was.Repo, was.Path)) {
		return w
	}
	inside, err := filepath.Rel(w.Workspace.Repo, w.Workspace.Path)
	switch {
	case w.Workspace.Repo != "" && err == nil && filepath.IsLocal(inside):
		w.Workspace.Path = filepath.Join(was.Repo, inside)
	case !w.Workspace.Explicit && !was.Explicit && w.Branch == r.Spec.Branch:
		w.Workspace.Path = was.Path
	}
	w.Workspace.Repo = was.Repo
	return w
}

func printDrift(a *app, r view.DriftReport, format string) error {
	switch format {
	case "json":
		return view.DriftJSON(a.env.Stdout, r)
	case "junit":
		return ci.JUnit(a.env.Stdout, r)
	case "sarif":
		return ci.SARIF(a.env.Stdout, r)
	case "text":
		a.warn(r.Problems)
		return view.Drift(a.env.Stdout, a.out(), r)
	}
	return printReport(a, ci.Drift(r), format)
}

// printReport writes a report as Markdown or for GitHub Actions.
func printReport(a *app, r ci.Report, format string) error {
	if format == "markdown" {
		return ci.Markdown(a.env.Stdout, r)
	}
	return errors.Join(
		ci.GitHub(a.env.Stdout, r),
		addTo(a, "GITHUB_STEP_SUMMARY", func(w io.Writer) error { return ci.Markdown(w, r) }),
		addTo(a, "GITHUB_OUTPUT", func(w io.Writer) error { return ci.GitHubOutputs(w, r) }),
	)
}

func addTo(a *app, variable string, write func(io.Writer) error) error {
	name := a.env.Environ.Get(variable)
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(a.absolute(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	if err = errors.Join(write(f), f.Close()); err != nil {
		err = fmt.Errorf("%s: %w", variable, err)
	}
	return err
}

// locate names files as CI systems expect them, from the top of the repository.
func locate(ctx context.Context, p *project.Project, r *view.DriftReport, format string) {
	name := func(file string) string { return file }
	if format != "text" && format != "json" {
		name = fromTop(ctx, p)
	}
	if len(p.Manifest.Files) > 0 {
		r.Manifest = name(p.Manifest.Files[0])
	}
	for i := range r.Items {
		if at, known := p.Manifest.Ranges[r.Items[i].Address]; known {
			at.Filename = name(at.Filename)
			r.Items[i].Range = &at
		}
	}
}

// fromTop returns what names a manifest from the top of the repository.
func fromTop(ctx context.Context, p *project.Project) func(file string) string {
	top, err := git.Toplevel(ctx, p.Manifest.Root)
	if err != nil {
		top = p.Manifest.Root // without a repository or git, the project's directory
	}
	return func(file string) string { return from(top, p.Manifest.Root, file) }
}

// from returns a file's path from the top of the repository, if it is in it.
func from(top, root, file string) string {
	path := file
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	if rel, err := filepath.Rel(top, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}
