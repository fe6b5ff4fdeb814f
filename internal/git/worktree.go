package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/fileid"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/session"
)

const undoTimeout = 30 * time.Second

// Worktrees returns every checkout of the repository, sorted by path, with its branch or
// that of a rebase or bisect. Paths are absolute and without links.
func Worktrees(ctx context.Context, repo string) ([]session.Held, error) {
	sep := "\x00"
	out, err := run(ctx, repo, "worktree", "list", "--porcelain", "-z")
	if exitCode(err) == 129 {
		// git before 2.36 lacks -z.
		sep = "\n"
		out, err = run(ctx, repo, "worktree", "list", "--porcelain")
	}
	if err != nil {
		return nil, fmt.Errorf("list worktrees of %s: %w", repo, err)
	}
	var all []session.Held
	for entry := range strings.SplitSeq(out, sep+sep) {
		if h, ok := parseHeld(strings.Split(entry, sep)); ok {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b session.Held) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// parseHeld parses an entry of git worktree list --porcelain. Not ok: it is a bare
// repository.
func parseHeld(lines []string) (h session.Held, ok bool) {
	for _, line := range lines {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "worktree":
			h.Path, ok = value, value != ""
		case "branch":
			h.Branch = strings.TrimPrefix(value, headsPrefix)
		case "detached":
			h.Branch = Look(h.Path).Branch
		case "prunable":
			h.Prunable = true
		case "bare":
			return h, false
		}
	}
	return h, ok
}

// AddWorktree makes a worktree of the repository (the top of any of its checkouts, or its
// git directory) on branch. path must be absolute, and nothing or an empty directory. A new
// branch starts at base (empty: HEAD), without an upstream, and branchMade reports that. The
// repository's post-checkout hook runs, and can fail. After an error nothing is left behind.
func AddWorktree(ctx context.Context, repo, path, branch, base string) (branchMade bool, err error) {
	defer wrap(&err, "add worktree %s on branch %q", path, branch)
	d, release, err := holdRepository(ctx, repo)
	if err != nil {
		return false, err
	}
	defer release()
	if entry := d.entry(path); entry != "" {
		if there, err := d.finish(ctx, repo, path, branch, entry); there || err != nil {
			return false, err
		}
	}
	was, err := surroundings(path, branch)
	if err != nil {
		return false, err
	}
	// git refuses a path whose worktree has vanished.
	if entry := d.entry(path); entry != "" {
		if err := forget(ctx, repo, path, entry); err != nil {
			return false, err
		}
	}
	exists, err := hasBranch(ctx, repo, branch)
	if err != nil {
		return false, err
	}
	from, args := "", []string{"worktree", "add", "--", path, branch}
	if !exists {
		if from, err = commitOf(ctx, repo, base); err != nil {
			return false, err
		}
		args = []string{"worktree", "add", "--no-track", "-b", branch, "--", path, from}
	}
	if _, err = runHooked(ctx, repo, args...); err == nil {
		co := Look(path)
		if co.Err == nil && co.Repo == d.common && co.Branch == branch {
			return !exists, nil
		}
		err = errors.Join(fmt.Errorf("git made a worktree on branch %q at %q instead", co.Branch, co.Head), co.Err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	if undo := d.undo(ctx, repo, path, branch, from, was); undo != nil {
		return false, fmt.Errorf("%w; undo: %w", err, undo)
	}
	return false, err
}

// undo removes what a failed AddWorktree left. from is the commit of the branch if that may
// be new.
func (d dirs) undo(ctx context.Context, repo, path, branch, from string, was ground) error {
	var errs []error
	if d.entry(path) != "" {
		_, err := run(ctx, repo, "worktree", "remove", "--force", "--force", "--", path)
		errs = append(errs, err)
	}
	if from != "" {
		if made, err := hasBranch(ctx, repo, branch); err != nil {
			errs = append(errs, err)
		} else if made {
			// Only while it has no new commit.
			_, err := run(ctx, repo, "update-ref", "-d", headsPrefix+branch, from)
			errs = append(errs, err)
		}
	}
	was.restore(path)
	return errors.Join(errs...)
}

// ground is what was at a path before a checkout was made there.
type ground struct {
	empty bool        // an empty directory
	mode  os.FileMode // of that
	above string      // the lowest directory above it that existed
}

// surroundings returns what is at path, for a checkout of branch. Anything but an empty
// directory is an error.
func surroundings(path, branch string) (ground, error) {
	g := ground{above: filepath.Dir(path)}
	if err := session.CheckBranch(branch); err != nil {
		return g, err
	}
	if !filepath.IsAbs(path) {
		return g, errors.New("the path is not absolute")
	}
	switch fi, err := os.Lstat(path); {
	case err == nil && !fi.IsDir():
		return g, errors.New("the path exists and is not a directory")
	case err == nil:
		if g.empty, err = isEmpty(path); err != nil {
			return g, err
		}
		if !g.empty {
			return g, errors.New("the directory is not empty")
		}
		g.mode = fi.Mode().Perm()
	case !errors.Is(err, os.ErrNotExist):
		return g, err
	}
	for {
		if _, err := os.Lstat(g.above); err == nil || filepath.Dir(g.above) == g.above {
			return g, nil
		}
		g.above = filepath.Dir(g.above)
	}
}

// restore recreates the empty directory, or removes the empty directories that were made
// for path.
func (g ground) restore(path string) {
	if g.empty {
		_ = os.Mkdir(path, g.mode) // it may still exist
		return
	}
	for p := path; p != g.above; p = filepath.Dir(p) {
		if err := syscall.Rmdir(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			return
		}
	}
}

// repository returns the directories of the repository whose checkout or git directory
// repo is.
func repository(repo string) (dirs, error) {
	d, err := findDirs(repo)
	if errors.Is(err, ErrNotRepository) {
		if _, e := os.Stat(filepath.Join(repo, "HEAD")); e == nil {
			d, err = dirs{git: repo}.settle()
		}
	}
	if err != nil {
		return d, fmt.Errorf("repository %s: %w", repo, err)
	}
	return d, nil
}

// entry returns the git directory of the linked worktree at path, which may be gone, or "".
func (d dirs) entry(path string) string {
	entries, _ := d.worktreeDirs()
	path = fileid.Resolve(path)
	for _, dir := range entries {
		text, err := readSmall(filepath.Join(dir, "gitdir"))
		if err == nil && fileid.Resolve(filepath.Dir(within(dir, text))) == path {
			return dir
		}
	}
	return ""
}

func hasBranch(ctx context.Context, repo, branch string) (bool, error) {
	_, err := run(ctx, repo, "show-ref", "--verify", "--quiet", headsPrefix+branch)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// commitOf returns the commit of base; empty: HEAD.
func commitOf(ctx context.Context, repo, base string) (string, error) {
	what := base
	if base == "" {
		what = "HEAD"
	}
	if strings.HasPrefix(what, "-") {
		return "", fmt.Errorf("invalid base %q: it starts with a dash", base)
	}
	out, err := run(ctx, repo, "rev-parse", "--verify", "--quiet", what+"^{commit}")
	switch {
	case exitCode(err) == 1 && what == "HEAD":
		return "", fmt.Errorf("repository %s has no commit to start the branch from; make a first one: git -C %s commit --allow-empty -m start", repo, repo)
	case exitCode(err) == 1:
		if _, err := run(ctx, repo, "rev-parse", "--verify", "--quiet", what); err == nil {
			return "", fmt.Errorf("base %q is not a commit in repository %s", base, repo)
		}
		return "", &BaseError{repo, base, nearestRef(ctx, repo, base)}
	}
	return strings.TrimSpace(out), err
}

// RepairWorktrees reconnects a repository and its worktrees at the paths after a move.
func RepairWorktrees(ctx context.Context, repo string, paths ...string) (err error) {
	defer wrap(&err, "repair the worktrees of %s", repo)
	_, release, err := holdRepository(ctx, repo)
	if err != nil {
		return err
	}
	defer release()
	_, err = run(ctx, repo, append([]string{"worktree", "repair"}, paths...)...)
	return err
}

// RemoveWorktree removes the repository's worktree at path, and never its branch. It
// returns a *RiskError if anything would be lost (AtRisk), and git's error for a locked
// worktree and the main checkout. Of a worktree whose directory is gone it removes the
// repository's entry. A worktree that does not exist is not an error.
func RemoveWorktree(ctx context.Context, repo, path string) (err error) {
	defer wrap(&err, "remove worktree %s", path)
	d, release, err := holdRepository(ctx, repo)
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
		return fmt.Errorf("check for unsaved work in it: %w", err)
	}
	if risk.Any() {
		return &RiskError{path, risk}
	}
	for _, p := range inner { // otherwise git considers their branches in use
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

// finishTimeout bounds how long a git that outlived its agentform may take to finish a
// worktree, with files that a filter fetches.
const finishTimeout = 10 * time.Minute

// partial reports whether git has not finished making this linked worktree. It locks it
// meanwhile with the reason "initializing" (git's builtin/worktree.c).
func (d dirs) partial() bool {
	if d.git == d.common {
		return false
	}
	why, err := readSmall(filepath.Join(d.git, "locked"))
	return err == nil && strings.HasPrefix(why, "initializing")
}

// finish waits for the git of a killed agentform that is still creating a worktree at path, and
// removes an abandoned one. there reports whether it is complete.
func (d dirs) finish(ctx context.Context, repo, path, branch, entry string) (there bool, err error) {
	began := dirs{git: entry, common: d.common}
	if !began.partial() {
		return false, nil
	}
	for until := time.Now().Add(finishTimeout); began.partial(); {
		if !atWork(path) {
			if !began.partial() { // finished meanwhile
				break
			}
			if _, err := run(ctx, repo, "worktree", "remove", "--force", "--force", "--", path); err != nil {
				return false, fmt.Errorf("remove the half-made worktree: %w", err)
			}
			return false, nil
		}
		if time.Now().After(until) {
			return false, fmt.Errorf("an earlier git is still creating it, after %s", finishTimeout)
		}
		if !sleep.For(ctx, 50*time.Millisecond) {
			return false, fmt.Errorf("wait for a git that is still creating it: %w", context.Cause(ctx))
		}
	}
	co := Look(path)
	return co.Err == nil && co.Repo == d.common && co.Branch == branch, co.Err
}
