package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/drift"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/cmd/internal/view/ci"
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
	o.RefreshOnly = !o.offline
	options, err := o.Options(p)
	if err != nil {
		return err
	}
	options.MaxRunning = 0 // max_running does not affect drift
	var report view.DriftReport
	if o.offline {
		report = drift.Offline(p, s, options)
	} else if report, err = drift.Live(ctx, p, s, options); err != nil {
		return err
	}
	unknown, err := drift.Ignore(&report, choose.Addresses(p.Manifest.Sessions, s.Sessions), o.ignore)
	if err != nil {
		return exit.Usage(a.Command, fmt.Errorf("--ignore: %w", err))
	}
	for _, typed := range unknown { // sessions come and go; that one is gone is no reason to fail
		fmt.Fprintf(a.Err, "Warning: --ignore %s: no such session\n", typed)
	}
	report.Project, report.Agentform, report.Dir = p.Manifest.Project, a.Version, p.Manifest.Root
	report.Lineage = s.Lineage
	name := func(file string) string { return file }
	if *o.format != "text" && *o.format != "json" {
		name = project.FromTop(ctx, p) // as CI systems expect it
	}
	drift.Locate(p, &report, name)
	if err := printDrift(a, report, *o.format); err != nil {
		return err
	}
	a.Log.Debug("compared", "state", p.State, "serial", report.Serial, "complete", report.Complete, "differences", len(report.Items))
	switch {
	case drift.Failed(report):
		return exit.Error
	case o.exitcode && report.Drifted():
		return exit.Changes
	}
	return nil
}

// openForDrift needs a state and, with --offline, a valid manifest.
func openForDrift(a *app, offline bool) (*project.Project, state.State, error) {
	p := a.Open()
	if offline {
		if _, err := a.Manifest(); err != nil {
			return nil, state.State{}, err
		}
	} else if session.HasErrors(p.Problems) && len(p.Manifest.Files) > 0 {
		a.Warn(p.Problems)
	}
	if err := a.Pull(p); err != nil {
		return nil, state.State{}, err
	}
	s, err := drift.Read(p)
	return p, s, err
}

func printDrift(a *app, r view.DriftReport, format string) error {
	switch format {
	case "json":
		return view.DriftJSON(a.Out, r)
	case "junit":
		return ci.JUnit(a.Out, r)
	case "sarif":
		return ci.SARIF(a.Out, r)
	case "text":
		a.Warn(r.Problems)
		return view.Drift(a.Out, a.OutStyle(), r)
	}
	return printReport(a, ci.Drift(r), format)
}
