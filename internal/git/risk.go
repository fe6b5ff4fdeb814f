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

// Risk is what would be lost if a checkout were removed. Ignored files do not count, nor
// do stash entries of a worktree, which stay in the repository.
type Risk struct {
	Uncommitted int    // tracked files that differ from HEAD or the index
	Untracked   int    // files, or directories of such files
	Unreachable int    // commits that no ref of the repository holds
	Dropped     int    // commits that only the reflog of the checkout holds
	Lacking     int    // refs of a clone with a commit that the repository lacks
	Large       int    // git-lfs or git-annex files of a clone that the repository lacks
	Busy        string // the operation under way: rebase, merge, cherry-pick, revert, bisect, am
	Nested      string // the first worktree or repository below it that holds work
}

// Any reports whether anything is at risk.
func (r Risk) Any() bool { return r != Risk{} }

// String returns the risk for people: "2 uncommitted changes, rebase under way".
func (r Risk) String() string {
	var parts []string
	count := func(n int, one, more string) {
		if n > 0 {
			parts = append(parts, plural(n, one, more))
		}
	}
	count(r.Uncommitted, "uncommitted change", "uncommitted changes")
	count(r.Untracked, "untracked file", "untracked files")
	count(r.Unreachable, "commit on no branch", "commits on no branch")
	count(r.Dropped, "commit only in the reflog", "commits only in the reflog")
	count(r.Lacking, "branch with commits missing from the repository", "branches with commits missing from the repository")
	count(r.Large, "file of git-lfs or git-annex missing from the repository", "files of git-lfs or git-annex missing from the repository")
	if r.Busy != "" {
		parts = append(parts, r.Busy+" under way")
	}
	if r.Nested != "" {
		parts = append(parts, r.Nested)
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// RiskError reports that a checkout was not removed because of its content.
type RiskError struct {
	Path string
	Risk Risk
}

// Error describes what would have been lost.
func (e *RiskError) Error() string {
	return fmt.Sprintf("%s was kept: it has %s", e.Path, e.Risk)
}

// AtRisk returns what would be lost if the repository's checkout at path were removed. One
// whose directory is gone may still hold commits. After an error everything may be at risk.
func AtRisk(ctx context.Context, path, repo string) (Risk, error) {
	r, _, err := atRisk(ctx, path, repo)
	if err != nil {
		return r, fmt.Errorf("check for unsaved work in %s: %w", path, err)
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

// goneRisk returns the remains of a worktree whose directory is gone: in its HEAD, reflog, index
// and the repositories of its submodules.
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

// CloneRisk returns what would be lost if the clone of the repository at path were removed.
// It reads refs, reflogs and marked files, and asks the Runner for the rest. After an error
// everything may be at risk.
func CloneRisk(ctx context.Context, path, repo string, git Runner) (r Risk, err error) {
	defer wrap(&err, "check for unsaved work in %s", path)
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

func lacking(ctx context.Context, repo string, names []string) (map[string]bool, error) {
	lost := map[string]bool{}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) == 0 {
		return lost, nil
	}
	// A tag stands for its commit, which nothing else holds.
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
// anything would be lost (CloneRisk). A clone that does not exist is not an error.
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
