package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// RemoveWorktree removes the repository's worktree at path, and never its
// branch. It refuses with a *RiskError if anything in it would be lost (AtRisk),
// and with git's own words what git refuses: a locked worktree, the main checkout. Of a worktree whose folder is gone it removes
// what the repository still knows of it; one that the repository does not know
// either is no error.
func RemoveWorktree(ctx context.Context, repo, path string) (err error) {
	defer wrap(&err, "remove worktree %s", path)
	d, err := repository(repo)
	if err != nil {
		return err
	}
	release, err := hold(ctx, d.common)
	if err != nil {
		return err
	}
	defer release()
	switch fi, err := os.Lstat(path); {
	case err == nil && fi.Mode()&os.ModeSymlink != 0:
		return errors.New("it is a link now, and what it leads to was not made as this worktree")
	case errors.Is(err, os.ErrNotExist):
		if entry := d.entry(path); entry != "" {
			return forget(ctx, repo, path, entry)
		}
		return nil
	}
	risk, inner, err := atRisk(ctx, path, repo)
	if err != nil {
		return fmt.Errorf("look for unsaved work in it: %w", err)
	}
	if risk.Any() {
		return &RiskError{path, risk}
	}
	for _, p := range inner { // else their branches are held by what is gone
		if err := removeExamined(ctx, repo, p); err != nil {
			return err
		}
	}
	return removeExamined(ctx, repo, path)
}

// removeExamined removes a worktree in which nothing is at risk. Without --force git
// looks again itself, but it then refuses every worktree with submodules, whatever is in
// them.
func removeExamined(ctx context.Context, repo, path string) error {
	args := []string{"worktree", "remove"}
	if has, err := hasSubmodules(ctx, path); err != nil {
		return err
	} else if has {
		args = append(args, "--force") // once: a locked worktree is still refused
	}
	_, err := run(ctx, repo, append(args, "--", path)...)
	return err
}

// hasSubmodules reports whether the worktree at path has submodules, as git decides it:
// its index names one, or its git folder has repositories of some.
func hasSubmodules(ctx context.Context, path string) (bool, error) {
	d, err := findDirs(path)
	if err != nil {
		return false, err
	}
	if entries, err := os.ReadDir(filepath.Join(d.git, "modules")); err == nil && len(entries) > 0 {
		return true, nil
	}
	out, err := run(ctx, path, "--work-tree=.", "ls-files", "--stage", "-z")
	return strings.HasPrefix(out, gitlink) || strings.Contains(out, "\x00"+gitlink), err
}

// gitlink begins the line of a submodule in the index.
const gitlink = "160000 "

// forget removes what the repository knows of a worktree whose folder is gone or
// empty, unless that is the last that holds some commits. entry is where it
// knows it. The caller holds the repository.
func forget(ctx context.Context, repo, path, entry string) error {
	risk, err := goneRisk(ctx, repo, entry)
	if err != nil {
		return err
	}
	if risk.Any() {
		return fmt.Errorf("its folder is gone, and %w (what is known of it is in %s; to give that up: git -C %s worktree prune)", &RiskError{path, risk}, entry, repo)
	}
	_ = syscall.Rmdir(path) // git takes away what is gone, and not what is only empty
	args := []string{"worktree", "remove", "--force"}
	if reason, err := readSmall(filepath.Join(entry, "locked")); err == nil && reason == "initializing" {
		// git was killed while it made it. Any other lock is a person's.
		args = append(args, "--force")
	}
	_, err = run(ctx, repo, append(args, "--", path)...)
	return err
}
