package cli

import (
	"context"
	"errors"

	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/cmd/internal/view/ci"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

func showPlan(a *app, x reconcile.Planned, detail string, warnings []session.Diagnostic) error {
	if a.JSON {
		x.Problems = append(x.Problems, warnings...)
		return wire.Write(a.Out, status.PlanOf(x.Plan, a.Version))
	}
	a.Warn(warnings)
	return view.Plan(a.Out, a.OutStyle(), x.Plan, detail == "full") // its last line counts the changes, so no pager hides that
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
