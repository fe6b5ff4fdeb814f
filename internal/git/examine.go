package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/fileid"
)

// Runner runs git in a checkout, with arguments, and returns what it printed.
type Runner func(ctx context.Context, args ...string) (string, error)

// Here runs git on this machine, for a checkout whose agent runs here too. It reads, and is given
// up when it takes longer than readLimit.
func Here(path string) Runner {
	return func(ctx context.Context, args ...string) (string, error) {
		ctx, cancel := limited(ctx)
		defer cancel()
		return run(ctx, path, args...)
	}
}

// readLimit is far above what git takes to read a large checkout without a cache, and below the
// patience of who waits for a file system that does not answer.
const readLimit = 2 * time.Minute

func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, readLimit, fmt.Errorf("no answer within %s", readLimit))
}

// ArgsElsewhere returns git's arguments for a Runner elsewhere, such as in a container.
func ArgsElsewhere(args ...string) []string {
	return slices.Concat(safe, []string{"-c", "safe.directory=*"}, quiet, args)
}

// CommandElsewhere returns a command line of git to run elsewhere, such as in a container.
func CommandElsewhere(args ...string) []string {
	return append([]string{"env", "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "git"}, ArgsElsewhere(args...)...)
}

// Elsewhere returns a Runner that adds its arguments to a command line of this machine,
// which runs git in another place, with that standard input.
func Elsewhere(line []string, stdin string) Runner {
	return func(ctx context.Context, args ...string) (string, error) {
		bin, err := exec.LookPath(line[0])
		if err != nil {
			return "", fmt.Errorf("run git in its directory: %w", err)
		}
		return execute(ctx, bin, "", stdin, slices.Concat(line[1:], args), args)
	}
}

type examiner struct {
	top   string // of the checkout, absolute
	dirs  dirs   // of the checkout
	git   Runner // at top
	apart bool   // a clone: its repository goes with it, and only the Runner runs git in it
	// entries are git directories of linked worktrees that go with the checkout and are
	// outside it. They contain the repositories of submodules.
	entries []string
}

// work returns what is not committed in the checkout at path, which is the examined one or
// one below it.
func (g examiner) work(ctx context.Context, path string, d dirs) (r Risk, err error) {
	r.Busy = d.busy()
	// --work-tree overrides one in the settings.
	out, err := g.git(ctx, "-C", path, "--work-tree=.", "status", "--porcelain", "--branch", "-z", "--no-renames", "--untracked-files=normal", "--ignore-submodules=none")
	if err != nil {
		return r, fmt.Errorf("run git in it: %w", err)
	}
	if out == "" { // at least the branch is always printed
		return r, errors.New("run git in it: its output was lost")
	}
	r.Uncommitted, r.Untracked = counted(out)
	hidden, err := g.hidden(ctx, path, d)
	r.Uncommitted += len(hidden)
	return r, err
}

// search returns the checkouts below a directory (with a .git) and the repositories (with
// refs and objects), also in what git ignores and in the git directory. It follows no links.
func search(ctx context.Context, top string) (checkouts, stores []string, err error) {
	err = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		dir := filepath.Dir(path)
		switch {
		case err != nil:
			return err
		case e.Name() == ".git" && dir != top:
			checkouts = append(checkouts, dir)
		case e.Name() == "HEAD" && dir != filepath.Join(top, ".git") && isStore(dir):
			stores = append(stores, dir)
		}
		return nil
	})
	return checkouts, stores, err
}

// isStore reports whether a directory is a repository, as git init makes it.
func isStore(dir string) bool {
	for _, name := range []string{"objects", "refs"} {
		if fi, err := os.Lstat(filepath.Join(dir, name)); err != nil || !fi.IsDir() {
			return false
		}
	}
	return true
}

// nested returns the repository's other worktrees below the checkout, and the first
// worktree or repository there that holds work.
func (g examiner) nested(ctx context.Context) (inner []string, holds string, err error) {
	checkouts, stores, err := search(ctx, g.top)
	if err != nil {
		return nil, "", err
	}
	g.addEntry(g.dirs)
	for _, path := range checkouts {
		d, err := findDirs(path)
		if err != nil {
			return nil, fmt.Sprintf("a git checkout that cannot be examined (%v): %s", err, path), nil
		}
		if d.git != d.common && d.common == g.dirs.common {
			inner = append(inner, path)
		}
		g.addEntry(d)
		if holds, err := g.checkout(ctx, path, d); err != nil || holds != "" {
			return nil, holds, err
		}
	}
	for _, entry := range g.entries {
		_, within, err := search(ctx, entry)
		if err != nil {
			return nil, "", err
		}
		stores = append(stores, within...)
	}
	for _, path := range stores {
		if holds, err := g.store(ctx, path); err != nil || holds != "" {
			return nil, holds, err
		}
	}
	slices.Reverse(inner) // innermost first
	return inner, "", nil
}

// addEntry adds the git directory of a linked worktree, unless it goes with the top.
func (g *examiner) addEntry(d dirs) {
	if d.git != d.common && !g.holds(d.git) {
		g.entries = append(g.entries, d.git)
	}
}

func (g examiner) checkout(ctx context.Context, path string, d dirs) (string, error) {
	kind := "a repository"
	if d.git != d.common {
		kind = "a worktree"
		if _, err := os.Lstat(filepath.Join(d.git, "locked")); err == nil {
			return "a locked worktree: " + path, nil
		}
	}
	if !g.holds(d.common) && g.apart {
		return fmt.Sprintf("%s whose commits are in %s: %s", kind, d.common, path), nil
	}
	r, err := g.work(ctx, path, d)
	if err == nil && d.git != d.common && !g.holds(d.common) {
		err = d.addUnreachable(ctx, &r)
	}
	if err != nil || !r.Any() {
		return "", err
	}
	return fmt.Sprintf("%s with %s: %s", kind, r, path), nil
}

// holds reports whether a path goes with the checkout: it is below the top or an entry.
func (g examiner) holds(path string) bool {
	path = fileid.Resolve(path)
	return slices.ContainsFunc(append([]string{g.top}, g.entries...), func(dir string) bool {
		rel, err := filepath.Rel(fileid.Resolve(dir), path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// store returns what a repository below the top holds that no remote has, as of the last
// fetch; empty: nothing.
func (g examiner) store(ctx context.Context, path string) (string, error) {
	if holds, err := g.ownWorktrees(ctx, path); err != nil || holds != "" {
		return holds, err
	}
	// The work tree in the settings of a submodule may be gone.
	remotes, err := g.git(ctx, "--git-dir="+path, "--work-tree=.", "remote", "--verbose")
	if err != nil {
		return "", err
	}
	args := []string{"--git-dir=" + path, "--work-tree=.", "rev-list", "--count", "--all", "--reflog"}
	if g.elsewhere(strings.TrimSuffix(path, "/.git"), remotes) {
		args = append(args, "--not", "--remotes")
	}
	out, err := g.git(ctx, args...)
	if err != nil {
		return "", err
	}
	n, err := count(out)
	if err != nil || n == 0 {
		return "", err
	}
	return fmt.Sprintf("a repository with %s: %s", plural(n, "commit that no remote has", "commits that no remote has"), path), nil
}

// elsewhere reports whether there are remotes, all outside the checkout. Relative paths start at
// base.
func (g examiner) elsewhere(base, remotes string) bool {
	if remotes == "" {
		return false
	}
	for line := range strings.Lines(remotes) {
		// origin<tab>https://example.org/lib.git (fetch)
		_, url, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if i := strings.LastIndex(url, " ("); i >= 0 {
			url = url[:i]
		}
		path, local := strings.CutPrefix(url, "file://")
		host, _, scp := strings.Cut(url, ":")
		if !local && (strings.Contains(url, "://") || scp && !strings.Contains(host, "/")) {
			continue // on another machine
		}
		path = within(base, path)
		if _, err := os.Stat(path); err != nil || g.holds(path) {
			return false
		}
	}
	return true
}

// ownWorktrees returns what linked worktrees outside the top would lose with a repository
// below it; empty: nothing.
func (g examiner) ownWorktrees(ctx context.Context, common string) (string, error) {
	entries, err := dirs{common: common}.worktreeDirs()
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		text, err := readSmall(filepath.Join(entry, "gitdir"))
		if err != nil {
			return "", err
		}
		path := filepath.Dir(within(entry, text))
		if d, err := findDirs(path); err == nil && fileid.Resolve(d.git) == fileid.Resolve(entry) {
			if g.holds(path) {
				continue
			}
			return fmt.Sprintf("the repository of the worktree %s: %s", path, common), nil
		}
		n, err := staged(ctx, entry, g.git)
		if err != nil {
			return "", err
		}
		if n > 0 {
			return fmt.Sprintf("the staged changes of the worktree %s, whose directory is gone", path), nil
		}
	}
	return "", nil
}
