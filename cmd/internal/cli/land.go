package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
	"github.com/agentform/agentform/internal/land"
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
stop the session, remove its workspace and delete the branch.

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
the state and the history then say. Where the result is not the tree that was verified, the
setup and the verify command run in a checkout of it first, in the session's container or pod if
it has one.

--all lands the work of all sessions, one after the other: those that others depend on first,
then those that conflict with the fewest. The order, and the tree of the base after each, is
printed before; --dry-run prints only that. Work that conflicts with its base as it is then, or
whose session is not at rest, is left out, with the sessions that depend on it. If a merge
has another tree than was printed, the rest does not land. Sessions that depend on what has
landed, and rest, are refreshed. With --ask nothing lands unless you agree to the order.

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
	f.BoolVar(&o.remove, "remove", false, "then stop the session, remove its workspace and delete the branch")
	f.BoolVar(&o.stop, "stop", false, "then stop the session")
	f.BoolVar(&o.keep, "keep", false, "then leave the session as it is, and do not ask")
	return c
}
