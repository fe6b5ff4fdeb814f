package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/land"
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
checkout, with your hooks and signing, and the workspace moves only if nothing conflicts. The
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
	seen, err := newObserver(a, p).observe(ctx)
	if err != nil {
		return err
	}
	var all []session.Address
	for _, address := range named {
		if r := seen.of(address).Record; o.byFlag() && (r == nil || r.Unmade() || r.Spent() || r.Tree.Mode == session.Plain) {
			continue
		}
		all = append(all, address)
	}
	if len(all) == 0 {
		a.say("No sessions to refresh.")
		return nil
	}
	results := make([]view.Refreshed, 0, len(all))
	for _, address := range all { // one at a time: they may share a repository
		x := view.Refreshed{Refreshed: land.Refreshed{Address: address}}
		if l, err := landerOf(a, p, seen, address); err != nil {
			x.Err = err
		} else {
			x.Refreshed, x.Err = refreshOne(ctx, a, p, l, o.dryRun)
		}
		if results = append(results, x); ctx.Err() != nil {
			break
		}
	}
	return endRefresh(a, results, len(all), o.dryRun)
}

// refreshOne brings the base into the branch of one session, or asks its agent to.
func refreshOne(ctx context.Context, a *app, p *project.Project, l *land.Lander, dryRun bool) (land.Refreshed, error) {
	r := l.Record
	method := land.Merge
	if r.Spec.Refresh.Method == string(land.Rebase) {
		method = land.Rebase
	}
	working, stop := untilInterrupted(ctx)
	defer stop()
	done, err := l.Refresh(working, method, dryRun)
	if err != nil || dryRun {
		return done, err
	}
	if len(done.Conflicts) > 0 && r.Spec.Refresh.OnConflict == session.ConflictSends && l.Doing != "" {
		targets, err := targetsOf(ctx, p, []session.Record{r}, r.Address)
		if err != nil {
			return done, err
		}
		sent := targets[0].send(ctx, a, p.Activity(), sendOptions{Input: session.Input{Text: done.Request()}})
		done.Sent = sent.Err == nil
		return done, sent.Err
	}
	if done.Done && !done.Already {
		e := history.Event{Time: time.Now(), Address: r.Address, ID: r.ID, Run: r.Run.ID, Kind: history.Refreshed, By: p.Who().User,
			Old: done.From, New: done.To, Reason: string(done.Method), Detail: view.RefreshedDetail(done)}
		if err := history.Append(p.SessionDir(r), e); err != nil {
			a.log.Warn("it was refreshed, but the history cannot be written", "error", err)
		}
	}
	return done, nil
}

func endRefresh(a *app, results []view.Refreshed, all int, dryRun bool) error {
	var errs []error
	failed := 0
	for _, x := range results {
		if x.Err != nil {
			errs = append(errs, x.Err)
			continue
		}
		if len(x.Conflicts) > 0 && !x.Sent {
			failed++
		}
		if !a.globals.json {
			if err := view.RefreshedLine(a.env.Stdout, a.out(), x.Refreshed, dryRun); err != nil {
				return err
			}
		}
	}
	if a.globals.json {
		if err := view.RefreshedJSON(a.env.Stdout, results, dryRun); err != nil {
			return err
		}
	}
	m := view.Many{Verb: "refreshed", All: all, Done: len(results) - len(errs) - failed, Failed: len(errs) + failed, Left: all - len(results)}
	if err := endMany(a, m, a.env.Stderr, errs); err != nil {
		return err
	}
	if failed > 0 {
		return outcome(exitError)
	}
	return nil
}
