package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/generate"
	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/cmd/internal/view/ci"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
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
	x, err := makePlan(ctx, a, o.planFlags)
	if err != nil && a.Document {
		return printFailedPlan(ctx, a, o, err)
	}
	if err != nil {
		return err
	}
	warnings := x.Warnings(ctx)
	x.KeptWork(ctx)
	if a.Document {
		warnings = append(warnings, x.Project.Problems...)
	}
	if o.ci() != "" {
		x.Problems = append(x.Problems, warnings...)
		err = printPlan(ctx, a, x, o.ci())
	} else {
		err = showPlan(a, x, o.detail, warnings)
	}
	if err != nil {
		return err
	}
	if !o.Destroy && !x.Project.Manifest.HubAuto {
		reportHub(a, x.Project, x.HubNeeds())
	}
	if o.out != "" {
		if err := savePlan(a, x, o.out); err != nil {
			return err
		}
	}
	if o.generate != "" {
		if err := writeGenerated(a, x.Project, o.generate, generate.Undeclared(x.Project, x.Plan)); err != nil {
			return err
		}
	}
	a.Log.Debug("planned", "state", x.Project.State, "serial", x.Serial, "complete", x.Complete)
	switch {
	case x.Failed(warnings):
		return exit.Error
	case o.exitcode && x.Differs():
		return exit.Changes
	}
	return nil
}

func printPlan(ctx context.Context, a *app, x reconcile.Planned, format string) error {
	made, at := x.Located(project.FromTop(ctx, x.Project))
	r, err := ci.Plan(made, x.Project.Manifest.Root, at)
	if err != nil {
		return err
	}
	return printReport(a, r, format)
}

func printFailedPlan(ctx context.Context, a *app, o planOptions, err error) error {
	said := exit.Of(err)
	none := reconcile.Failure(a.Open(), err, errors.As(err, &said))
	if o.ci() != "" {
		err = printPlan(ctx, a, none, o.ci())
	} else {
		err = wire.Write(a.Out, status.PlanOf(none.Plan, a.Version))
	}
	if err != nil {
		return err
	}
	return said
}

func makePlan(ctx context.Context, a *app, f planFlags) (x reconcile.Planned, err error) {
	var p *project.Project
	if f.Destroy {
		p, _, err = a.State()
	} else if p, err = a.Manifest(); err == nil {
		err = checkCertificates(a, p)
	}
	if err != nil {
		tellUndeclared(a)
		return x, err
	}
	if err := f.checkDetail(); err != nil {
		return x, err
	}
	start := time.Now()
	x, err = reconcile.Plan(ctx, p, f.Asked)
	a.Log.Debug("compared", "took", time.Since(start))
	return x, err
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

func showPlan(a *app, x reconcile.Planned, detail string, warnings []session.Diagnostic) error {
	if a.JSON {
		x.Problems = append(x.Problems, warnings...)
		return wire.Write(a.Out, status.PlanOf(x.Plan, a.Version))
	}
	a.Warn(warnings)
	return view.Plan(a.Out, a.OutStyle(), x.Plan, detail == "full") // its last line counts the changes, so no pager hides that
}

// savePlan lets only the owner read a plan, because it has prompts.
func savePlan(a *app, x reconcile.Planned, file string) error {
	b, err := x.Encode()
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

type planFlags struct {
	reconcile.Asked
	detail string
}

func (f *planFlags) registerTargets(a *app, c *cobra.Command) {
	c.Flags().StringArrayVar(&f.Targets, "target", nil, "only this `address` and its dependencies (repeatable)")
	c.Flags().StringArrayVar(&f.Exclude, "exclude", nil, "leave out this `address` and its dependents (repeatable)")
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
	flags.StringArrayVar(&f.Replace, "replace", nil, "recreate the session at this `address` (repeatable)")
	flags.BoolVar(&f.Destroy, "destroy", false, "plan to destroy all sessions")
	flags.BoolVar(&f.IgnoreBudget, "ignore-budget", false, "let sessions that are over a budget go on; their budgets start over")
	flags.BoolVar(&f.RefreshOnly, "refresh-only", false, "only show drift; plan no changes")
	completeFlag(c, "replace", completeAddresses(a, unlimited))
}

func (f *planFlags) checkDetail() error {
	if f.detail != "changes" && f.detail != "full" {
		return errors.New("--detail " + f.detail + ": must be changes or full")
	}
	return nil
}
