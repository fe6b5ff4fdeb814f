package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

type driftOptions struct {
	targets, exclude, ignore []string
	selector                 // chooses targets besides
	format                   string
	exitcode, offline        bool
}

// driftFormats are what --format takes.
func driftFormats() []string { return []string{"text", "json", "markdown", "junit", "sarif", "github"} }

func driftCommand(a *app) *cobra.Command {
	var o driftOptions
	c := &cobra.Command{
		Use:   "drift",
		Short: "Tell how what is live differs from what is on record",
		Long: `Looks at what is live, lays it beside what is on record, and tells the differences:
plan's read-only half, for CI. It changes nothing, takes no lock and starts nothing.
Without a state to compare with it is an error.

A workspace on another branch makes the exit code 1, and so does whatever could not
be looked at: that there is no drift is said only of what was seen.

--offline looks at nothing. It compares the record with the manifest, on any machine
that has both; what is live is then unknown.`,
		Example: `  agentform drift
  agentform drift --detailed-exitcode --ignore experiment
  agentform drift --format=github
  agentform drift --format=sarif > drift.sarif
  agentform drift --offline --state state.json`,
		Args:        arguments(0, 0),
		Annotations: withJSON(),
		RunE:        func(c *cobra.Command, _ []string) error { return runDrift(c.Context(), a, o) },
		PreRunE: func(c *cobra.Command, _ []string) error {
			if !slices.Contains(driftFormats(), o.format) {
				return usageError{c.CommandPath(), fmt.Errorf("--format %q: want %s", o.format, strings.Join(driftFormats(), ", "))}
			}
			if a.globals.json && c.Flags().Changed("format") && o.format != "json" {
				return usageError{c.CommandPath(), errors.New("--json is --format=json: give one of them")}
			}
			if a.globals.json {
				o.format = "json"
			}
			return nil
		},
	}
	flags := c.Flags()
	flags.StringVar(&o.format, "format", "text", "`one` of "+strings.Join(driftFormats(), ", "))
	flags.BoolVar(&o.exitcode, "detailed-exitcode", false, "exit 2 if there is drift (0: none, 1: an error)")
	flags.StringArrayVar(&o.ignore, "ignore", nil, "leave out what this `address` has drifted (repeatable)")
	flags.BoolVar(&o.offline, "offline", false, "look at nothing: compare the record with the manifest")
	flags.StringArrayVar(&o.targets, "target", nil, "only this `address` and what it depends on (repeatable)")
	flags.StringArrayVar(&o.exclude, "exclude", nil, "not this `address`, nor what depends on it (repeatable)")
	o.register(a, c, "only sessions")
	completeFlag(c, "format", words(driftFormats()...))
	for _, flag := range []string{"ignore", "target", "exclude"} {
		completeFlag(c, flag, completeAddresses(a, 0))
	}
	return c
}

func runDrift(ctx context.Context, a *app, o driftOptions) error {
	p, s, err := comparable(a, o.offline)
	if err != nil {
		return err
	}
	options, err := (&planFlags{targets: o.targets, exclude: o.exclude, selector: o.selector, refreshOnly: !o.offline, detail: "changes"}).options(p)
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
	if err := leaveOut(a, &report, addresses(p.Manifest.Sessions, s.Sessions), o.ignore); err != nil {
		return err
	}
	report.Project, report.Agentform, report.Dir = p.Manifest.Project, a.env.Version, p.Manifest.Root
	report.Lineage = s.Lineage
	locate(ctx, p, &report, o.format)
	if err := tellDrift(a, report, o.format); err != nil {
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

// comparable opens the project for drift: its state must be there, and offline
// its manifest as well. Otherwise what is wrong with the manifest is only said.
func comparable(a *app, offline bool) (*project.Project, state.State, error) {
	p := a.open()
	if offline {
		if _, err := a.openManifest(); err != nil {
			return nil, state.State{}, err
		}
	} else if session.HasErrors(p.Problems) && len(p.Manifest.Files) > 0 {
		if err := a.warn(p.Problems); err != nil {
			return nil, state.State{}, err
		}
	}
	s, err := state.Read(p.State)
	if errors.Is(err, state.ErrNone) {
		err = fmt.Errorf("there is no state to compare with: %s is not there\nagentform apply makes it; run this in the project's folder (-C DIR), or name another state with --state FILE", p.State)
	}
	return p, s, err
}

// liveDrift holds what is live against what is on record. What the manifest
// declares besides is only looked for: it may be live without being on record.
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
		report := driftOf(made)
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

// driftOf is the report of a plan whose wanted sessions are the recorded ones.
func driftOf(made plan.Plan) view.DriftReport {
	report := view.DriftReport{Serial: made.Serial, At: made.At}
	ambiguous := map[session.Address]bool{}
	var strays []view.DriftItem
	for _, c := range made.Changes {
		ambiguous[c.Address] = c.Reason == plan.ReasonAmbiguous
		switch {
		case c.Reason == plan.ReasonNotTargeted:
		case c.Before != nil:
			report.Sessions = append(report.Sessions, c.Address)
		case c.Live != nil:
			strays = append(strays, view.DriftItem{Address: c.Address, Kind: plan.Orphaned, Detail: "it is live, ours and declared, and not on record; apply adopts it"})
		}
	}
	for _, d := range made.Drift {
		if d.Kind != plan.Orphaned || selects(made.Options, d.Address) {
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

// selects reports whether targets and exclusions leave an address in that is
// neither declared nor on record.
func selects(o plan.Options, a session.Address) bool {
	return (len(o.Targets) == 0 || slices.ContainsFunc(o.Targets, a.Within)) && !slices.ContainsFunc(o.Exclude, a.Within)
}

// leaveOut takes what is ignored out of a report. If that is all that could not
// be looked at, the report is complete without it.
func leaveOut(a *app, r *view.DriftReport, known []session.Address, typed []string) error {
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
			fmt.Fprintf(a.env.Stderr, "Warning: --ignore %s: there is no such session\n", t)
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

// unknown reports whether an item says that its session could not be looked at.
func unknown(i view.DriftItem) bool { return i.Kind == plan.Unreachable }

func stateMoved(problems []session.Diagnostic) bool {
	return slices.ContainsFunc(problems, func(d session.Diagnostic) bool { return d.Severity == session.Warning })
}

func mismatched(items []view.DriftItem) bool {
	return slices.ContainsFunc(items, func(i view.DriftItem) bool { return i.Kind == plan.BranchMismatch })
}
