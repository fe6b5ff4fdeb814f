package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/generate"
	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/exit"
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

func savePlan(a *app, x reconcile.Planned, file string) error {
	if err := x.Save(a.Absolute(file)); err != nil {
		return fmt.Errorf("save the plan to %s: %w", file, err)
	}
	if !a.JSON {
		a.Say(fmt.Sprintf("\nSaved the plan to %s. To apply exactly this plan: agentform apply %s", file, file))
	}
	return nil
}
