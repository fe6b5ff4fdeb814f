package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// StatusArgs is how whoever may run git in a clone asks for what is not committed
// there: the arguments to git. What it prints is what CloneRisk wants to know.
func StatusArgs() []string {
	return append(slices.Clone(safe), "-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null",
		"status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal", "--ignore-submodules=none")
}

// CloneRisk says what would be lost if the clone of the repository at path were
// removed. Its refs are read and held against those of the repository; git is not
// run in it. What is not committed there status has to tell: the output of git
// with StatusArgs, from where git may be run in it. The error says that it could
// not be told: then everything may be at risk.
func CloneRisk(ctx context.Context, path, repo string, status func(context.Context) (string, error)) (Risk, error) {
	r, err := cloneRisk(ctx, path, repo, status)
	if err != nil {
		return r, fmt.Errorf("look for unsaved work in %s: %w", path, err)
	}
	return r, nil
}

func cloneRisk(ctx context.Context, path, repo string, status func(context.Context) (string, error)) (r Risk, err error) {
	d, err := cloneDirs(path)
	if err != nil {
		return r, err
	}
	r.Busy = d.busy()
	refs, err := d.refs()
	if err != nil {
		return r, err
	}
	if r.Lacking, err = lacking(ctx, repo, refs); err != nil || r.Lacking > 0 {
		return r, err // it is kept: nothing more has to be asked
	}
	out, err := status(ctx)
	if err != nil {
		return r, fmt.Errorf("ask git in it: %w", err)
	}
	r.Uncommitted, r.Untracked = counted(out)
	return r, nil
}

// lacking counts the refs that are at a commit which no ref of the repository
// holds.
func lacking(ctx context.Context, repo string, refs map[string]string) (int, error) {
	at := map[string]int{} // how many refs are at a commit
	for _, commit := range refs {
		at[commit]++
	}
	n := 0
	for _, commit := range slices.Sorted(maps.Keys(at)) {
		out, err := run(ctx, repo, "rev-list", "-n", "1", commit, "--not", "--glob=refs/*")
		switch {
		case exitCode(err) == 128: // bad object: the repository does not have it
			n += at[commit]
		case err != nil:
			return 0, err
		case out != "":
			n += at[commit]
		}
	}
	return n, nil
}

// counted counts the lines of git status --porcelain -z.
func counted(status string) (uncommitted, untracked int) {
	for entry := range strings.SplitSeq(status, "\x00") {
		switch {
		case entry == "":
		case strings.HasPrefix(entry, "??"):
			untracked++
		default:
			uncommitted++
		}
	}
	return uncommitted, untracked
}

// StatusHere asks git on this machine what is not committed in a clone. It is for
// a clone whose agent runs here too, with the same rights.
func StatusHere(path string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) { return run(ctx, path, StatusArgs()...) }
}

// RemoveClone removes the clone of the repository at path. It refuses with a
// *RiskError if anything in it would be lost (CloneRisk). What is gone already is
// no error.
func RemoveClone(ctx context.Context, path, repo string, status func(context.Context) (string, error)) error {
	if err := removeClone(ctx, path, repo, status); err != nil {
		return fmt.Errorf("remove clone %s: %w", path, err)
	}
	return nil
}

func removeClone(ctx context.Context, path, repo string, status func(context.Context) (string, error)) error {
	clearAside(path)
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	risk, err := CloneRisk(ctx, path, repo, status)
	if err != nil {
		return err
	}
	if risk.Any() {
		return &RiskError{path, risk}
	}
	// Out of the way at once, so that a removal which is broken off leaves no half
	// of a clone that somebody takes for one.
	part, err := aside(path)
	if err != nil {
		return err
	}
	if err := os.Rename(path, filepath.Join(part, "clone")); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return removeTree(part)
}
