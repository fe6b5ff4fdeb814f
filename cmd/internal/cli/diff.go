package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/action/workspace"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
)

type diffOptions struct {
	sessionArgs
	paths []string
	form  string // --stat or --name-only; empty: the whole diff
	since string
}

func diffCommand(a *app) *cobra.Command {
	var o diffOptions
	var stat, nameOnly bool
	c := &cobra.Command{
		Use:   "diff [ADDR...] [-- PATH...]",
		Short: "Show what sessions changed",
		Long: `Shows how the workspaces of sessions, by default of all, differ from the merge base of their
branch and its base: commits, uncommitted changes and untracked files. git shows it, with your
settings, colors and pager.

The base is the workspace's base in the manifest. Without one it is the branch of the
repository's own checkout, the default branch of its remote, main or master: the first of
them that is another branch than the session's. With --since it is the last commit of the
branch before that time, if there is one.

In the clone of a container git runs in the container, which must run, since its agent may
have changed what git executes; colors and pager are yours. To see only what was committed
there, use agentform fetch and git diff.`,
		Example: `  agentform diff api
  agentform diff --stat
  agentform diff 'worker["web"]' -- internal/
  agentform diff --role builder --name-only
  agentform diff api --since 8h
  agentform diff api --json`,
		RunE: func(c *cobra.Command, args []string) error {
			o.paths = afterDash(c, args)
			if args = args[:len(args)-len(o.paths)]; len(args) == 0 && !o.ByFlag() {
				o.All = true
			}
			if err := o.set(c, args); err != nil {
				return err
			}
			switch {
			case stat && nameOnly || a.JSON && (stat || nameOnly):
				return exit.Usage(c.CommandPath(), errors.New("--stat, --name-only and --json exclude each other"))
			case stat:
				o.form = "--stat"
			case nameOnly:
				o.form = "--name-only"
			}
			return runDiff(c.Context(), a, o)
		},
	}
	f := c.Flags()
	f.BoolVar(&stat, "stat", false, "show the number of changed lines of each file")
	f.StringVar(&o.since, "since", "", "show only what changed since this `time`: a duration ago such as 8h, or a date such as 2026-11-01")
	f.BoolVar(&nameOnly, "name-only", false, "show only the names of changed files")
	o.register(a, c, "sessions")
	return c
}

func runDiff(ctx context.Context, a *app, o diffOptions) error {
	since, err := flags.Since(o.since, time.Now())
	if err != nil {
		return exit.Usage("agentform diff", err)
	}
	p, s, err := a.Recorded(o.Typed)
	if err != nil {
		return err
	}
	named, err := o.Recorded(p.Manifest.Sessions, s.Sessions)
	if err != nil {
		return err
	}
	var compared []*workspace.Comparison
	var errs []error
	for _, address := range named {
		r := *project.Find(s.Sessions, address)
		if o.ByFlag() && !r.HasBranch() {
			continue
		}
		x, err := workspace.Compare(ctx, p, s.Lineage, r, since)
		if err != nil {
			errs = append(errs, target.OfSession(address, err))
			continue
		}
		defer x.Close()
		compared = append(compared, x)
	}
	all := len(compared) + len(errs)
	switch {
	case a.JSON:
		errs = append(errs, diffJSON(ctx, a, o, compared)...)
	case len(compared) == 1 && len(named) == 1 && compared[0].Trusted:
		return showOne(ctx, a, compared[0], o)
	case len(compared) > 0:
		errs = append(errs, showAll(ctx, a, o, compared)...)
	}
	return endMany(a, view.Many{Verb: "showed the changes of", All: all, Done: max(0, all-len(errs)), Failed: len(errs)}, nil, errs)
}
