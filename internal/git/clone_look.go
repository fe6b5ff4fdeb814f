package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/agentform/agentform/session"
)

// LookClone is Look for the workspace of a container, whose agent is not trusted. It starts
// no process, follows nothing out of the clone, and requires a directory .git.
func LookClone(path string) session.Checkout { return look(path, cloneDirs, os.Lstat) }

func cloneDirs(path string) (dirs, error) {
	if fi, err := os.Lstat(path); err == nil && !fi.IsDir() {
		return dirs{}, ErrNotRepository
	}
	dot := filepath.Join(path, ".git")
	switch fi, err := os.Lstat(dot); {
	case errors.Is(err, os.ErrNotExist):
		return dirs{}, ErrNotRepository
	case err != nil:
		return dirs{}, err
	case !fi.IsDir():
		return dirs{}, fmt.Errorf("%s is not a directory: it leads out of the clone", dot)
	}
	return dirs{git: dot, common: dot, clone: true}, nil
}

// refLimit bounds how much of a clone's refs is read: an agent may have made any number.
const refLimit = 16 << 20

// budget is how many more bytes of refs and reflogs can be read.
type budget struct{ left int }

func (b *budget) take(n int) error {
	if b.left -= n; b.left < 0 {
		return errors.New("it has too many refs, or its reflogs are too long")
	}
	return nil
}

// refs returns all refs of the clone and its worktrees, and detached HEADs, from its files.
func (d dirs) refs() (map[string]string, error) {
	all, err := d.packedRefs()
	if err != nil {
		return nil, err
	}
	b := &budget{refLimit}
	entries, err := d.worktreeDirs()
	if err != nil {
		return nil, err
	}
	for _, dir := range append(entries, d.common) {
		if err := d.looseRefs(dir, b, all); err != nil {
			return nil, err
		}
		_, head, _, err := dirs{dir, d.common, d.clone}.head()
		if err != nil {
			return nil, err
		}
		if head != "" {
			all[d.name(filepath.Join(dir, "HEAD"))] = head
		}
	}
	return all, nil
}

// name returns a file's name in the common directory.
func (d dirs) name(path string) string {
	return strings.TrimPrefix(path, d.common+string(filepath.Separator))
}

func (d dirs) worktreeDirs() (all []string, err error) {
	dir := filepath.Join(d.common, "worktrees")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		all = append(all, filepath.Join(dir, e.Name()))
	}
	return all, err
}

// looseRefs adds the refs of a git directory that have files of their own.
func (d dirs) looseRefs(dir string, b *budget, all map[string]string) error {
	return walkFiles(filepath.Join(dir, "refs"), func(path string) error {
		if err := b.take(len(path) + 64); err != nil {
			return err
		}
		text, err := readSmall(path)
		switch {
		case err != nil:
			return err
		case isCommit(text):
			all[d.name(path)] = text
		case !strings.HasPrefix(text, "ref:") && !strings.HasSuffix(path, ".lock"):
			return fmt.Errorf("%s has no commit", path)
		}
		return nil
	})
}

// reflogs returns the commits in the reflogs of the clone and its worktrees, from its files.
func (d dirs) reflogs() (all []string, err error) {
	b := &budget{refLimit}
	entries, err := d.worktreeDirs()
	if err != nil {
		return nil, err
	}
	for _, dir := range append(entries, d.common) {
		err := walkFiles(filepath.Join(dir, "logs"), func(path string) error {
			names, err := readReflog(path, b)
			all = append(all, names...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// walkFiles calls f with each file below a directory, which may be missing.
func walkFiles(dir string, f func(path string) error) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil
		case err != nil || e.IsDir():
			return err
		}
		return f(path)
	})
}

// readReflog returns the commits of a reflog, the last one last.
func readReflog(path string, b *budget) (names []string, err error) {
	text, err := readStart(path, b.left+1)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(text) {
		// OLD NEW NAME <MAIL> TIME ZONE<tab>MESSAGE; the first OLD is all zeros.
		fields := strings.SplitN(line, " ", 3)
		for _, name := range fields[:min(2, len(fields))] {
			if isCommit(name) && strings.Trim(name, "0") != "" {
				names = append(names, name)
			}
		}
	}
	return names, errors.Join(err, b.take(len(text)))
}

func (d dirs) packedRefs() (map[string]string, error) {
	found := map[string]string{}
	text, err := readWhole(filepath.Join(d.common, "packed-refs"), refLimit)
	if errors.Is(err, os.ErrNotExist) {
		return found, nil
	}
	for line := range strings.Lines(text) {
		// 1a2b… refs/heads/main; ^1a2b… is what the tag above points to.
		if commit, name, ok := strings.Cut(strings.TrimRight(line, "\r\n"), " "); ok && isCommit(commit) {
			found[name] = commit
		}
	}
	return found, err
}

func cloneTip(path, branch string) (string, error) {
	d, err := cloneDirs(path)
	if err != nil {
		return "", err
	}
	return d.tip(branch)
}

// BranchTip returns the commit of a branch of the checkout at path. It reads git's files and
// starts no process, so it finds none in a repository whose refs are not files (reftable).
func BranchTip(path, branch string, clone bool) (string, error) {
	if clone {
		return cloneTip(path, branch)
	}
	d, err := findDirs(path)
	if err != nil {
		return "", err
	}
	return d.tip(branch)
}

func (d dirs) tip(branch string) (string, error) {
	ref := headsPrefix + branch
	text, err := readSmall(filepath.Join(d.common, filepath.FromSlash(ref)))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		packed, err := d.packedRefs()
		if err == nil && packed[ref] == "" {
			err = fmt.Errorf("it has no branch %q", branch)
		}
		return packed[ref], err
	}
	if err == nil && !isCommit(text) {
		err = fmt.Errorf("its branch %q has no commit", branch)
	}
	return text, err
}
