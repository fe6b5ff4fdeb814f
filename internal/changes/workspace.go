package changes

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

// Of returns the workspace of a recorded session, for a Counter. open opens the runtime of
// a spec; it is called when git has to run in the session's place.
func Of(r session.Record, co session.Checkout, live *session.Live, open func(session.RuntimeSpec) (session.Runtime, error)) Workspace {
	w := Workspace{Checkout: co, Repo: r.Tree.Repo, Clone: r.Tree.Mode == session.Clone,
		Branch: cmp.Or(co.Branch, r.Tree.Branch), Declared: r.Spec.Workspace.Base}
	if !w.Clone {
		w.Repo = cmp.Or(w.Repo, co.Repo)
	}
	if live != nil {
		w.MovedAt, w.Stamp = live.MovedAt, live.WorkspaceStamp
	}
	switch {
	case r.Tree.Mode == session.Plain: // its files are not agentform's, and may be anything
	case HostGit(r):
		w.Git, w.Here = git.Here(co.Path), true
	case !r.Spec.Runtime.Traits().HostFiles:
		w.Elsewhere = true
		if live == nil || !live.PlaceUp {
			break
		}
		w.volume = git.Volume{Path: r.Tree.Path, Run: func(ctx context.Context, stdin io.Reader, stdout io.Writer, argv ...string) error {
			rt, err := open(r.Spec.Runtime)
			if err != nil {
				return err
			}
			h, ok := rt.(session.WorkspaceHolder)
			if !ok {
				return errors.New("its runtime cannot run git in it")
			}
			return h.RunIn(ctx, r, stdin, stdout, argv...)
		}}
		w.Git = w.volume.Git()
	case live != nil && live.PlaceUp:
		w.Git = func(ctx context.Context, args ...string) (string, error) {
			rt, err := open(r.Spec.Runtime)
			if err != nil {
				return "", err
			}
			x, ok := rt.(session.Executor)
			if !ok {
				return "", errors.New("its runtime cannot run git in it")
			}
			return git.Elsewhere(x.Exec(live.Location, session.Command{Dir: co.Path, Argv: git.CommandElsewhere()}), "")(ctx, args...)
		}
	}
	return w
}

// HostGit reports whether git of this machine may run in the workspace of a session. It may
// not in the clone of a container, whose agent may have changed what git executes.
func HostGit(r session.Record) bool {
	switch r.Tree.Mode {
	case session.Worktree, session.InPlace:
		return true // in a container only with trust_git
	}
	return r.Spec.Runtime.Traits().HostGit
}

// Base returns what the work in the workspace is compared with. If this machine has no
// repository that it was made from, that is where it began.
func (w Workspace) Base(ctx context.Context) (git.Base, error) {
	from, err := git.BasesOf(w.Repo)
	if err != nil && w.Elsewhere {
		start, err := git.StartOf(ctx, w.Git, w.Branch)
		return git.Base{Name: start, Commit: start}, err
	}
	if err != nil {
		return git.Base{}, err
	}
	return w.within(ctx, from.Base(w.Branch, w.Declared))
}

// within returns a base with a commit that the workspace has.
func (w Workspace) within(ctx context.Context, base git.Base) (git.Base, error) {
	switch {
	case w.Elsewhere:
		start, err := git.StartOf(ctx, w.Git, w.Branch)
		if err != nil {
			return base, err
		}
		return base.From(ctx, w.Repo, start), nil
	case w.Clone:
		return base.InClone(ctx, w.Repo, w.Checkout.Path, w.Branch)
	}
	return base, nil
}

// apart returns how many commits of the workspace the base lacks, and how many of the base the
// workspace lacks. within is the base with a commit that the workspace has.
func (w Workspace) apart(ctx context.Context, base, within git.Base) (ahead, behind int, err error) {
	if !w.Clone {
		return base.Apart(ctx, w.Git)
	}
	ahead, brought, err := git.Base{Commit: within.Commit}.Apart(ctx, w.Git) // and its agent has not merged
	if err != nil || base.Commit == "HEAD" {
		return ahead, 0, err
	}
	behind, err = base.Behind(ctx, git.Here(w.Repo), within.Start)
	return ahead, brought + behind, err
}

// countElsewhere counts the changes of a workspace that is not on this machine, in one command there if
// start is the commit that it was made from. It returns the base with a commit that the workspace has.
func (w Workspace) countElsewhere(ctx context.Context, base git.Base, start string) (git.Changes, git.Base, error) {
	n, within, err := w.volume.Count(ctx, w.Repo, w.Branch, base, start)
	if err != nil {
		return n, within, err
	}
	if base.Commit == "HEAD" {
		n.Behind = 0
		return n, within, nil
	}
	more, err := base.Behind(ctx, git.Here(w.Repo), within.Start)
	n.Behind += more
	return n, within, err
}
