package git

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/session"
)

// LookClone is Look for the workspace of a container, whose agent is not trusted. It starts
// no process, follows nothing out of the clone, and requires a directory .git.
func LookClone(path string) session.Checkout {
	co := session.Checkout{Path: path}
	switch fi, err := os.Lstat(path); {
	case errors.Is(err, os.ErrNotExist):
		return co
	case err != nil:
		co.Err = fmt.Errorf("look at clone: %w", err)
		return co
	case !fi.IsDir():
		co.Exists = true
		return co
	}
	co.Exists = true
	d, err := cloneDirs(path)
	switch {
	case errors.Is(err, ErrNotRepository):
		co.Empty, co.Err = isEmpty(path)
		return co
	case err != nil:
		co.Err = fmt.Errorf("look at clone %s: %w", path, err)
		return co
	}
	text, err := readSmall(filepath.Join(d.git, "HEAD"))
	if err == nil && strings.TrimSpace(strings.TrimPrefix(text, "ref:")) == headsPrefix+".invalid" {
		err = errors.New("its refs are not files (reftable), and agentform runs no git in a container's workspace")
	}
	if err != nil {
		co.Git, co.Repo, co.GitDir = true, d.common, d.git
		co.Err = fmt.Errorf("look at clone %s: %w", path, err)
		return co
	}
	return d.checkout(co)
}

// cloneDirs returns the directories of a clone with a .git of its own.
func cloneDirs(path string) (dirs, error) {
	dot := filepath.Join(path, ".git")
	switch fi, err := os.Lstat(dot); {
	case errors.Is(err, os.ErrNotExist):
		return dirs{}, ErrNotRepository
	case err != nil:
		return dirs{}, err
	case !fi.IsDir():
		return dirs{}, fmt.Errorf("%s is not a directory: it leads out of the clone", dot)
	}
	return dirs{git: dot, common: dot}, nil
}

// refLimit bounds how much of a clone's refs is read: an agent may have made any number.
const refLimit = 16 << 20

// budget is how many more bytes of refs and reflogs can be read.
type budget struct{ left int64 }

func (b *budget) take(n int64) error {
	if b.left -= n; b.left < 0 {
		return errors.New("it has too many refs, or its reflogs are too long")
	}
	return nil
}

// refs returns all refs of the clone and its worktrees, and detached HEADs, from its files.
func (d dirs) refs() (map[string]string, error) {
	all := map[string]string{}
	if err := d.packedRefs(all); err != nil {
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
		_, head, _, err := dirs{git: dir, common: d.common}.head()
		if err != nil {
			return nil, err
		}
		if head != "" {
			all[d.name(filepath.Join(dir, "HEAD"))] = head
		}
	}
	return all, nil
}

// name returns a file's name in the clone's git directory.
func (d dirs) name(path string) string {
	return strings.TrimPrefix(path, d.common+string(filepath.Separator))
}

// worktreeDirs returns the git directories of the clone's linked worktrees.
func (d dirs) worktreeDirs() (all []string, err error) {
	entries, err := os.ReadDir(filepath.Join(d.common, "worktrees"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		all = append(all, filepath.Join(d.common, "worktrees", e.Name()))
	}
	return all, err
}

// looseRefs adds the refs of a git directory that have files of their own.
func (d dirs) looseRefs(dir string, b *budget, all map[string]string) error {
	return filepath.WalkDir(filepath.Join(dir, "refs"), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		if err := b.take(int64(len(path) + 64)); err != nil {
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
func (d dirs) reflogs() ([]string, error) {
	seen, b := map[string]bool{}, &budget{refLimit}
	entries, err := d.worktreeDirs()
	if err != nil {
		return nil, err
	}
	for _, dir := range append(entries, d.common) {
		err := filepath.WalkDir(filepath.Join(dir, "logs"), func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			if err != nil || e.IsDir() {
				return err
			}
			_, err = readReflog(path, b, seen)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.Collect(maps.Keys(seen)), nil
}

// readReflog adds the commits of a reflog and returns the last.
func readReflog(path string, b *budget, seen map[string]bool) (last string, err error) {
	f, err := layout.OpenRegular(path, syscall.O_NOFOLLOW)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err == nil {
		err = b.take(fi.Size())
	}
	if err != nil {
		return "", err
	}
	lines := bufio.NewScanner(io.LimitReader(f, fi.Size()))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		// OLD NEW NAME <MAIL> TIME ZONE<tab>MESSAGE; the first OLD is all zeros.
		fields := strings.SplitN(lines.Text(), " ", 3)
		for _, name := range fields[:min(2, len(fields))] {
			if isCommit(name) && strings.Trim(name, "0") != "" {
				seen[name], last = true, name
			}
		}
	}
	return last, lines.Err()
}

// packedRefs adds the refs of the file packed-refs.
func (d dirs) packedRefs(found map[string]string) error {
	path := filepath.Join(d.common, "packed-refs")
	f, err := layout.OpenRegular(path, syscall.O_NOFOLLOW)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || fi.Size() > refLimit {
		return errors.Join(fmt.Errorf("%s is too large", path), err)
	}
	lines := bufio.NewScanner(io.LimitReader(f, refLimit))
	for lines.Scan() {
		// 1a2b… refs/heads/main; ^1a2b… is what the tag above points to.
		if commit, name, ok := strings.Cut(lines.Text(), " "); ok && isCommit(commit) {
			found[name] = commit
		}
	}
	return lines.Err()
}

// cloneTip returns the commit of a branch of the clone at path, from its files.
func cloneTip(path, branch string) (string, error) {
	d, err := cloneDirs(path)
	if err != nil {
		return "", err
	}
	ref := headsPrefix + branch
	text, err := readSmall(filepath.Join(d.common, filepath.FromSlash(ref)))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		packed := map[string]string{}
		if err := d.packedRefs(packed); err != nil {
			return "", err
		}
		if text = packed[ref]; text == "" {
			return "", fmt.Errorf("it has no branch %q", branch)
		}
		return text, nil
	}
	if err == nil && !isCommit(text) {
		err = fmt.Errorf("its branch %q has no commit", branch)
	}
	return text, err
}
