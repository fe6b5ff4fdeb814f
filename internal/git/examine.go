package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Runner runs git in a checkout, with arguments, and returns what it printed.
type Runner func(ctx context.Context, args ...string) (string, error)

// Here runs git on this machine. It is for a checkout whose agent runs here too,
// with the same rights.
func Here(path string) Runner {
	return func(ctx context.Context, args ...string) (string, error) { return run(ctx, path, args...) }
}

// ArgsElsewhere returns git's arguments for a Runner that does not run git on
// this machine, such as in a container.
func ArgsElsewhere(args ...string) []string {
	return slices.Concat(safe, []string{"-c", "safe.directory=*"}, quiet, args)
}

// examiner examines a checkout that is about to be removed.
type examiner struct {
	top   string // of the checkout, absolute
	dirs  dirs   // of the checkout
	git   Runner // at top
	apart bool   // it is a clone: its repository goes with it, and no git is run in it but by git
	// entries are git folders of linked worktrees that are removed with the checkout and
	// lie outside it. The repositories of a worktree's submodules are in there.
	entries []string
}

// work is what is not committed in the checkout at path: the one that is
// examined, or one below it. d are its git folders.
func (g examiner) work(ctx context.Context, path string, d dirs) (r Risk, err error) {
	r.Busy = d.busy()
	// A work tree that the settings name is not taken instead.
	out, err := g.git(ctx, "-C", path, "--work-tree=.", "status", "--porcelain", "--branch", "-z", "--no-renames", "--untracked-files=normal", "--ignore-submodules=none")
	if err != nil {
		return r, fmt.Errorf("ask git in it: %w", err)
	}
	if out == "" { // the branch at least is always printed
		return r, errors.New("ask git in it: what it printed was lost")
	}
	r.Uncommitted, r.Untracked = counted(out)
	hidden, err := g.hidden(ctx, path, d)
	r.Uncommitted += hidden
	return r, err
}

// found are the checkouts and the repositories below the top of a checkout.
type found struct {
	checkouts []string // folders with a .git
	stores    []string // folders with refs and objects
}

// search looks for checkouts and repositories everywhere below a folder, also in
// what git ignores and in the git folder itself. Links are not followed.
func search(ctx context.Context, top string) (f found, err error) {
	err = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		dir := filepath.Dir(path)
		switch {
		case err != nil:
			return err
		case e.Name() == ".git" && dir != top:
			f.checkouts = append(f.checkouts, dir)
		case e.Name() == "HEAD" && dir != filepath.Join(top, ".git") && isStore(dir):
			f.stores = append(f.stores, dir)
		}
		return nil
	})
	return f, err
}

// isStore reports whether a folder is a repository: what git init makes.
func isStore(dir string) bool {
	for _, name := range []string{"objects", "refs"} {
		if fi, err := os.Lstat(filepath.Join(dir, name)); err != nil || !fi.IsDir() {
			return false
		}
	}
	return true
}

// nested looks for worktrees and repositories below the checkout that hold work,
// and names the first. inner are the repository's other worktrees below it.
func (g examiner) nested(ctx context.Context) (inner []string, holds string, err error) {
	f, err := search(ctx, g.top)
	if err != nil {
		return nil, "", err
	}
	g.addEntry(g.dirs)
	for _, path := range f.checkouts {
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
		within, err := search(ctx, entry)
		if err != nil {
			return nil, "", err
		}
		f.stores = append(f.stores, within.stores...)
	}
	for _, path := range f.stores {
		if holds, err := g.store(ctx, path); err != nil || holds != "" {
			return nil, holds, err
		}
	}
	slices.Reverse(inner) // what lies in another one first
	return inner, "", nil
}

// addEntry adds the git folder of a linked worktree to the entries, unless it lies
// below the top and is searched anyway.
func (g *examiner) addEntry(d dirs) {
	if d.git != d.common && !g.holds(d.git) {
		g.entries = append(g.entries, d.git)
	}
}

// checkout says what a checkout below the top holds; empty: nothing.
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

// holds reports whether a path is removed with the checkout: it is below the top or in
// one of the entries.
func (g examiner) holds(path string) bool {
	path = resolve(path)
	return slices.ContainsFunc(append([]string{g.top}, g.entries...), func(dir string) bool {
		rel, err := filepath.Rel(resolve(dir), path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// store says what a repository below the top holds that neither a remote nor a
// checkout below the top has; empty: nothing. What a remote had when it was last
// asked counts as held there.
func (g examiner) store(ctx context.Context, path string) (string, error) {
	if holds, err := g.ownWorktrees(ctx, path); err != nil || holds != "" {
		return holds, err
	}
	// The settings of a submodule name a work tree, which may be gone.
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

// elsewhere reports whether there are remotes, all at places that stay. base is what
// their relative paths begin at.
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

// ownWorktrees says what linked worktrees of a repository below the top would
// lose with it; empty: nothing. Those that are below the top themselves are
// examined for themselves.
func (g examiner) ownWorktrees(ctx context.Context, common string) (string, error) {
	entries, err := os.ReadDir(filepath.Join(common, "worktrees"))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		entry := filepath.Join(common, "worktrees", e.Name())
		text, err := readSmall(filepath.Join(entry, "gitdir"))
		if err != nil {
			return "", err
		}
		path := filepath.Dir(within(entry, text))
		if d, err := findDirs(path); err == nil && resolve(d.git) == resolve(entry) {
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
			return fmt.Sprintf("the staged changes of the worktree %s, whose folder is gone", path), nil
		}
	}
	return "", nil
}
