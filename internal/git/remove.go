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

// RemoveWorktree removes the repository's worktree at path, and never its branch. It
// returns a *RiskError if anything would be lost (AtRisk), and git's error for a locked
// worktree and the main checkout. Of a worktree whose directory is gone it removes the
// repository's entry. A worktree that does not exist is no error.
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
		return errors.New("it was replaced by a link")
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
	for _, p := range inner { // else git takes their branches for used
		if err := removeExamined(ctx, repo, p); err != nil {
			return err
		}
	}
	return removeExamined(ctx, repo, path)
}

// removeExamined removes a worktree in which nothing is at risk. Without --force git checks
// again, but refuses every worktree with submodules.
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

// hasSubmodules reports whether git takes the worktree at path to have submodules: in its
// index, or as repositories in its git directory.
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

// forget removes the entry of a worktree whose directory is gone or empty, unless it is the
// last that holds some commits. The caller holds the repository.
func forget(ctx context.Context, repo, path, entry string) error {
	risk, err := goneRisk(ctx, repo, entry)
	if err != nil {
		return err
	}
	if risk.Any() {
		return fmt.Errorf("its directory is gone, and %w (its entry is %s; to remove that: git -C %s worktree prune)", &RiskError{path, risk}, entry, repo)
	}
	_ = syscall.Rmdir(path) // git removes it only if it is gone
	args := []string{"worktree", "remove", "--force"}
	if reason, err := readSmall(filepath.Join(entry, "locked")); err == nil && reason == "initializing" {
		// git was killed while it made it. Any other lock is a person's.
		args = append(args, "--force")
	}
	_, err = run(ctx, repo, append(args, "--", path)...)
	return err
}
