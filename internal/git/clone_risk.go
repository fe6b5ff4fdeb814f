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

// CloneRisk returns what would be lost if the clone of the repository at path were removed.
// It reads refs, reflogs and marked files and compares them with the repository. The rest it
// asks git, by the Runner. After an error everything may be at risk.
func CloneRisk(ctx context.Context, path, repo string, git Runner) (r Risk, err error) {
	defer wrap(&err, "look for unsaved work in %s", path)
	d, err := cloneDirs(path)
	if err != nil {
		return r, err
	}
	r.Busy = d.busy()
	refs, err := d.refs()
	if err != nil {
		return r, err
	}
	lost, err := lacking(ctx, repo, slices.Collect(maps.Values(refs)))
	if err != nil {
		return r, err
	}
	for _, commit := range refs {
		if lost[commit] {
			r.Lacking++
		}
	}
	if r.Lacking > 0 {
		return r, nil // enough to keep it
	}
	past, err := d.reflogs()
	if err != nil {
		return r, err
	}
	if lost, err = lacking(ctx, repo, past); err != nil {
		return r, err
	}
	r.Dropped = len(lost)
	if r.Large, err = d.largeFiles(repo); err != nil || r.Dropped+r.Large > 0 {
		return r, err
	}
	g := examiner{top: path, dirs: d, git: git, apart: true}
	w, err := g.work(ctx, path, d)
	if err != nil {
		return r, err
	}
	w.Nested, err = g.ownWorktrees(ctx, d.common)
	if err == nil && w.Nested == "" {
		_, w.Nested, err = g.nested(ctx)
	}
	return w, err
}

// lacking returns the objects that no ref of the repository holds.
func lacking(ctx context.Context, repo string, names []string) (map[string]bool, error) {
	lost := map[string]bool{}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) == 0 {
		return lost, nil
	}
	// A tag stands for its commit. Nobody holds anything else.
	out, err := feed(ctx, repo, strings.Join(names, "^{commit}\n")+"^{commit}\n", "cat-file", "--batch-check")
	if err != nil {
		return nil, err
	}
	commits := map[string][]string{}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != len(names) {
		return nil, fmt.Errorf("git printed %d objects for %d names", len(lines), len(names))
	}
	for i, line := range lines {
		if commit, kind, _ := strings.Cut(line, " "); isCommit(commit) && strings.HasPrefix(kind, "commit ") {
			commits[commit] = append(commits[commit], names[i])
		} else {
			lost[names[i]] = true
		}
	}
	if len(commits) == 0 {
		return lost, nil
	}
	out, err = feed(ctx, repo, strings.Join(slices.Collect(maps.Keys(commits)), "\n")+"\n", "rev-list", "--stdin", "--not", "--glob=refs/*")
	if err != nil {
		return nil, err
	}
	for commit := range strings.FieldsSeq(out) {
		for _, name := range commits[commit] {
			lost[name] = true
		}
	}
	return lost, nil
}

// largeFiles returns the number of files of git-lfs and git-annex that only the clone has.
func (d dirs) largeFiles(repo string) (n int, err error) {
	of, err := repository(repo)
	if err != nil {
		return 0, err
	}
	for _, store := range []string{"lfs/objects", "annex/objects"} {
		err := walkFiles(filepath.Join(d.common, store), func(path string) error {
			if _, err := os.Lstat(filepath.Join(of.common, d.name(path))); errors.Is(err, os.ErrNotExist) {
				n++
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

// counted counts the lines of git status --porcelain --branch -z.
func counted(status string) (uncommitted, untracked int) {
	for entry := range strings.SplitSeq(status, "\x00") {
		switch {
		case entry == "" || strings.HasPrefix(entry, "## "):
		case strings.HasPrefix(entry, "??"):
			untracked++
		default:
			uncommitted++
		}
	}
	return uncommitted, untracked
}

// RemoveClone removes the clone of the repository at path. It returns a *RiskError if
// anything would be lost (CloneRisk). A clone that does not exist is no error.
func RemoveClone(ctx context.Context, path, repo string, git Runner) (err error) {
	defer wrap(&err, "remove clone %s", path)
	clearAside(path)
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	risk, err := CloneRisk(ctx, path, repo, git)
	if err != nil {
		return err
	}
	if risk.Any() {
		return &RiskError{path, risk}
	}
	// Renamed first, so that an interrupted removal leaves no partial clone at path.
	part, err := aside(path)
	if err != nil {
		return err
	}
	if err := os.Rename(path, filepath.Join(part, "clone")); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return removeTree(part)
}
