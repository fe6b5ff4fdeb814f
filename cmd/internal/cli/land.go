package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/landing"
	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/session"
)

type landOptions struct {
	land.Request
	all, verified, ask bool
	dryRun             bool
	stop, remove, keep bool
}

func landCommand(a *app) *cobra.Command {
	var o landOptions
	var merge, squash, rebase, pr, noVerify bool
	c := &cobra.Command{
		Use:   "land ADDR | --all",
		Short: "Bring a session's work to its base branch",
		Long: `Merges the branch of a session into its base, or opens a pull request, and then offers to
stop the session, remove its worktree and delete the branch.

The base is the workspace's base in the manifest. Without one it is the branch of the
repository's own checkout, the default branch of its remote, main or master: the first of
them that is another branch than the session's. --into names another.

The session must be at rest, and its work committed; --commit commits the rest first. The
work is merged in a temporary checkout, with your hooks and signing, and then the base is
moved, together with a checkout that has it checked out. As with git merge, uncommitted
changes there stay, and ignored files may be overwritten. If the work would overwrite an
uncommitted change or an untracked file, or if files conflict, the files are named and nothing
is changed. The branch of a container's clone is fetched first.

A session with a verify block lands commits that are verified; --unverified lands others, which
the state and the history then say.

--all lands the work of all sessions, one after the other: those that others depend on first,
then those that conflict with the fewest. The order, and the tree of the base after each, is
printed before; --dry-run prints only that. Work that conflicts with its base as it is then, or
whose session is not at rest, is left out, with the sessions that depend on it. If a merge
has another tree than was printed, the rest does not land. Where the result is not the tree
that was verified, the setup and the verify command of the session run in a checkout of it
first. Sessions that depend on what has landed, and rest, are refreshed. With --ask nothing
lands unless you agree to the order.

With --pr the branch is pushed, and gh or glab opens the pull request; if it is not
installed, the address to open is printed. The hub sends the agent of a session with a pr block
what becomes of it, and records that it has landed when it is merged.

What happens afterwards is asked at a terminal. --remove, --stop and --keep answer in advance.
After an interruption, run the same command again to continue.`,
		Example: `  agentform land api
  agentform land api --squash -m 'Add retries' --remove
  agentform land 'worker["web"]' --rebase --dry-run
  agentform land api --commit 'Add tests' --pr
  agentform land --all --dry-run`,
		Args: func(c *cobra.Command, args []string) error {
			switch {
			case o.all && len(args) > 0:
				return exit.Usage(c.CommandPath(), errors.New("--all lands all sessions: omit the address"))
			case o.all:
				return nil
			}
			return flags.Arguments(1, 1)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			given := slices.DeleteFunc([]string{"--merge", "--squash", "--rebase", "--pr"}, func(flag string) bool { return !c.Flag(flag[2:]).Changed })
			after := slices.DeleteFunc([]string{"--stop", "--remove", "--keep"}, func(flag string) bool { return !c.Flag(flag[2:]).Changed })
			switch {
			case len(given) > 1:
				return exit.Usage(c.CommandPath(), fmt.Errorf("%s exclude each other", strings.Join(given, " and ")))
			case len(after) > 1:
				return exit.Usage(c.CommandPath(), fmt.Errorf("%s exclude each other", strings.Join(after, " and ")))
			case o.verified && !o.all:
				return exit.Usage(c.CommandPath(), errors.New("--verified chooses among --all: without it a session with a verify block lands only verified commits anyway"))
			case o.ask && (!o.all || o.dryRun || a.JSON):
				return exit.Usage(c.CommandPath(), errors.New("--ask is for --all, at a terminal, without --dry-run and --json"))
			case o.all && (pr || o.Commit != "" || o.Message != "" || o.Into != ""):
				return exit.Usage(c.CommandPath(), errors.New("--pr, --commit, --message and --into are for one session, not for --all"))
			case rebase && o.Message != "":
				return exit.Usage(c.CommandPath(), errors.New("--rebase keeps the messages of the commits: omit --message"))
			case pr && o.remove:
				return exit.Usage(c.CommandPath(), errors.New("--pr cannot remove what is not merged yet: give --remove when the pull request is merged"))
			case c.Flag("commit").Changed && strings.TrimSpace(o.Commit) == "":
				return exit.Usage(c.CommandPath(), errors.New("--commit needs a message"))
			}
			o.Method = land.Merge
			if len(given) == 1 {
				o.Method = land.Method(given[0][2:])
			}
			o.Verify = !noVerify
			if o.all {
				return runLandAll(c.Context(), a, o)
			}
			return runLand(c.Context(), a, args[0], o)
		},
	}
	f := c.Flags()
	f.BoolVar(&merge, "merge", false, "merge as git merge does: fast-forward if possible, else with a merge commit (default)")
	f.BoolVar(&squash, "squash", false, "squash all commits into one")
	f.BoolVar(&rebase, "rebase", false, "put the commits on top of the base")
	f.BoolVar(&pr, "pr", false, "push the branch and open a pull request")
	f.StringVar(&o.Commit, "commit", "", "first commit what is uncommitted, with this `message`")
	f.StringVarP(&o.Message, "message", "m", "", "`message` of the merge, the squashed commit or the pull request")
	f.StringVar(&o.Into, "into", "", "`branch` to land on, instead of the base")
	f.BoolVar(&noVerify, "no-verify", false, "skip the git hooks that can refuse, as git does")
	f.BoolVar(&o.Unverified, "unverified", false, "land also what its verify block has not verified, and record that")
	f.BoolVar(&o.all, "all", false, "land all sessions, in the order that --dry-run shows")
	f.BoolVar(&o.verified, "verified", false, "with --all: only sessions whose work is verified")
	f.BoolVar(&o.ask, "ask", false, "with --all: ask before what is shown lands")
	f.BoolVar(&o.dryRun, "dry-run", false, "only show what would be done")
	f.BoolVar(&o.remove, "remove", false, "then stop the session, remove its worktree and delete the branch")
	f.BoolVar(&o.stop, "stop", false, "then stop the session")
	f.BoolVar(&o.keep, "keep", false, "then leave the session as it is, and do not ask")
	return c
}

func runLand(ctx context.Context, a *app, typed string, o landOptions) error {
	p, s, err := a.State()
	if err != nil {
		return err
	}
	address, err := choose.One(choose.Addresses(p.Manifest.Sessions, s.Sessions), typed)
	var rec *session.Record
	if err == nil {
		rec = project.Find(s.Sessions, address)
	}
	switch {
	case err == nil && rec == nil:
		err = target.NotApplied(address)
	case rec != nil && rec.Spent():
		err = target.Spent(*rec)
	}
	if err != nil {
		if o.dryRun || o.keep {
			return err
		}
		show := func(d land.Landed, after view.Cleanup) error {
			if a.JSON {
				return view.LandJSON(a.Out, d, after, false)
			}
			return view.Cleaned(a.Out, a.OutStyle(), d, after)
		}
		if found, again := landing.FinishRemoval(ctx, p, typed, show); found {
			return again
		}
		return err
	}
	f := landing.Of(p, printStep(a), a.Warn)
	l, err := f.Lander(ctx, address)
	if err != nil {
		return err
	}
	if o.dryRun {
		return landDryRun(ctx, a, l, o)
	}
	working, stop := streams.UntilInterrupted(ctx)
	done, err := l.Land(working, o.Request, func(step land.Step) { f.Step(address, step) })
	interrupted := working.Err() != nil && ctx.Err() == nil
	stop()
	f.Record(ctx, l.Record, done, o.remove)
	if err != nil && interrupted {
		fmt.Fprintln(a.Err, "Interrupted: nothing was landed. Run the same command to continue.")
		return exit.Interrupted
	}
	if err != nil {
		return err
	}
	if !a.JSON {
		if err := view.Landed(a.Out, a.OutStyle(), done); err != nil {
			return err
		}
	}
	after, err := cleanUp(ctx, a, p, l, done, o)
	if a.JSON {
		return errors.Join(err, view.LandJSON(a.Out, done, after, false))
	}
	return errors.Join(err, view.Cleaned(a.Out, a.OutStyle(), done, after))
}

// printStep prints what is about to be done.
func printStep(a *app) func(session.Address, land.Step) {
	return func(address session.Address, step land.Step) {
		if !a.JSON {
			_ = view.LandStep(a.Err, a.ErrStyle(), address, step) // only progress
		}
	}
}

func landDryRun(ctx context.Context, a *app, l *land.Lander, o landOptions) error {
	f, steps, err := landing.Decide(ctx, l, o.Request)
	if err != nil {
		return err
	}
	if !a.JSON {
		return view.LandPlan(a.Out, a.OutStyle(), f, steps)
	}
	return view.LandJSON(a.Out, landing.WouldBe(f, steps, o.Method), view.Cleanup{}, true)
}

// cleanUp does what was asked for after landing, or asks.
func cleanUp(ctx context.Context, a *app, p *project.Project, l *land.Lander, d land.Landed, o landOptions) (c view.Cleanup, err error) {
	r := l.Record
	stopped := landing.Stopped(r)
	if !o.stop && !o.remove && !o.keep {
		if a.JSON || !streams.IsTerminal(a.In) {
			hintCleanup(a, r, d)
			return c, nil
		}
		if o.remove, o.stop, err = askCleanup(a, r, d, stopped); err != nil {
			return c, err
		}
	}
	switch {
	case o.remove && !d.Done:
		return c, errors.New("nothing was removed: the work is not in its base")
	case o.remove:
		return landing.Remove(ctx, p, l, d, func(x reconcile.Planned) error {
			return runQuietly(a, func(quiet *app) error {
				t, err := newReporter(quiet, "Destroy")
				if err != nil {
					return err
				}
				return applyOnly(ctx, quiet, t, x, reconcile.Run{Origin: r.Origin})
			})
		})
	case o.stop && !stopped:
		stop := overrideOptions{sessionArgs: named([]string{string(r.Address)}), Override: reconcile.Override{Verb: reconcile.Stop}}
		err = runQuietly(a, func(quiet *app) error { return runOverride(ctx, quiet, stop) })
		c.Stopped = err == nil
	}
	return c, err
}

// hintCleanup says how to do later what nobody can be asked now.
func hintCleanup(a *app, r session.Record, d land.Landed) {
	switch {
	case a.JSON:
	case d.Done:
		a.Say("To stop it, remove its worktree and delete the branch: agentform land " + target.Quoted(r.Address) + " --remove")
	default:
		a.Say("When it is merged and fetched: agentform land " + target.Quoted(r.Address) + " --remove")
	}
}

// askCleanup asks what is done with a session whose work is landed.
func askCleanup(a *app, r session.Record, d land.Landed, stopped bool) (remove, stop bool, err error) {
	switch {
	case d.Done && r.Tree.Created:
		a.Say(fmt.Sprintf("\nRemove %s: stop it, remove its workspace and delete the branch %s?", r.Address, d.Branch))
		fmt.Fprint(a.Err, "  yes, stop (only stop it) or no [no]: ")
	case d.Done:
		a.Say(fmt.Sprintf("\nRemove %s: stop it and remove it from the state? Its workspace and branch are kept.", r.Address))
		fmt.Fprint(a.Err, "  yes, stop (only stop it) or no [no]: ")
	case stopped:
		return false, false, nil
	default:
		fmt.Fprintf(a.Err, "\nStop %s until the pull request is merged?\n  yes or no [no]: ", r.Address)
	}
	text, err := a.Answer()
	if err != nil {
		return false, false, err
	}
	switch strings.ToLower(text) {
	case "yes", "y":
		return d.Done, !d.Done, nil
	case "stop", "s":
		return false, true, nil
	}
	return false, false, nil
}

// runQuietly runs a command whose own output, with --json, would not fit the document.
func runQuietly(a *app, run func(*app) error) error {
	if !a.JSON {
		return run(a)
	}
	s, o := *a.Streams, *a.Opener
	s.JSON, s.Out, o.Streams = false, a.Err, &s
	quiet := *a
	quiet.Opener = &o
	return run(&quiet)
}
