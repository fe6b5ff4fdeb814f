package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/await"
	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/preflight"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/rebuild"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/cmd/internal/view/ci"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

type planOptions struct {
	planFlags
	out      string
	generate string  // the file for generated blocks
	format   *string // nil: text
	exitcode bool
}

// ci returns the format for CI systems; empty: none.
func (o planOptions) ci() string {
	if o.format == nil || *o.format == "text" || *o.format == "json" {
		return ""
	}
	return *o.format
}

func planCommand(a *app) *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show what apply would do, and why",
		Long: `Compares the manifest, the state and the running sessions, and shows what apply would do and
why. It changes nothing and takes no lock.

If a session is in error (for example, on the wrong branch) the exit code is 1; the others
are still planned.

--format=markdown is for a comment on a pull request. --format=github prints annotations at
the lines of the manifest, and adds the Markdown to the step's summary and "changes",
"count", "errors" and "complete" to its outputs.

--generate-config-out writes the blocks of the sessions that are in the state and not in
the manifest, such as those of run and adopt, to a new file. It works without a manifest,
too. Once the file is in the manifest, plan has no changes for them.`,
		Example: `  agentform plan
  agentform plan --detailed-exitcode
  agentform plan --target api --out api.plan
  agentform plan --role builder --label team=shop
  agentform plan --format=markdown > plan.md
  agentform plan --generate-config-out=more.agentform.hcl`,
		RunE: func(c *cobra.Command, _ []string) error { return runPlan(c.Context(), a, o) },
	}
	o.register(a, c)
	o.registerMore(a, c)
	o.format = formatFlag(a, c, "text", "json", "markdown", "github")
	c.Flags().StringVar(&o.out, "out", "", "save the plan to this `file`")
	c.Flags().StringVar(&o.generate, "generate-config-out", "", "write blocks of sessions that are not in the manifest to this new `file`")
	c.Flags().BoolVar(&o.exitcode, "detailed-exitcode", false, "exit 0: no changes, 1: error, 2: changes")
	return c
}

func runPlan(ctx context.Context, a *app, o planOptions) error {
	a.Document = a.JSON || o.ci() != ""
	if o.generate != "" {
		if err := checkGenerate(a, o); err != nil {
			return err
		}
		if len(a.Open().Manifest.Files) == 0 && len(a.Files) == 0 {
			return generateWithoutManifest(a, o.generate)
		}
	}
	p, made, _, err := makePlan(ctx, a, o.planFlags)
	if err != nil && a.Document {
		return printFailedPlan(ctx, a, o, err)
	}
	if err != nil {
		return err
	}
	warnings := p.Host().Plan(ctx, made, session.Warning)
	warnings = append(warnings, project.UnpricedBudgets(p, recorded(made), made.At)...)
	preflight.KeptWork(ctx, &made)
	if a.Document {
		warnings = append(warnings, p.Problems...)
	}
	if o.ci() != "" {
		made.Problems = append(made.Problems, warnings...)
		err = printPlan(ctx, a, made, o.ci())
	} else {
		err = showPlan(a, made, o.detail, warnings)
	}
	if err != nil {
		return err
	}
	if !o.destroy && !p.Manifest.HubAuto {
		reportHub(a, p, hubNeeds(heldByHub(made), len(await.Unfinished(made)) > 0))
	}
	if o.out != "" {
		if err := savePlan(a, made, o.out); err != nil {
			return err
		}
	}
	if o.generate != "" {
		if err := writeGenerated(a, p, o.generate, undeclared(p, made)); err != nil {
			return err
		}
	}
	a.Log.Debug("planned", "state", p.State, "serial", made.Serial, "complete", made.Complete)
	switch {
	case session.HasErrors(made.Problems), session.HasErrors(warnings), !made.Complete:
		return exit.Error
	case o.exitcode && (made.Acts() || o.refreshOnly && len(made.Drift) > 0):
		return exit.Changes
	}
	return nil
}

// recorded returns the records of a plan.
func recorded(made plan.Plan) []session.Record {
	var all []session.Record
	for _, c := range made.Changes {
		if c.Before != nil {
			all = append(all, *c.Before)
		}
	}
	return all
}

func printPlan(ctx context.Context, a *app, made plan.Plan, format string) error {
	dir, at := a.Dir, func(session.Address) *session.Range { return nil }
	if p := a.Opened(); p != nil {
		name := project.FromTop(ctx, p)
		made.Problems = slices.Clone(made.Problems)
		for i, d := range made.Problems {
			if d.Range != nil {
				r := *d.Range
				r.Filename = name(r.Filename)
				made.Problems[i].Range = &r
			}
		}
		dir = p.Manifest.Root
		at = func(address session.Address) *session.Range {
			r, declared := p.Manifest.Ranges[address]
			if !declared {
				return nil
			}
			r.Filename = name(r.Filename)
			return &r
		}
	}
	r, err := ci.Plan(made, dir, at)
	if err != nil {
		return err
	}
	return printReport(a, r, format)
}

func printFailedPlan(ctx context.Context, a *app, o planOptions, err error) error {
	none := plan.Plan{At: time.Now()}
	if a.Opened() != nil {
		none.Project, none.Problems = a.Opened().Manifest.Project, a.Opened().Problems
	}
	said := exit.Of(err)
	if !errors.As(err, &said) {
		none.Problems = append(none.Problems, session.Diagnostic{Severity: session.Error, Summary: err.Error()})
	}
	if o.ci() != "" {
		err = printPlan(ctx, a, none, o.ci())
	} else {
		err = view.PlanJSON(a.Out, none, a.Version)
	}
	if err != nil {
		return err
	}
	return said
}

func makePlan(ctx context.Context, a *app, f planFlags) (*project.Project, plan.Plan, engine.Request, error) {
	var p *project.Project
	var err error
	if f.destroy {
		p, _, err = a.State()
	} else if p, err = a.Manifest(); err == nil {
		err = checkCertificates(a, p)
	}
	if err != nil {
		tellUndeclared(a)
		return nil, plan.Plan{}, engine.Request{}, err
	}
	options, err := f.options(p)
	if err != nil {
		return nil, plan.Plan{}, engine.Request{}, err
	}
	request := p.Request(options)
	start := time.Now()
	made, err := p.Reconciler(project.ToRead).Plan(ctx, request)
	setRanges(p, made.Problems)
	made.Problems = append(made.Problems, lostState(p, made.Serial)...)
	a.Log.Debug("compared", "took", time.Since(start))
	return p, made, request, err
}

// checkCertificates reports what is wrong with the certificates for engines elsewhere, before
// any of them is asked.
func checkCertificates(a *app, p *project.Project) error {
	found := p.Host().Certificates(session.Error)
	if p.Problems = append(p.Problems, found...); !a.Document {
		a.Warn(found)
	}
	if session.HasErrors(found) {
		return exit.Error
	}
	return nil
}

// tellUndeclared says how many sessions the state has where there is no manifest.
func tellUndeclared(a *app) {
	p := a.Open()
	if len(p.Manifest.Files) > 0 {
		return
	}
	if s, err := state.Read(p.State); err == nil && len(s.Sessions) > 0 {
		a.Say("\nIn the state: " + plaintext.Count(len(s.Sessions), "session") + ". To declare them: agentform plan --generate-config-out=FILE")
	}
}

func setRanges(p *project.Project, problems []session.Diagnostic) {
	for i, d := range problems {
		if at, declared := p.Manifest.Ranges[d.Address]; declared && d.Severity == session.Warning && d.Range == nil {
			problems[i].Range = &at
		}
	}
}

func showPlan(a *app, p plan.Plan, detail string, warnings []session.Diagnostic) error {
	if a.JSON {
		p.Problems = append(p.Problems, warnings...)
		return view.PlanJSON(a.Out, p, a.Version)
	}
	a.Warn(warnings)
	return view.Plan(a.Out, a.OutStyle(), p, detail == "full") // its last line counts the changes, so no pager hides that
}

// savePlan lets only the owner read a plan, because it has prompts.
func savePlan(a *app, p plan.Plan, file string) error {
	b, err := plan.Encode(p)
	if err != nil {
		return err
	}
	if err := writeOwn(a.Absolute(file), b); err != nil {
		return fmt.Errorf("save the plan to %s: %w", file, err)
	}
	if !a.JSON {
		a.Say(fmt.Sprintf("\nSaved the plan to %s. To apply exactly this plan: agentform apply %s", file, file))
	}
	return nil
}

// writeOwn writes a file that only its owner can read, at once. What is there and is no file,
// as /dev/null or a pipe, is written to: root could replace it for the whole machine.
func writeOwn(path string, b []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return os.WriteFile(path, b, 0o600)
	}
	return renameio.WriteFile(path, b, 0o600, renameio.IgnoreUmask())
}

// lostState warns before sessions that someone had stopped start as new ones.
func lostState(p *project.Project, serial uint64) []session.Diagnostic {
	if serial > 0 {
		return nil
	}
	problem, remedy := rebuild.Lost(p.Manifest, p.State)
	if problem == "" {
		return nil
	}
	return []session.Diagnostic{{Severity: session.Warning, Summary: "the state is lost", Detail: problem + "\n" + remedy}}
}

type planFlags struct {
	targets, exclude, replace []string
	choose.Filter             // chooses targets besides
	destroy, refreshOnly      bool
	ignoreBudget              bool
	detail                    string
}

func (f *planFlags) registerTargets(a *app, c *cobra.Command) {
	c.Flags().StringArrayVar(&f.targets, "target", nil, "only this `address` and its dependencies (repeatable)")
	c.Flags().StringArrayVar(&f.exclude, "exclude", nil, "leave out this `address` and its dependents (repeatable)")
	filterFlags(a, c, &f.Filter, "only sessions")
	completeFlag(c, "target", completeAddresses(a, unlimited))
	completeFlag(c, "exclude", completeAddresses(a, unlimited))
}

func (f *planFlags) register(a *app, c *cobra.Command) {
	f.registerTargets(a, c)
	c.Flags().StringVar(&f.detail, "detail", "changes", "changes only, or full (includes unchanged sessions)")
	completeFlag(c, "detail", words("changes", "full"))
}

func (f *planFlags) registerMore(a *app, c *cobra.Command) {
	flags := c.Flags()
	flags.StringArrayVar(&f.replace, "replace", nil, "recreate the session at this `address` (repeatable)")
	flags.BoolVar(&f.destroy, "destroy", false, "plan to destroy all sessions")
	flags.BoolVar(&f.ignoreBudget, "ignore-budget", false, "let sessions that are over a budget go on; their budgets start over")
	flags.BoolVar(&f.refreshOnly, "refresh-only", false, "only show drift; plan no changes")
	completeFlag(c, "replace", completeAddresses(a, unlimited))
}

func (f *planFlags) options(p *project.Project) (plan.Options, error) {
	o := plan.Options{Destroy: f.destroy, RefreshOnly: f.refreshOnly, MaxRunning: p.MaxRunning, IgnoreBudget: f.ignoreBudget}
	if f.detail != "changes" && f.detail != "full" {
		return o, errors.New("--detail " + f.detail + ": must be changes or full")
	}
	switch {
	case f.destroy && f.refreshOnly:
		return o, errors.New("--destroy and --refresh-only cannot be combined")
	case f.destroy && len(f.replace) > 0:
		return o, errors.New("--destroy and --replace cannot be combined")
	}
	if len(f.targets)+len(f.exclude)+len(f.replace) == 0 && !f.Given() {
		return o, nil
	}
	s, err := state.Read(p.State)
	if err != nil && !errors.Is(err, state.ErrNone) {
		return o, err
	}
	known := choose.Addresses(p.Manifest.Sessions, s.Sessions)
	var errs []error
	for _, list := range []struct {
		typed []string
		into  *[]session.Address
	}{{f.targets, &o.Targets}, {f.exclude, &o.Exclude}, {f.replace, &o.Replace}} {
		found, err := choose.All(known, list.typed)
		*list.into = found
		errs = append(errs, err)
	}
	if f.Given() {
		chosen, err := f.Match(p.Manifest.Sessions, s.Sessions)
		o.Targets = append(o.Targets, chosen...)
		errs = append(errs, err)
	}
	return o, errors.Join(errs...)
}
