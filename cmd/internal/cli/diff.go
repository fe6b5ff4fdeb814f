package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/changes"
	"github.com/agentform/agentform/internal/git"
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
			if args = args[:len(args)-len(o.paths)]; len(args) == 0 && !o.byFlag() {
				o.all = true
			}
			if err := o.set(c, args); err != nil {
				return err
			}
			if o.stat && o.nameOnly || a.globals.json && (o.stat || o.nameOnly) {
				return usageError{c.CommandPath(), errors.New("--stat, --name-only and --json exclude each other")}
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
	p, s, err := a.openRecorded(o.typed)
	if err != nil {
		return err
	}
	named, err := o.recorded(p.Manifest.Sessions, s.Sessions)
	if err != nil {
		return err
	}
	var compared []*comparison
	var errs []error
	for _, address := range named {
		r := *project.Find(s.Sessions, address)
		if o.byFlag() && (r.Tree.Mode == session.Plain || r.Unmade() || r.Spent()) {
			continue
		}
		x, err := compare(ctx, a, r)
		if err != nil {
			errs = append(errs, ofSession(address, err))
			continue
		}
		defer x.close()
		compared = append(compared, x)
	}
	all := len(compared) + len(errs)
	switch {
	case a.globals.json:
		errs = append(errs, diffJSON(ctx, a, o, compared)...)
	case len(compared) == 1 && len(named) == 1 && compared[0].trusted:
		return compared[0].show(ctx, a, o)
	case len(compared) > 0:
		errs = append(errs, showAll(ctx, a, o, compared)...)
	}
	return endMany(a, view.Many{Verb: "showed the changes of", All: all, Done: max(0, all-len(errs)), Failed: len(errs)}, nil, errs)
}

// comparison is a workspace that is compared with its base.
type comparison struct {
	record  session.Record
	base    git.Base
	from    git.Base // with one merge base
	trusted bool     // git of this machine runs in it, also what its configuration names
	// untracked are the untracked files of the workspace, which git shows as new ones.
	untracked []string
	view      *git.View // nil: elsewhere
	// elsewhere returns a command that runs in its place; nil: its place is this machine.
	elsewhere func(argv ...string) []string
}

// compare prepares the comparison of a session's workspace.
func compare(ctx context.Context, a *app, r session.Record) (*comparison, error) {
	if r.Tree.Mode == session.Plain {
		return nil, errors.New("it works in a directory without git")
	}
	if err := checkWorkspace(r); err != nil {
		return nil, err
	}
	if err := project.UseLocalRepo(a.open(), &r); err != nil {
		return nil, err
	}
	host := changes.HostGit(r)
	look := git.LookClone
	if host {
		look = git.Look
	}
	_, s, err := a.openState()
	if err != nil {
		return nil, err
	}
	v, err := volumeOf(a, s.Lineage, r)
	if err != nil {
		return nil, err
	}
	if v != nil {
		look = func(string) session.Checkout { return v.Look(ctx) }
	}
	co := look(r.Tree.Path)
	if co.Err != nil || !co.Git {
		return nil, errors.Join(fmt.Errorf("its workspace is not a git checkout: %s", r.Tree.Path), co.Err)
	}
	w := changes.Of(r, co, nil, nil)
	bases, err := git.BasesOf(w.Repo)
	if err != nil {
		return nil, err
	}
	x := &comparison{record: r, base: bases.Base(w.Branch, w.Declared), trusted: host && r.Spec.Runtime.Traits().HostProcesses}
	if v != nil {
		start, err := v.Start(ctx, w.Branch)
		if err != nil {
			return nil, err
		}
		x.base = x.base.From(ctx, w.Repo, start)
	} else if w.Clone {
		if x.base, err = x.base.InClone(ctx, w.Repo, co.Path, w.Branch); err != nil {
			return nil, err
		}
	}
	if host {
		x.single(ctx)
		if x.view, err = git.NewView(ctx, co.Path); err == nil {
			x.untracked = x.view.Untracked
		}
		return x, err
	}
	// The place is looked for once. What runs in it comes in the place of the last word.
	line, err := elsewhere(ctx, a, r, session.Command{Dir: co.Path, Argv: []string{"git"}})
	if err != nil {
		return nil, err
	}
	x.elsewhere = func(argv ...string) []string { return slices.Concat(line[:len(line)-1], argv) }
	x.single(ctx)
	x.untracked, err = git.UntrackedFiles(ctx, x.runner())
	return x, err
}

// single finds a base with one merge base.
func (x *comparison) single(ctx context.Context) {
	var err error
	if x.from, err = x.base.Single(ctx, x.runner()); err != nil {
		x.from = x.base // git diff says what is wrong with it
	}
}

func (x *comparison) close() {
	if x.view != nil {
		_ = x.view.Close() // a temporary directory
	}
}

// runner returns what runs git in the workspace.
func (x *comparison) runner() git.Runner {
	if x.elsewhere == nil {
		return git.Here(x.record.Tree.Path)
	}
	return git.Elsewhere(x.elsewhere(git.CommandElsewhere()...), "")
}

// inView runs git where git diff shows untracked files.
func (x *comparison) inView(ctx context.Context, args ...string) (string, error) {
	if x.elsewhere == nil {
		return x.view.Run(ctx, args...)
	}
	return git.Elsewhere(x.elsewhere(git.ViewElsewhere(80, args...)...), git.ViewInput(x.untracked, x.base.Commit))(ctx)
}

// arguments returns the arguments of git for what is to be shown.
func (x *comparison) arguments(o diffOptions, color string) []string {
	args := []string{"diff"}
	if !x.trusted {
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
	return slices.Concat(args, x.from.Args(), o.paths)
}

// show lets git show the diff on its own, with pager and colors.
func (x *comparison) show(ctx context.Context, a *app, o diffOptions) error {
	color := ""
	if a.globals.noColor || a.env.Environ.Get("NO_COLOR") != "" {
		color = "never"
	}
	args := x.arguments(o, color)
	if a.globals.noPager {
		args = append([]string{"--no-pager"}, args...)
	}
	c := x.view.Command(context.WithoutCancel(ctx), a.env.Environ, args...)
	if pager, set := a.env.Environ.Lookup(pagerVariable); set {
		c.Env = append(c.Env, "GIT_PAGER="+pager)
	}
	c.Stdin, c.Stdout, c.Stderr = a.env.Stdin, a.env.Stdout, a.env.Stderr
	return endOfDiff(runForeground(c))
}

// endOfDiff returns an error for an exit status of git. A pager that is left early ends git
// by SIGPIPE.
func endOfDiff(code int, err error) error {
	if err == nil && code != 0 && code != 128+int(syscall.SIGPIPE) {
		return outcome(exitError) // git has said why
	}
	return err
}

// showAll shows several diffs in one pager, each below a title.
func showAll(ctx context.Context, a *app, o diffOptions, all []*comparison) (errs []error) {
	style := a.out()
	color := "never"
	if style.Color && gitSays(ctx, a, "config", "--get-colorbool", "color.diff", "true") != "false" {
		color = "always"
	}
	style.Color = color == "always"
	out := a.env.Stdout
	if style.Width > 0 && !a.globals.noPager {
		pager, end := startPager(ctx, a)
		defer func() {
			if err := end(); err != nil {
				errs = append(errs, err)
			}
		}()
		out = pager
	}
	for _, x := range all {
		w := &titled{w: out}
		if len(all) > 1 {
			w.title = view.DiffTitle(style, x.record.Address, x.record.Tree.Branch, x.base.Name)
		}
		var said bytes.Buffer
		args := x.arguments(o, color)
		c := x.command(ctx, a, style.Width, args)
		c.Stdout, c.Stderr = w, &said
		if err := c.Run(); err != nil && w.err == nil {
			errs = append(errs, fmt.Errorf("%s: %w: %s", x.record.Address, err, strings.TrimSpace(said.String())))
		}
		if w.err != nil {
			break // the pager was left
		}
	}
	return errs
}

// command returns a command that prints the diff without a pager.
func (x *comparison) command(ctx context.Context, a *app, columns int, args []string) *exec.Cmd {
	if columns == 0 {
		columns = 80
	}
	if x.elsewhere != nil {
		line := x.elsewhere(git.ViewElsewhere(columns, args...)...)
		c := exec.CommandContext(ctx, line[0], line[1:]...)
		c.Env, c.Stdin = a.env.Environ, strings.NewReader(git.ViewInput(x.untracked, x.base.Commit))
		return c
	}
	c := x.view.Command(ctx, a.env.Environ, append([]string{"--no-pager"}, args...)...)
	c.Env = append(c.Env, fmt.Sprintf("COLUMNS=%d", columns))
	return c
}

// titled writes a title before the first bytes, and none if there are none.
type titled struct {
	w     io.Writer
	title string
	began bool
	err   error
}

func (t *titled) Write(b []byte) (n int, err error) {
	if !t.began {
		t.began = true
		_, t.err = io.WriteString(t.w, t.title)
	}
	if t.err == nil {
		n, t.err = t.w.Write(b)
	}
	return n, t.err
}

// gitSays returns what git prints outside of any repository: a setting of the user.
func gitSays(ctx context.Context, a *app, args ...string) string {
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir, c.Env = "/", a.env.Environ
	out, err := c.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// startPager starts the user's pager as git does, with git's defaults for less. end waits
// until it is left. Without a pager, standard output is returned.
func startPager(ctx context.Context, a *app) (w io.Writer, end func() error) {
	none := func() error { return nil }
	pager, set := a.env.Environ.Lookup(pagerVariable)
	if !set {
		pager = gitSays(ctx, a, "var", "GIT_PAGER")
	}
	if pager == "" || pager == "cat" {
		return a.env.Stdout, none
	}
	r, pipe, err := os.Pipe()
	if err != nil {
		return a.env.Stdout, none
	}
	c := pagerCommand(a, pager, r)
	left := make(chan error, 1)
	go func() {
		_, err := runForeground(c)
		r.Close()
		left <- err
	}()
	return pipe, func() error {
		pipe.Close()
		return <-left
	}
}

// diffJSON prints the files that differ.
func diffJSON(ctx context.Context, a *app, o diffOptions, all []*comparison) (errs []error) {
	docs := []view.Diff{}
	for _, x := range all {
		d, err := x.document(ctx, o.paths)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", x.record.Address, err))
			continue
		}
		docs = append(docs, d)
	}
	if err := view.DiffJSON(a.env.Stdout, docs); err != nil {
		errs = append(errs, err)
	}
	return errs
}

func (x *comparison) document(ctx context.Context, paths []string) (d view.Diff, err error) {
	r := x.record
	d = view.Diff{Address: r.Address, Branch: r.Tree.Branch, Workspace: r.Tree.Path, Base: x.base.Name}
	plain := x.runner()
	if d.MergeBase, err = x.base.MergeBase(ctx, plain); err != nil {
		return d, err
	}
	files, err := git.Files(ctx, x.inView, x.base, x.untracked, paths)
	if err != nil {
		return d, err
	}
	d.Files = view.DiffFiles(files)
	d.Ahead, err = x.base.Ahead(ctx, plain)
	return d, err
}
