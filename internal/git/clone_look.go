package git

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/agentform/agentform/session"
)

// LookClone is Look for a clone whose agent is not trusted with this machine: the
// workspace of a container. It starts no process whatever stands there, follows
// nothing that leads out of the clone, and takes only a folder .git of its own for
// a clone.
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

// cloneDirs are the folders of a clone that has a .git of its own.
func cloneDirs(path string) (dirs, error) {
	dot := filepath.Join(path, ".git")
	switch fi, err := os.Lstat(dot); {
	case errors.Is(err, os.ErrNotExist):
		return dirs{}, ErrNotRepository
	case err != nil:
		return dirs{}, err
	case !fi.IsDir():
		return dirs{}, fmt.Errorf("%s is no folder: it leads out of the clone", dot)
	}
	return dirs{git: dot, common: dot}, nil
}

// refLimit bounds how much of a clone's refs is read: an agent may have made as
// many as it likes.
const refLimit = 16 << 20

// refs are all refs of the clone, by name, and the commit of a detached HEAD as
// HEAD. They are read from its files.
func (d dirs) refs() (map[string]string, error) {
	found := map[string]string{}
	if err := d.packedRefs(found); err != nil {
		return nil, err
	}
	size := 0
	err := filepath.WalkDir(filepath.Join(d.common, "refs"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(d.common, path)
		if err != nil {
			return err
		}
		if size += len(name) + 64; size > refLimit {
			return errors.New("it has too many refs")
		}
		text, err := readSmall(path)
		switch {
		case err != nil:
			return err
		case isCommit(text):
			found[name] = text
		case !strings.HasPrefix(text, "ref:") && !strings.HasSuffix(name, ".lock"):
			return fmt.Errorf("%s holds no commit", path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if _, head, _, err := d.head(); err != nil {
		return nil, err
	} else if head != "" {
		found["HEAD"] = head
	}
	return found, nil
}

// packedRefs adds what the file packed-refs has.
func (d dirs) packedRefs(found map[string]string) error {
	path := filepath.Join(d.common, "packed-refs")
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() || fi.Size() > refLimit {
		return errors.Join(fmt.Errorf("%s is no file, or too large", path), err)
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

// cloneTip is the commit that a branch of the clone at path is at, out of its files.
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
		err = fmt.Errorf("its branch %q is at no commit", branch)
	}
	return text, err
}
