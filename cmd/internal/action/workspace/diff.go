package workspace

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/changes"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

// Comparison is a workspace to compare with its base.
type Comparison struct {
	Record  session.Record
	Base    git.Base
	From    git.Base // with one merge base
	Trusted bool     // this machine's git runs in it, with the programs of its configuration
	// untracked are the workspace's untracked files, which git shows as new.
	untracked []string
	View      *git.View // nil: elsewhere
	// elsewhere returns a command that runs in the session's place; nil: on this machine.
	elsewhere func(argv ...string) []string
}

// Compare prepares the comparison of the workspace of a session with its base or, unless since is zero, as
// it was then. Close ends it.
func Compare(ctx context.Context, p *project.Project, lineage string, r session.Record, since time.Time) (*Comparison, error) {
	if r.Tree.Mode == session.Plain {
		return nil, errors.New("it works in a directory without git")
	}
	if err := Check(r); err != nil {
		return nil, err
	}
	if err := project.UseLocalRepo(p, &r); err != nil {
		return nil, err
	}
	host := changes.HostGit(r)
	look := git.LookClone
	if host {
		look = git.Look
	}
	v, err := VolumeOf(p, lineage, r)
	if err != nil {
		return nil, err
	}
	if v != nil {
		look = func(string) session.Checkout { return v.Look(ctx) }
	}
	co := look(r.Tree.Path)
	switch {
	case co.Err != nil:
		return nil, fmt.Errorf("its workspace cannot be read: %w", co.Err)
	case !co.Git:
		return nil, fmt.Errorf("its workspace is not a git checkout: %s", r.Tree.Path)
	}
	w := changes.Of(r, co, nil, nil)
	bases, err := git.BasesOf(w.Repo)
	if err != nil {
		return nil, err
	}
	x := &Comparison{Record: r, Base: bases.Base(w.Branch, w.Declared), Trusted: host && r.Spec.Runtime.Traits().HostProcesses}
	if v != nil {
		start, err := v.Start(ctx, w.Branch)
		if err != nil {
			return nil, err
		}
		x.Base = x.Base.From(ctx, w.Repo, start)
	} else if w.Clone {
		if x.Base, err = x.Base.InClone(ctx, w.Repo, co.Path, w.Branch); err != nil {
			return nil, err
		}
	}
	if host {
		if err = x.begin(ctx, since); err != nil {
			return nil, err
		}
		if x.View, err = git.NewView(ctx, co.Path); err == nil {
			x.untracked = x.View.Untracked
		}
		return x, err
	}
	// Look the place up once. Each command replaces the last word.
	line, err := Elsewhere(ctx, p, r, session.Command{Dir: co.Path, Argv: []string{"git"}})
	if err != nil {
		return nil, err
	}
	x.elsewhere = func(argv ...string) []string { return slices.Concat(line[:len(line)-1], argv) }
	if err = x.begin(ctx, since); err != nil {
		return nil, err
	}
	x.untracked, err = git.UntrackedFiles(ctx, x.runner())
	return x, err
}

// begin finds the base as of a time, and one with one merge base.
func (x *Comparison) begin(ctx context.Context, since time.Time) (err error) {
	if !since.IsZero() {
		if x.Base, err = x.Base.Since(ctx, x.runner(), since); err != nil {
			return err
		}
	}
	if x.From, err = x.Base.Single(ctx, x.runner()); err != nil {
		x.From = x.Base // git diff reports what is wrong with it
	}
	return nil
}

// Close removes what the comparison has created.
func (x *Comparison) Close() {
	if x.View != nil {
		_ = x.View.Close() // a temporary directory
	}
}

// runner returns a Runner for git in the workspace.
func (x *Comparison) runner() git.Runner {
	if x.elsewhere == nil {
		return git.Here(x.Record.Tree.Path)
	}
	return git.Elsewhere(x.elsewhere(git.CommandElsewhere()...), "")
}

// inView runs git where git diff includes untracked files.
func (x *Comparison) inView(ctx context.Context, args ...string) (string, error) {
	if x.elsewhere == nil {
		return x.View.Run(ctx, args...)
	}
	return git.Elsewhere(x.elsewhere(git.ViewElsewhere(80, args...)...), git.ViewInput(x.untracked, x.Base.Commit))(ctx)
}

// Arguments returns git's arguments for a diff. form is --stat or --name-only; empty: the whole diff. An
// empty color leaves that to git.
func (x *Comparison) Arguments(form, color string, paths []string) []string {
	args := []string{"diff"}
	if !x.Trusted {
		args = append(args, "--no-ext-diff", "--no-textconv")
	}
	if form != "" {
		args = append(args, form)
	}
	if color != "" {
		args = append(args, "--color="+color)
	}
	return slices.Concat(args, x.From.Args(), paths)
}

// Command returns a command that prints the diff without a pager.
func (x *Comparison) Command(ctx context.Context, environ []string, columns int, args []string) *exec.Cmd {
	if columns == 0 {
		columns = 80
	}
	if x.elsewhere != nil {
		line := x.elsewhere(git.ViewElsewhere(columns, args...)...)
		c := exec.CommandContext(ctx, line[0], line[1:]...)
		c.Env, c.Stdin = environ, strings.NewReader(git.ViewInput(x.untracked, x.Base.Commit))
		return c
	}
	c := x.View.Command(ctx, environ, append([]string{"--no-pager"}, args...)...)
	c.Env = append(c.Env, fmt.Sprintf("COLUMNS=%d", columns))
	return c
}

// Document returns the files that differ.
func (x *Comparison) Document(ctx context.Context, paths []string) (d view.Diff, err error) {
	r := x.Record
	d = view.Diff{Address: r.Address, Branch: r.Tree.Branch, Workspace: r.Tree.Path, Base: x.Base.Name}
	plain := x.runner()
	if d.MergeBase, err = x.Base.MergeBase(ctx, plain); err != nil {
		return d, err
	}
	files, err := git.Files(ctx, x.inView, x.Base, x.untracked, paths)
	if err != nil {
		return d, err
	}
	d.Files = view.DiffFiles(files)
	d.Ahead, err = x.Base.Ahead(ctx, plain)
	return d, err
}
