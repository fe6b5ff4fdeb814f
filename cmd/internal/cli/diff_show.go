package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"syscall"

	"github.com/agentform/agentform/cmd/internal/action/workspace"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
)

// showOne lets git show the diff on its own, with pager and colors.
func showOne(ctx context.Context, a *app, x *workspace.Comparison, o diffOptions) error {
	color := ""
	if a.NoColor || a.Environ.Get("NO_COLOR") != "" {
		color = "never"
	}
	args := x.Arguments(o.form, color, o.paths)
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
		args := x.Arguments(o.form, color, o.paths)
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
