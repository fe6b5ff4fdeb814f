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

	"github.com/agentform/agentform/session"
)

// undoFor is how long taking back a worktree that failed may take, which also
// happens when the caller's context has ended.
const undoFor = 30 * time.Second

// Worktrees lists every checkout of the repository and the branch it holds. A
// checkout in the middle of a rebase or bisect holds the branch that it is
// about. Paths are as git records them, absolute and without links, and the
// list is sorted by them.
func Worktrees(ctx context.Context, repo string) ([]session.Held, error) {
	sep := "\x00"
	out, err := run(ctx, repo, "worktree", "list", "--porcelain", "-z")
	if exitCode(err) == 129 {
		// git before 2.36 knows no -z.
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

// parseHeld reads one entry of git worktree list --porcelain. A bare repository
// is in the list and is no checkout.
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

// AddWorktree makes a worktree of the repository (the top of any of its
// checkouts, or its git folder) at path, on branch. A branch that does not
// exist is made from base (empty: HEAD), without an upstream, and branchMade
// says so. path must be absolute, and nothing or an empty folder. The
// repository's post-checkout hook runs, and may refuse.
//
// One worktree is made at a time in a repository. When it fails, or ctx ends,
// it leaves behind neither the worktree nor a folder or branch that it made.
func AddWorktree(ctx context.Context, repo, path, branch, base string) (branchMade bool, err error) {
	defer wrap(&err, "add worktree %s on branch %q", path, branch)
	if err := session.CheckBranch(branch); err != nil {
		return false, err
	}
	if !filepath.IsAbs(path) {
		return false, errors.New("the path is not absolute")
	}
	d, err := repository(repo)
	if err != nil {
		return false, err
	}
	release, err := hold(ctx, d.common)
	if err != nil {
		return false, err
	}
	defer release()
	if entry := d.entry(path); entry != "" {
		if there, err := d.finish(ctx, repo, path, branch, entry); there || err != nil {
			return false, err
		}
	}
	was, err := surroundings(path)
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoFor)
	defer cancel()
	if undo := d.undo(ctx, repo, path, branch, from, was); undo != nil {
		return false, fmt.Errorf("%w; taking it back: %w", err, undo)
	}
	return false, err
}

// undo takes back what an attempt to add a worktree has left. from is the commit
// of the branch if the attempt may have made it.
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
			// Only as long as it is where it was made.
			_, err := run(ctx, repo, "update-ref", "-d", headsPrefix+branch, from)
			errs = append(errs, err)
		}
	}
	was.restore(path)
	return errors.Join(errs...)
}

// ground is what stood at a path before a worktree was made there.
type ground struct {
	empty bool        // an empty folder
	mode  os.FileMode // of that
	above string      // the lowest folder above it that was there
}

// surroundings says what stands at path, and refuses all but nothing and an
// empty folder.
func surroundings(path string) (ground, error) {
	g := ground{above: filepath.Dir(path)}
	switch fi, err := os.Lstat(path); {
	case err == nil && !fi.IsDir():
		return g, errors.New("there is something at the path that is no folder")
	case err == nil:
		if g.empty, err = isEmpty(path); err != nil {
			return g, err
		}
		if !g.empty {
			return g, errors.New("the folder is not empty")
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

// restore brings back an empty folder that was there, or removes the folders
// that were made on the way to path. It touches nothing that is not empty.
func (g ground) restore(path string) {
	if g.empty {
		_ = os.Mkdir(path, g.mode) // it may be there still
		return
	}
	for p := path; p != g.above; p = filepath.Dir(p) {
		if err := syscall.Rmdir(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			return
		}
	}
}

// repository finds the folders of a repository by the top of a checkout or by
// its git folder.
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

// entry is the folder in which the repository keeps its linked worktree at
// path; empty: there is none. The worktree itself may be gone.
func (d dirs) entry(path string) string {
	all := filepath.Join(d.common, "worktrees")
	entries, _ := os.ReadDir(all) // none: no linked worktrees
	path = resolve(path)
	for _, e := range entries {
		dir := filepath.Join(all, e.Name())
		text, err := readSmall(filepath.Join(dir, "gitdir"))
		if err == nil && resolve(filepath.Dir(within(dir, text))) == path {
			return dir
		}
	}
	return ""
}

// resolve follows the links in a path, as far as it exists.
func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if up := filepath.Dir(path); up != path {
		return filepath.Join(resolve(up), filepath.Base(path))
	}
	return path
}

func hasBranch(ctx context.Context, repo, branch string) (bool, error) {
	_, err := run(ctx, repo, "show-ref", "--verify", "--quiet", headsPrefix+branch)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// commitOf is the commit that base names; empty: HEAD.
func commitOf(ctx context.Context, repo, base string) (string, error) {
	what := base
	if base == "" {
		what = "HEAD"
	}
	if strings.HasPrefix(what, "-") {
		return "", fmt.Errorf("invalid base %q: it begins with a dash", base)
	}
	out, err := run(ctx, repo, "rev-parse", "--verify", "--quiet", what+"^{commit}")
	switch {
	case exitCode(err) == 1 && what == "HEAD":
		return "", fmt.Errorf("repository %s has no commit to begin the branch from; make a first one: git -C %s commit --allow-empty -m start", repo, repo)
	case exitCode(err) == 1:
		if _, err := run(ctx, repo, "rev-parse", "--verify", "--quiet", what); err == nil {
			return "", fmt.Errorf("base %q is no commit of repository %s", base, repo)
		}
		return "", &BaseError{repo, base, nearestRef(ctx, repo, base)}
	}
	return strings.TrimSpace(out), err
}

// RepairWorktrees makes a repository and its worktrees at the paths know each other
// again, after any of them was moved.
func RepairWorktrees(ctx context.Context, repo string, paths ...string) (err error) {
	defer wrap(&err, "repair the worktrees of %s", repo)
	common, err := CommonDir(repo)
	if err != nil {
		return err
	}
	release, err := hold(ctx, common)
	if err != nil {
		return err
	}
	defer release()
	_, err = run(ctx, repo, append([]string{"worktree", "repair"}, paths...)...)
	return err
}
