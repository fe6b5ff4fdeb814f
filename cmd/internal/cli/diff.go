package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/action/workspace"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/session"
)

type diffOptions struct {
	sessionArgs
	paths          []string
	stat, nameOnly bool
}

func diffCommand(a *app) *cobra.Command {
	var o diffOptions
	c := &cobra.Command{
		Use:   "diff [ADDR...] [-- PATH...]",
		Short: "Show what sessions changed",
		Long: `Shows how the workspaces of sessions, by default of all, differ from the merge base of their
branch and its base: commits, uncommitted changes and untracked files. git shows it, with your
settings, colors and pager.

The base is the workspace's base in the manifest. Without one it is the branch of the
repository's own checkout, the default branch of its remote, main or master: the first of
them that is another branch than the session's.

In the clone of a container git runs in the container, which must run, since its agent may
have changed what git executes; colors and pager are yours. To see only what was committed
there, use agentform fetch and git diff.`,
		Example: `  agentform diff api
  agentform diff --stat
  agentform diff 'worker["web"]' -- internal/
  agentform diff --role builder --name-only
  agentform diff api --json`,
		RunE: func(c *cobra.Command, args []string) error {
			o.paths = afterDash(c, args)
			if args = args[:len(args)-len(o.paths)]; len(args) == 0 && !o.ByFlag() {
				o.All = true
			}
			if err := o.set(c, args); err != nil {
				return err
			}
			if o.stat && o.nameOnly || a.JSON && (o.stat || o.nameOnly) {
				return exit.Usage(c.CommandPath(), errors.New("--stat, --name-only and --json exclude each other"))
			}
			return runDiff(c.Context(), a, o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.stat, "stat", false, "show the number of changed lines of each file")
	f.BoolVar(&o.nameOnly, "name-only", false, "show only the names of changed files")
	o.register(a, c, "sessions")
	return c
}

func runDiff(ctx context.Context, a *app, o diffOptions) error {
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
		if o.ByFlag() && (r.Tree.Mode == session.Plain || r.Unmade() || r.Spent()) {
			continue
		}
		x, err := workspace.Compare(ctx, p, s.Lineage, r)
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

// gitArguments returns the arguments of git for what is to be shown.
func gitArguments(x *workspace.Comparison, o diffOptions, color string) []string {
	args := []string{"diff"}
	if !x.Trusted {
		args = append(args, "--no-ext-diff", "--no-textconv")
	}
	switch {
	case o.stat:
		args = append(args, "--stat")
	case o.nameOnly:
		args = append(args, "--name-only")
	}
	if color != "" {
		args = append(args, "--color="+color)
	}
	return slices.Concat(args, x.From.Args(), o.paths)
}

// showOne lets git show the diff on its own, with pager and colors.
func showOne(ctx context.Context, a *app, x *workspace.Comparison, o diffOptions) error {
	color := ""
	if a.NoColor || a.Environ.Get("NO_COLOR") != "" {
		color = "never"
	}
	args := gitArguments(x, o, color)
	if a.NoPager {
		args = append([]string{"--no-pager"}, args...)
	}
	c := x.View.Command(context.WithoutCancel(ctx), a.Environ, args...)
	if pager, set := a.Environ.Lookup(streams.PagerVariable); set {
		c.Env = append(c.Env, "GIT_PAGER="+pager)
	}
	c.Stdin, c.Stdout, c.Stderr = a.In, a.Out, a.Err
	return endOfDiff(streams.Foreground(c))
}

// endOfDiff returns an error for an exit status of git. A pager that is left early ends git
// by SIGPIPE.
func endOfDiff(code int, err error) error {
	if err == nil && code != 0 && code != 128+int(syscall.SIGPIPE) {
		return exit.Error // git has said why
	}
	return err
}

// showAll shows several diffs in one pager, each below a title.
func showAll(ctx context.Context, a *app, o diffOptions, all []*workspace.Comparison) (errs []error) {
	style := a.OutStyle()
	color := "never"
	if style.Color && a.GitSays(ctx, "config", "--get-colorbool", "color.diff", "true") != "false" {
		color = "always"
	}
	style.Color = color == "always"
	out := a.Out
	if style.Width > 0 && !a.NoPager {
		pager, end := a.StartPager(ctx)
		defer func() {
			if err := end(); err != nil {
				errs = append(errs, err)
			}
		}()
		out = pager
	}
	for _, x := range all {
		w := &streams.Titled{W: out}
		if len(all) > 1 {
			w.Title = view.DiffTitle(style, x.Record.Address, x.Record.Tree.Branch, x.Base.Name)
		}
		var said bytes.Buffer
		args := gitArguments(x, o, color)
		c := x.Command(ctx, a.Environ, style.Width, args)
		c.Stdout, c.Stderr = w, &said
		if err := c.Run(); err != nil && w.Err == nil {
			errs = append(errs, fmt.Errorf("%s: %w: %s", x.Record.Address, err, strings.TrimSpace(said.String())))
		}
		if w.Err != nil {
			break // the pager was left
		}
	}
	return errs
}

// diffJSON prints the files that differ.
func diffJSON(ctx context.Context, a *app, o diffOptions, all []*workspace.Comparison) (errs []error) {
	docs := []view.Diff{}
	for _, x := range all {
		d, err := x.Document(ctx, o.paths)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", x.Record.Address, err))
			continue
		}
		docs = append(docs, d)
	}
	if err := view.DiffJSON(a.Out, docs); err != nil {
		errs = append(errs, err)
	}
	return errs
}
