package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// AtRisk returns what would be lost if the repository's checkout at path were removed. One
// whose directory is gone may still hold commits. After an error everything may be at risk.
func AtRisk(ctx context.Context, path, repo string) (Risk, error) {
	r, _, err := atRisk(ctx, path, repo)
	if err != nil {
		return r, fmt.Errorf("look for unsaved work in %s: %w", path, err)
	}
	return r, nil
}

// atRisk also returns the repository's other worktrees below path.
func atRisk(ctx context.Context, path, repo string) (r Risk, inner []string, err error) {
	of, err := repository(repo)
	if err != nil {
		return r, nil, err
	}
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		if entry := of.entry(path); entry != "" {
			r, err = goneRisk(ctx, repo, entry)
		}
		return r, nil, err
	}
	d, err := findDirs(path)
	if err != nil {
		return r, nil, err
	}
	if d.common != of.common {
		return r, nil, fmt.Errorf("it is a checkout of %s, not of %s", d.common, of.common)
	}
	g := examiner{top: path, dirs: d, git: Here(path)}
	if r, err = g.work(ctx, path, d); err != nil {
		return r, nil, err
	}
	if err := d.addUnreachable(ctx, &r); err != nil {
		return r, nil, err
	}
	inner, r.Nested, err = g.nested(ctx)
	return r, inner, err
}

// goneRisk returns what is left of a worktree whose directory is gone: in its HEAD, reflog,
// index and the repositories of its submodules.
func goneRisk(ctx context.Context, repo, entry string) (r Risk, err error) {
	d, err := dirs{git: entry}.settle()
	if err != nil {
		return r, err
	}
	r.Busy = d.busy()
	if err := d.addUnreachable(ctx, &r); err != nil {
		return r, err
	}
	if r.Uncommitted, err = staged(ctx, entry, Here(repo)); err != nil {
		return r, err
	}
	// The work tree in the settings of a submodule is gone as well.
	g := examiner{top: entry, dirs: d, git: func(ctx context.Context, args ...string) (string, error) {
		return run(ctx, entry, append([]string{"--work-tree=."}, args...)...)
	}}
	_, r.Nested, err = g.nested(ctx)
	return r, err
}

// staged returns the number of files in the index of a worktree that neither HEAD nor the
// last commit of its reflog has. entry is the worktree's git directory.
func staged(ctx context.Context, entry string, git Runner) (int, error) {
	if _, err := os.Lstat(filepath.Join(entry, "index")); errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	args := []string{"--git-dir=" + entry, "rev-list", "--objects", "--indexed-objects", "--single-worktree", "--ignore-missing", "--not", "HEAD^{tree}"}
	_, last, err := dirs{git: entry}.headLog()
	if err != nil {
		return 0, err
	}
	if last != "" {
		args = append(args, last+"^{tree}")
	}
	out, err := git(ctx, args...)
	n := 0
	for line := range strings.Lines(out) {
		if _, name, _ := strings.Cut(line, " "); strings.TrimSpace(name) != "" { // no name: the root tree
			n++
		}
	}
	return n, err
}

// own are the refs of a worktree, which go with it.
var own = []string{"refs/worktree/*", "refs/bisect/*", "refs/rewritten/*"}

// addUnreachable counts the commits that only this checkout holds: by a detached HEAD, a
// ref of its own, or its reflog. Detached HEADs of other checkouts do not count as holders.
func (d dirs) addUnreachable(ctx context.Context, r *Risk) error {
	_, head, _, err := d.head()
	if err != nil {
		return err
	}
	stays := []string{"--not"}
	for _, pattern := range own {
		stays = append(stays, "--exclude="+pattern)
	}
	stays = append(stays, "--glob=refs/*")
	args := []string{"--git-dir=" + d.git, "rev-list", "--count", "--glob=" + own[0]}
	if head != "" {
		args = append(args, head)
	}
	out, err := run(ctx, d.common, append(args, stays...)...)
	if err != nil {
		return err
	}
	if r.Unreachable, err = count(out); err != nil || d.git == d.common {
		return err
	}
	past, err := d.reflog(ctx)
	if err != nil || len(past) == 0 {
		return err
	}
	// The reflogs of branches stay with the repository.
	stays = append(stays, "--single-worktree", "--reflog")
	if head != "" {
		stays = append(stays, head)
	}
	args = append([]string{"--git-dir=" + d.common, "rev-list", "--count", "--ignore-missing", "--stdin"}, stays...)
	if out, err = feed(ctx, d.common, strings.Join(past, "\n")+"\n", args...); err != nil {
		return err
	}
	r.Dropped, err = count(out)
	return err
}

// headLog returns the commits in the reflog of the checkout's HEAD, from its file.
func (d dirs) headLog() (all []string, last string, err error) {
	all, err = readReflog(filepath.Join(d.git, "logs", "HEAD"), &budget{refLimit})
	if len(all) > 0 {
		last = all[len(all)-1]
	}
	return all, last, err
}

// reflog is headLog, also in a repository whose refs are not files.
func (d dirs) reflog(ctx context.Context) ([]string, error) {
	if text, err := readSmall(filepath.Join(d.git, "HEAD")); err == nil && strings.HasSuffix(text, headsPrefix+".invalid") {
		out, err := run(ctx, d.common, "--git-dir="+d.git, "rev-list", "--walk-reflogs", "HEAD")
		return strings.Fields(out), err
	}
	all, _, err := d.headLog()
	return all, err
}

// busy returns the operation under way in the checkout.
func (d dirs) busy() string {
	for _, sign := range []struct{ file, what string }{
		{"rebase-merge", "rebase"}, {"rebase-apply/applying", "am"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"sequencer", "cherry-pick"}, {"BISECT_LOG", "bisect"},
	} {
		if _, err := os.Lstat(filepath.Join(d.git, sign.file)); err == nil {
			return sign.what
		}
	}
	return ""
}
