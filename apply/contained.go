package apply

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

// container is a session's runtime, if its sessions live apart; nil: they do not.
func (r *run) container(s session.Spec) (session.Container, error) {
	if !s.Runtime.Traits().OwnHome {
		return nil, nil
	}
	rt, err := r.runtime(s)
	if err != nil {
		return nil, err
	}
	c, is := rt.(session.Container)
	if !is {
		return nil, fmt.Errorf("runtime %s holds no containers", s.Runtime.Key())
	}
	return c, nil
}

// identity is who commits in a session's workspace, as variables, where that cannot be
// seen: a container has none of this machine's settings of git, and a clone has its own.
func (j *job) identity(ctx context.Context) (map[string]string, error) {
	tree := j.rec.Tree
	if !j.rec.Spec.Runtime.Traits().OwnHome || tree.Mode != session.Worktree && tree.Mode != session.InPlace {
		return nil, nil
	}
	return j.run.Git.Identity(ctx, tree.Repo)
}

// ownerOf is whose the workspace of a session is to be; nil: whoever runs this.
func ownerOf(s session.Spec) (*git.Owner, error) {
	if s.Runtime.Docker == nil || s.Runtime.Docker.User == "" {
		return nil, nil
	}
	user, group, grouped := strings.Cut(s.Runtime.Docker.User, ":")
	uid, err := strconv.Atoi(user)
	o := git.Owner{UID: uid, GID: -1} // -1: it stays
	if err == nil && grouped {
		o.GID, err = strconv.Atoi(group)
	}
	if err != nil {
		return nil, fmt.Errorf("user %q of the container is no number", s.Runtime.Docker.User)
	}
	return &o, nil
}

// asRoot reports whether a session's agent will be root.
func (r *run) asRoot(s session.Spec) bool {
	if o, err := ownerOf(s); err == nil && o != nil {
		return o.UID == 0
	}
	return r.Root
}

// look is the workspace as it stands. In a clone no git is run.
func (j *job) look(t session.WorkspaceState) session.Checkout {
	if t.Mode == session.Clone || t.Mode == session.Plain {
		return j.run.Git.LookClone(t.Path)
	}
	return j.run.Git.Look(t.Path)
}

// clone makes the clone, or takes the one that stands there on the branch: kept
// from before, or made by an apply that was interrupted.
func (j *job) clone(ctx context.Context) error {
	t := &j.rec.Tree
	if seen := j.look(*t); seen.Exists && !seen.Empty {
		return onBranch(seen, t.Branch)
	}
	owner, err := ownerOf(j.rec.Spec)
	if err != nil {
		return err
	}
	made, err := j.run.Git.AddClone(ctx, t.Repo, t.Path, t.Branch, j.rec.Spec.Workspace.Base, owner)
	if err != nil {
		return err
	}
	t.Made = t.Made || made
	return nil
}

// plain makes a folder without git.
func (j *job) plain() error {
	path := j.rec.Tree.Path
	if _, err := os.Lstat(path); err == nil {
		return os.MkdirAll(path, 0o755) // says so if it is no folder
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	owner, err := ownerOf(j.rec.Spec)
	if owner == nil || err != nil || owner.UID == os.Geteuid() {
		return err
	}
	if err := os.Lchown(path, owner.UID, owner.GID); err != nil {
		return fmt.Errorf("give it to user %s: %w (only root may give files away)", j.rec.Spec.Runtime.Docker.User, err)
	}
	return nil
}

// setUpInside runs the workspace's setup command in a container like the
// session's: its tools are there.
func (j *job) setUpInside(ctx context.Context, c session.Container, argv []string) error {
	folder := j.run.Folder(j.rec)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	env, _, err := j.run.environ(j.rec.Spec)
	if err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	out, err := c.Run(ctx, j.rec.Spec, j.rec.Tree.Path, argv, env)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if kept := writeLog(filepath.Join(folder, setupLog), out); kept != nil && err == nil {
		return fmt.Errorf("setup: %w", kept)
	}
	if err != nil {
		return &SetupError{Argv: argv, Output: out, Err: err}
	}
	return nil
}

// runner runs git in a session's clone: in a container, where the session was in
// one.
func (j *job) runner() (git.Runner, error) {
	path := j.rec.Tree.Path
	c, err := j.run.container(j.rec.Spec)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return git.Here(path), nil
	}
	return func(ctx context.Context, args ...string) (string, error) {
		argv := slices.Concat([]string{"git"}, git.ArgsElsewhere(args...))
		return c.Run(ctx, j.rec.Spec, path, argv, []string{"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0"})
	}, nil
}
