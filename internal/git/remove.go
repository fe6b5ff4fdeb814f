package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// RemoveWorktree removes the repository's worktree at path, and never its
// branch. It refuses with a *RiskError if anything in it would be lost (AtRisk),
// and with git's own words what git refuses: a locked worktree, one with
// submodules, the main checkout. Of a worktree whose folder is gone it removes
// what the repository still knows of it; one that the repository does not know
// either is no error.
func RemoveWorktree(ctx context.Context, repo, path string) error {
	if err := removeWorktree(ctx, repo, path); err != nil {
		return fmt.Errorf("remove worktree %s: %w", path, err)
	}
	return nil
}

func removeWorktree(ctx context.Context, repo, path string) error {
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
		if _, err := run(ctx, repo, "worktree", "remove", "--", p); err != nil {
			return err
		}
	}
	// Without --force git looks again itself.
	_, err = run(ctx, repo, "worktree", "remove", "--", path)
	return err
}

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
