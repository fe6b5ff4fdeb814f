package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Base is what the work in a checkout is compared with: its merge base with Commit.
type Base struct {
	Name   string   // for people: main; empty: HEAD
	Commit string   // a revision in the checkout; HEAD: only what is not committed counts
	Remote string   // a ref with the same branch as it was last fetched; empty: there is none
	Start  string   // of a clone: the commit that it was made from, or of the base that it was brought last
	Files  []string // while they do not change, the base and Remote are the same commits
}

// Bases are the bases that a repository offers to its branches.
type Bases struct {
	common string
	packed map[string]string
	usual  []Base
}

// reftableList is a file that every change of a ref changes, in a repository whose refs are
// not files.
const reftableList = "reftable/tables.list"

// BasesOf returns the bases of a repository, by the top of any of its checkouts. It starts
// no process, except where refs are not files (reftable): only the repository's own branch
// and what is declared are known there.
func BasesOf(repo string) (Bases, error) {
	d, err := repository(repo)
	if err != nil {
		return Bases{}, err
	}
	packed, err := d.packedRefs()
	if err != nil {
		return Bases{}, err
	}
	of := Bases{common: d.common, packed: packed}
	own, _, _, _ := dirs{git: d.common, common: d.common}.head() // unreadable: there are others
	_, reftable := os.Lstat(filepath.Join(d.common, reftableList))
	origin, _ := readSmall(filepath.Join(d.common, "refs", "remotes", "origin", "HEAD"))
	for _, ref := range []string{headsPrefix + own, strings.TrimPrefix(origin, "ref: "), headsPrefix + "main", headsPrefix + "master"} {
		name := strings.TrimPrefix(strings.TrimPrefix(ref, headsPrefix), remotesPrefix)
		inTable := reftable == nil && name == own // of the others it is not known without git
		if name != "" && (of.has(ref) || inTable) {
			of.usual = append(of.usual, of.base(name, ref, ref))
		}
	}
	return of, nil
}

const remotesPrefix = "refs/remotes/"

func (b Bases) has(ref string) bool {
	_, err := os.Lstat(filepath.Join(b.common, filepath.FromSlash(ref)))
	return err == nil || b.packed[ref] != ""
}

// base returns a base that changes with some of the refs. The remote that it is fetched from is
// origin.
func (b Bases) base(name, commit string, refs ...string) Base {
	base := Base{Name: name, Commit: commit}
	if fetched := remotesPrefix + "origin/" + name; commit != fetched {
		if refs = append(refs, fetched); b.has(fetched) {
			base.Remote = fetched
		}
	}
	base.Files = b.files(refs...)
	if base.fetches() {
		base.Files = append(base.Files, filepath.Join(b.common, fetchHead))
	}
	return base
}

// fetchHead is a file in a git directory that each fetch writes.
const fetchHead = "FETCH_HEAD"

// fetches reports whether a fetch can change what the base, or Remote, is.
func (b Base) fetches() bool { return b.Remote != "" || strings.HasPrefix(b.Commit, remotesPrefix) }

// RemoteName is Remote for people: origin/main.
func (b Base) RemoteName() string { return strings.TrimPrefix(b.Remote, remotesPrefix) }

// FetchedAt returns when the base was last fetched, by the repository's own checkout or one with
// the git directory. It is zero if that is not known, or fetching does not change the base.
func (b Base) FetchedAt(gitDir string) (at time.Time) {
	if !b.fetches() {
		return at
	}
	for _, file := range append(b.Files, filepath.Join(gitDir, fetchHead)) {
		if filepath.Base(file) != fetchHead {
			continue
		}
		if fi, err := os.Lstat(file); err == nil && fi.ModTime().After(at) {
			at = fi.ModTime()
		}
	}
	return at
}

func (b Bases) files(refs ...string) (files []string) {
	for _, ref := range append(refs, "packed-refs", reftableList) {
		files = append(files, filepath.Join(b.common, filepath.FromSlash(ref)))
	}
	return files
}

// Base returns the base of a branch: what is declared; else the branch of the repository's
// own checkout, the default branch of its remote, main or master, as the first of them that
// exists and is another branch; else HEAD.
func (b Bases) Base(branch, declared string) Base {
	if declared != "" && declared != "HEAD" {
		return b.base(declared, declared, headsPrefix+declared, "refs/tags/"+declared, remotesPrefix+declared)
	}
	for _, base := range b.usual {
		if base.Name != branch {
			return base
		}
	}
	return Base{Commit: "HEAD"}
}

// InClone returns the base of a clone of the repository at path, whose refs the clone does
// not have: the commit from which the clone's branch left the base.
func (b Base) InClone(ctx context.Context, repo, path, branch string) (Base, error) {
	d, err := cloneDirs(path)
	if err != nil {
		return b, err
	}
	start, err := readSmall(filepath.Join(d.common, "refs", "remotes", "origin", filepath.FromSlash(branch)))
	if errors.Is(err, os.ErrNotExist) {
		var packed map[string]string
		packed, err = d.packedRefs()
		start = packed["refs/remotes/origin/"+branch]
	}
	if err != nil || !isCommit(start) {
		return b, errors.Join(fmt.Errorf("clone %s does not record the commit that it was made from", path), err)
	}
	return b.From(ctx, repo, start), nil
}

// From returns the base of a clone of the repository that has the commit start of it: the commit
// from which the clone's branch left the base.
func (b Base) From(ctx context.Context, repo, start string) Base {
	out, err := run(ctx, repo, "merge-base", "--end-of-options", b.Commit, start)
	b.Start, b.Commit = start, start // if the base is gone, or shares nothing with the clone
	if err == nil {
		b.Commit = strings.TrimSpace(out)
	}
	return b
}

// Args returns the last arguments of git diff, which then compares the work tree with the
// merge base.
func (b Base) Args() []string {
	if b.Commit == "HEAD" {
		return []string{"HEAD", "--"}
	}
	return []string{"--merge-base", b.Commit, "--"}
}

// FileChange is a file that a commit has otherwise than another one.
type FileChange struct {
	Name string
	Link bool // it is or was a symbolic link or a submodule: files below it may be others, too
}

// FilesChanged returns the files that a commit of a checkout has otherwise than its merge base
// with the base.
func (b Base) FilesChanged(ctx context.Context, git Runner, commit string) (all []FileChange, err error) {
	out, err := b.diff(ctx, git, func(b Base) []string {
		return []string{"--raw", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--merge-base", b.Commit, commit, "--"}
	})
	if err != nil {
		return nil, err
	}
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 { // :100644 120000 9fd6338 b1e0c7a T, and the name
		modes := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(modes) < 2 {
			return nil, fmt.Errorf("git diff printed %.100q", fields[i])
		}
		all = append(all, FileChange{fields[i+1], slices.ContainsFunc(modes[:2], isLink)})
	}
	return all, nil
}

// DiffOf returns how a commit of a checkout has some files otherwise than its merge base with the
// base.
func (b Base) DiffOf(ctx context.Context, git Runner, commit string, files []string) (string, error) {
	return b.diff(ctx, git, func(b Base) []string {
		args := []string{"--no-color", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--merge-base", b.Commit, commit, "--"}
		for _, file := range files {
			args = append(args, ":(top,literal)"+file)
		}
		return args
	})
}

// isLink reports whether a mode is that of a symbolic link or a submodule.
func isLink(mode string) bool { return mode == "120000" || mode == "160000" }

// Changes is how far a checkout is from its merge base with a base.
type Changes struct {
	Added, Removed int // lines of tracked files, committed or not
	Untracked      int // files that are neither tracked nor ignored
	Ahead          int // commits that the base lacks
	Behind         int // commits of the base, also as last fetched, that the checkout lacks
}

// CountChanges counts the changes of the checkout that git runs in, but not the commits, and
// returns the files that have any, relative to its top.
func CountChanges(ctx context.Context, git Runner, base Base) (c Changes, files []string, err error) {
	var lines string
	var untracked []string
	var errs [2]error
	// They read different things, and so take as long as the longest of them.
	var wg sync.WaitGroup
	wg.Go(func() {
		lines, errs[0] = base.diff(ctx, git, func(b Base) []string {
			return append([]string{"--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"}, b.Args()...)
		})
	})
	wg.Go(func() { untracked, errs[1] = UntrackedFiles(ctx, git) })
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return c, nil, err
	}
	c.Added, c.Removed, files = countLines(lines)
	c.Untracked = len(untracked)
	return c, append(files, untracked...), nil
}

// countLines counts the lines in the output of git diff --numstat -z, and returns the files.
func countLines(out string) (added, removed int, files []string) {
	for line := range strings.SplitSeq(out, "\x00") {
		// 12<tab>3<tab>name; - of a binary file
		if fields := strings.SplitN(line, "\t", 3); len(fields) == 3 {
			more, _ := strconv.Atoi(fields[0])
			less, _ := strconv.Atoi(fields[1])
			added, removed = added+more, removed+less
			files = append(files, fields[2])
		}
	}
	return added, removed, files
}
