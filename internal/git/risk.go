package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Risk is what would be lost if a checkout were removed. Files that git is told
// to ignore do not count, nor do stash entries, which stay in the repository.
type Risk struct {
	Uncommitted int    // tracked files that differ from HEAD or the index
	Untracked   int    // files, or folders of nothing else
	Unreachable int    // commits that no branch, tag or other ref of the repository holds
	Lacking     int    // of a clone: refs that are at a commit which the repository lacks
	Busy        string // what is under way: rebase, merge, cherry-pick, revert, bisect, am
}

// Any reports whether anything is at risk.
func (r Risk) Any() bool { return r != Risk{} }

// String names it for people: "2 uncommitted changes, rebase under way".
// Nothing at risk gives "nothing".
func (r Risk) String() string {
	var parts []string
	count := func(n int, one, more string) {
		if n == 1 {
			parts = append(parts, "1 "+one)
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%d %s", n, more))
		}
	}
	count(r.Uncommitted, "uncommitted change", "uncommitted changes")
	count(r.Untracked, "untracked file", "untracked files")
	count(r.Unreachable, "commit that no branch holds", "commits that no branch holds")
	count(r.Lacking, "branch with commits that the repository lacks", "branches with commits that the repository lacks")
	if r.Busy != "" {
		parts = append(parts, r.Busy+" under way")
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// RiskError says that a checkout was not removed because of what is in it.
type RiskError struct {
	Path string
	Risk Risk
}

// Error names what would have been lost.
func (e *RiskError) Error() string {
	return fmt.Sprintf("%s was kept, it holds %s", e.Path, e.Risk)
}

// AtRisk says what would be lost if the checkout at path, of the repository,
// were removed. One whose folder is gone may still hold commits. The error says
// that it could not be told: then everything may be at risk.
func AtRisk(ctx context.Context, path, repo string) (Risk, error) {
	r, err := atRisk(ctx, path, repo)
	if err != nil {
		return r, fmt.Errorf("look for unsaved work in %s: %w", path, err)
	}
	return r, nil
}

func atRisk(ctx context.Context, path, repo string) (r Risk, err error) {
	of, err := repository(repo)
	if err != nil {
		return r, err
	}
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		if entry := of.entry(path); entry != "" {
			return goneRisk(ctx, repo, entry)
		}
		return r, nil
	}
	d, err := findDirs(path)
	if err != nil {
		return r, err
	}
	if d.common != of.common {
		return r, fmt.Errorf("it is a checkout of %s, not of %s", d.common, of.common)
	}
	r.Busy = d.busy()
	out, err := run(ctx, path, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal", "--ignore-submodules=none")
	if err != nil {
		return r, err
	}
	r.Uncommitted, r.Untracked = counted(out)
	hidden, err := hiddenChanges(ctx, path)
	if err != nil {
		return r, err
	}
	r.Uncommitted += hidden
	r.Unreachable, err = d.unreachable(ctx, path)
	return r, err
}

// goneRisk is what is left of a worktree whose folder is gone: what its HEAD
// holds.
func goneRisk(ctx context.Context, repo, entry string) (r Risk, err error) {
	d, err := dirs{git: entry}.settle()
	if err != nil {
		return r, err
	}
	r.Busy = d.busy()
	r.Unreachable, err = d.unreachable(ctx, repo)
	return r, err
}

// own are the refs that a worktree has for itself and that go with it.
var own = []string{"refs/worktree/*", "refs/bisect/*", "refs/rewritten/*"}

// unreachable counts the commits that only this checkout holds: by a detached
// HEAD, or a ref of its own. A commit of another checkout's detached HEAD counts
// as held by nobody.
func (d dirs) unreachable(ctx context.Context, dir string) (int, error) {
	_, head, _, err := d.head()
	if err != nil {
		return 0, err
	}
	args := []string{"--git-dir=" + d.git, "rev-list", "--count", "--glob=" + own[0]}
	if head != "" {
		args = append(args, head)
	}
	args = append(args, "--not")
	for _, pattern := range own {
		args = append(args, "--exclude="+pattern)
	}
	out, err := run(ctx, dir, append(args, "--glob=refs/*")...)
	if err != nil {
		return 0, err
	}
	return count(out)
}

// busy is what is under way in the checkout.
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

// hiddenChanges counts the changed files that git status leaves out because
// someone has marked them (update-index --assume-unchanged, --skip-worktree).
func hiddenChanges(ctx context.Context, path string) (int, error) {
	out, err := run(ctx, path, "ls-files", "-v", "--stage", "-z")
	if err != nil {
		return 0, err
	}
	var files, blobs []string
	changed := 0
	for line := range strings.SplitSeq(out, "\x00") {
		// S 100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 0<tab>name
		about, name, ok := strings.Cut(line, "\t")
		if !ok || about[0] != 'S' && (about[0] < 'a' || about[0] > 'z') {
			continue
		}
		fields := strings.Fields(about)
		fi, err := os.Lstat(filepath.Join(path, name))
		switch {
		case errors.Is(err, os.ErrNotExist): // a sparse checkout, or a deletion: nothing to lose
		case err != nil || len(fields) != 4:
			return 0, fmt.Errorf("look at marked file %s: %w", name, err)
		case !fi.Mode().IsRegular() || strings.ContainsAny(name, "\n\""):
			changed++ // cannot be asked for: to be safe
		default:
			files, blobs = append(files, name), append(blobs, fields[2])
		}
	}
	if len(files) == 0 {
		return changed, nil
	}
	out, err = feed(ctx, path, strings.Join(files, "\n")+"\n", "hash-object", "--stdin-paths")
	if err != nil {
		return 0, err
	}
	for i, blob := range strings.Fields(out) {
		if i < len(blobs) && blob != blobs[i] {
			changed++
		}
	}
	return changed, nil
}
