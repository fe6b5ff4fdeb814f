package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/landing"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

type refreshOptions struct {
	sessionArgs
	dryRun bool
}

func refreshCommand(a *app) *cobra.Command {
	var o refreshOptions
	c := &cobra.Command{
		Use:   "refresh ADDR...",
		Short: "Bring the base into the branches of sessions",
		Long: `Merges the base of a session into its branch, so that the agent continues on what the others
have landed; with refresh { method = "rebase" } the branch is rebased instead. If the same
branch of origin was fetched and has all of the base, that is brought. BEHIND in status says
how many commits a session lacks.

The agent must rest, and what it changed must be committed. The result is made in a temporary
checkout, with your hooks and signing, and the workspace moves only if nothing conflicts. A
clone, also in a container or a pod, gets the commits and is moved where its agent works. The
agent is not told. If files conflict, nothing is changed, they are named, and with
refresh { on_conflict = "send" } a running agent is asked to merge the base itself.

With --all, --role and --label, sessions in directories without git are left out.

Exit 1 if a session could not be refreshed.`,
		Example: `  agentform refresh api
  agentform refresh --all --dry-run
  agentform refresh --all --json`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.set(c, args); err != nil {
				if len(args) == 0 {
					err = fmt.Errorf("%w\n\nto compare the state with what runs, as terraform refresh does: agentform plan --refresh-only", err)
				}
				return err
			}
			return runRefresh(c.Context(), a, o)
		},
	}
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only show what would be done")
	o.register(a, c, "sessions")
	return c
}

func runRefresh(ctx context.Context, a *app, o refreshOptions) error {
	p, _, named, err := o.open(a)
	if err != nil {
		return err
	}
	f := landing.Of(p, printStep(a), a.Warn)
	seen, err := f.Look(ctx)
	if err != nil {
		return err
	}
	var all []session.Address
	for _, address := range named {
		if r := seen.Of(address).Record; o.ByFlag() && (r == nil || !r.HasBranch()) {
			continue
		}
		all = append(all, address)
	}
	if len(all) == 0 {
		a.Say("No sessions to refresh.")
		return nil
	}
	given := make([]land.RefreshResult, 0, len(all))
	for _, address := range all { // one at a time: they may share a repository
		x := land.RefreshResult{Refreshed: land.Refreshed{Address: address}}
		if l, err := f.LanderOf(seen, address); err != nil {
			x.Err = err
		} else {
			working, stop := streams.UntilInterrupted(ctx)
			x.Refreshed, x.Err = f.Refresh(working, l, o.dryRun)
			stop()
		}
		if given = append(given, x); ctx.Err() != nil {
			break
		}
	}
	return results[land.RefreshResult]{
		verb: "refreshed", all: len(all), given: given, to: a.Err,
		fault: func(x land.RefreshResult) error { return x.Err },
		good:  func(x land.RefreshResult) bool { return len(x.Conflicts) == 0 || x.Sent },
		line: func(x land.RefreshResult) error {
			return view.RefreshedLine(a.Out, a.OutStyle(), x.Refreshed, o.dryRun)
		},
		json: func(w io.Writer, all []land.RefreshResult) error {
			return wire.Write(w, status.RefreshesOf(all, o.dryRun))
		},
	}.end(a)
}
