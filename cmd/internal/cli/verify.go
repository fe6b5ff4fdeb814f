package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/logs"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/action/workspace"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

func verifyCommand(a *app) *cobra.Command {
	var o sessionArgs
	c := &cobra.Command{
		Use:   "verify ADDR...",
		Short: "Run the command that has to succeed before work counts",
		Long: `Runs the command of a session's verify block now, where its agent works, and records whether
the commit of its branch is verified. The hub and apply --wait do that when a turn has ended.

The agent must rest, and is sent nothing. What is not committed, a change of a protected file,
or a command that changes the workspace counts as a failure. The whole output is kept:
agentform logs --verify prints it.

Exit 1 if work is not verified.`,
		Example: `  agentform verify api
  agentform verify --all
  agentform verify api --json`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.set(c, args); err != nil {
				return err
			}
			return runVerify(c.Context(), a, o)
		},
	}
	o.register(a, c, "sessions")
	return c
}

func runVerify(ctx context.Context, a *app, o sessionArgs) error {
	p, _, named, err := o.open(a)
	if err != nil {
		return err
	}
	e := project.Fleet(p)
	seen, err := e.Look(ctx)
	if err != nil {
		return err
	}
	all, resting, err := target.Choose(seen, named, o.ByFlag())
	if err != nil {
		return err
	}
	reportLeftOut(a, resting)
	if len(all) == 0 {
		a.Say("No sessions to verify.")
		return nil
	}
	access := target.Verifications(p, e, seen, p.Reconciler(project.ToAct))
	given := make([]view.Verification, len(all))
	begun := a.Each(ctx, len(all), a.Open().Parallelism, func(ctx context.Context, i int) { given[i] = target.Verify(ctx, p, access, all[i]) })
	return results[view.Verification]{
		verb: "verified", all: len(all), given: given[:begun], json: view.VerifiedJSON, to: a.Err,
		fault: func(x view.Verification) error { return x.Err },
		good:  func(x view.Verification) bool { return x.Verified.OK },
		line:  func(x view.Verification) error { return view.Verified(a.Out, a.OutStyle(), x) },
	}.end(a)
}

// runVerifyLogs prints what the commands of the last verifications printed.
func runVerifyLogs(ctx context.Context, a *app, o logsOptions, records []session.Record) error {
	tails := make([]view.Tail, len(records))
	for i, r := range records {
		text, err := workspace.VerifyLog(ctx, a.Opened(), r)
		tails[i] = view.Tail{Address: r.Address, Text: logs.LastLines(o.Tail, text)}
		if err != nil {
			tails[i].Err = target.OfSession(r.Address, err)
		}
	}
	x := tailResults(a, "printed the logs of", len(records), tails, len(records) == 1 && !o.ByFlag())
	x.line = func(t view.Tail) error { // of the whole text
		if len(records) > 1 {
			if err := view.Title(a.Out, a.OutStyle(), t.Address); err != nil {
				return err
			}
		}
		_, err := io.WriteString(a.Out, plaintext.Safe(t.Text))
		return err
	}
	return x.end(a)
}
