package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/session"
)

// Look returns what is at path: whether it is the top of a git checkout, of which
// repository, and on which branch. It reads git's files and starts no process, except git
// symbolic-ref in a repository whose refs are not files (reftable). It follows links.
//
// During a rebase or bisect, Branch is the branch that it is about, Busy is set and Head is
// the checked out commit. A branch that HEAD names and that no longer exists is BranchGone.
func Look(path string) session.Checkout { return look(path, findDirs, os.Stat) }

func look(path string, find func(string) (dirs, error), stat func(string) (fs.FileInfo, error)) session.Checkout {
	co := session.Checkout{Path: path}
	d, none := find(path)
	if none == nil {
		co.Exists = true
		return d.checkout(co)
	}
	fi, err := stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			co.Err = fmt.Errorf("inspect %s: it is a dangling link", path)
		}
		return co
	case err != nil:
		co.Err = fmt.Errorf("inspect checkout: %w", err)
		return co
	}
	co.Exists = true
	switch {
	case !fi.IsDir():
	case errors.Is(none, ErrNotRepository):
		co.Empty, co.Err = isEmpty(path)
	default:
		co.Err = fmt.Errorf("inspect checkout %s: %w%s", path, none, d.repair(none, path))
	}
	return co
}

// checkout adds the facts from git's files.
func (d dirs) checkout(co session.Checkout) session.Checkout {
	var err error
	co.Git, co.Repo, co.GitDir, co.Partial = true, d.common, d.git, d.partial()
	if co.Branch, co.Head, co.Busy, err = d.head(); err != nil {
		co.Err = fmt.Errorf("inspect checkout %s: %w%s", co.Path, err, d.repair(err, co.Path))
		return co
	}
	if co.Head == "" && co.Branch != "" {
		if last, gone, err := d.branchGone(co.Branch); err != nil {
			co.Err = fmt.Errorf("inspect checkout %s: %w", co.Path, err)
		} else if gone {
			co.Branch, co.BranchGone, co.Head = "", co.Branch, last
		}
	}
	return co
}

// errMoved reports that a worktree's repository is no longer at its place.
var errMoved = errors.New("is gone")

// repair returns how to reconnect the worktree at path with its repository.
func (d dirs) repair(err error, path string) string {
	if !errors.Is(err, errMoved) || d.git == filepath.Join(path, ".git") {
		return ""
	}
	return fmt.Sprintf("; if the repository was moved, run there: git worktree repair %q", path)
}

// branchGone reports whether HEAD had commits on a branch that no longer exists, and
// returns the last of them. A branch without any commit yet is not gone.
func (d dirs) branchGone(branch string) (last string, gone bool, err error) {
	ref := headsPrefix + branch
	for range 5 { // as many as git follows
		fi, err := os.Lstat(filepath.Join(d.common, filepath.FromSlash(ref)))
		if err != nil || fi.IsDir() {
			break
		}
		to := ""
		if fi.Mode().IsRegular() {
			to, err = d.symbolicRef(ref)
		}
		if to == "" {
			return "", false, err
		}
		ref = to
	}
	packed, err := d.packedRefs()
	if err != nil || packed[ref] != "" {
		return "", false, err
	}
	if reftable, err := os.Lstat(filepath.Join(d.common, "reftable")); err == nil && reftable.IsDir() {
		return "", false, nil // git resolved HEAD
	}
	_, last, err = d.headLog()
	return last, last != "" || d.git != d.common, err
}

// symbolicRef returns the branch in the file of a branch (git symbolic-ref). A file with
// neither branch nor commit is an error: a crash of the machine can empty it.
func (d dirs) symbolicRef(ref string) (to string, err error) {
	file := filepath.Join(d.common, filepath.FromSlash(ref))
	text, err := readSmall(file)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if to, ok := strings.CutPrefix(text, "ref: "); ok && strings.HasPrefix(to, headsPrefix) {
		return to, nil
	}
	commit := strings.ToLower(text)
	if i := strings.IndexAny(commit, " \t\n"); i >= 0 {
		commit = commit[:i]
	}
	if err != nil || strings.HasPrefix(text, "ref:") || isCommit(commit) && strings.Trim(commit, "0") != "" {
		return "", err
	}
	_, last, err := d.headLog()
	if err != nil || last == "" {
		last = "COMMIT"
	}
	branch := strings.TrimPrefix(ref, headsPrefix)
	return "", fmt.Errorf("branch %q is damaged: %s has no commit; to restore it: rm %q && git -C %q branch %s %s", branch, file, file, d.common, branch, last)
}

// CommonDir returns the directory that all checkouts of a repository share, absolute and
// without links. path is the top of one of them, or that directory, else the error is
// ErrNotRepository.
func CommonDir(path string) (string, error) {
	d, err := repository(path)
	return d.common, err
}

// Origin returns the local repository that the clone at path was made from, or "".
func Origin(path string) string {
	text, err := readSmall(filepath.Join(path, ".git", "config"))
	if err != nil {
		return ""
	}
	_, section, _ := strings.Cut(text, "[remote \"origin\"]\n")
	section, _, _ = strings.Cut(section, "\n[")
	for line := range strings.Lines(section) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		if value = strings.Trim(value, `"`); name == "url" && filepath.IsAbs(value) {
			return filepath.Clean(value)
		}
	}
	return ""
}

type dirs struct {
	git    string // of this checkout: HEAD, index, rebase-merge
	common string // of the repository: refs, objects, worktrees
	clone  bool   // of a container, in which no git may run
}

func findDirs(path string) (dirs, error) {
	dot := filepath.Join(path, ".git")
	d := dirs{git: dot}
	// It is a file in a worktree.
	text, err := readSmall(dot)
	switch {
	case err == nil:
		to, ok := strings.CutPrefix(text, "gitdir: ")
		if !ok {
			return dirs{}, fmt.Errorf("%s does not name a repository", dot)
		}
		d.git = within(path, to)
	case errors.Is(err, os.ErrNotExist):
		return dirs{}, ErrNotRepository
	default:
		if fi, gone := os.Stat(dot); gone != nil || !fi.IsDir() {
			return dirs{}, err
		}
	}
	return d.settle()
}

// settle sets the common directory by that of the checkout.
func (d dirs) settle() (dirs, error) {
	abs, err := filepath.Abs(d.git)
	if err != nil {
		return dirs{}, err
	}
	d.git, d.common = abs, abs
	switch to, err := readSmall(filepath.Join(d.git, "commondir")); {
	case err == nil:
		d.common = within(d.git, to)
	case !errors.Is(err, os.ErrNotExist):
		return dirs{}, err
	}
	common, err := filepath.EvalSymlinks(d.common)
	if errors.Is(err, os.ErrNotExist) {
		return d, fmt.Errorf("its repository %s %w", d.common, errMoved)
	}
	d.common = common
	return d, err
}

func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

const headsPrefix = "refs/heads/"

func (d dirs) head() (branch, commit, busy string, err error) {
	file := filepath.Join(d.git, "HEAD")
	text, err := readSmall(file)
	if errors.Is(err, syscall.ELOOP) && !d.clone {
		// Old versions of git make a link to the branch.
		if text, err = os.Readlink(file); err == nil {
			text = "ref: " + text
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		return "", "", "", fmt.Errorf("%s %w", file, errMoved)
	} else if err != nil {
		return "", "", "", err
	}
	ref, symbolic := strings.CutPrefix(text, "ref:")
	ref = strings.TrimSpace(ref)
	if ref == headsPrefix+".invalid" {
		if d.clone {
			return "", "", "", errors.New("its refs are not files (reftable), and agentform does not run git in a container's workspace")
		}
		if ref, commit, err = askHead(d.git); err != nil {
			return "", "", "", err
		}
		text, symbolic = commit, ref != ""
	}
	switch {
	case symbolic:
		branch, _ = strings.CutPrefix(ref, headsPrefix)
		if branch == ref {
			branch = ""
		} else if err := session.CheckBranch(branch); err != nil {
			return "", "", "", fmt.Errorf("%s: %w", file, err) // not written by git
		}
		return branch, "", "", nil
	case !isCommit(text):
		return "", "", "", fmt.Errorf("%s has neither a branch nor a commit", file)
	}
	branch, busy = d.underWay()
	return branch, text, busy, nil
}

// underWay returns the operation that detached HEAD, and the branch that it is about.
func (d dirs) underWay() (branch, busy string) {
	for _, sign := range []struct{ file, busy string }{
		{"rebase-merge/head-name", "rebase"}, {"rebase-apply/head-name", "rebase"}, {"BISECT_START", "bisect"},
	} {
		text, err := readSmall(filepath.Join(d.git, sign.file))
		if err != nil {
			continue
		}
		branch, whole := strings.CutPrefix(text, headsPrefix)
		if sign.busy == "rebase" && !whole || isCommit(text) || session.CheckBranch(branch) != nil {
			branch = "" // HEAD was detached before
		}
		return branch, sign.busy
	}
	return "", ""
}

func askHead(gitDir string) (ref, commit string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := run(ctx, gitDir, "--git-dir=.", "symbolic-ref", "--quiet", "HEAD")
	if err == nil {
		return strings.TrimSpace(out), "", nil
	} else if exitCode(err) != 1 {
		return "", "", err
	}
	out, err = run(ctx, gitDir, "--git-dir=.", "rev-parse", "--verify", "HEAD")
	return "", strings.TrimSpace(out), err
}

// isCommit reports whether s is the name of a commit, in SHA-1 or SHA-256.
func isCommit(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

func readSmall(path string) (string, error) {
	text, err := readStart(path, 4<<10)
	return strings.TrimRight(text, "\r\n"), err
}

// readStart reads the beginning of a regular file, and follows no link: an agent may have
// written anything.
func readStart(path string, limit int) (string, error) {
	f, err := layout.OpenRegular(path, syscall.O_NOFOLLOW)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(limit)))
	return string(text), err
}

func readWhole(path string, limit int) (string, error) {
	text, err := readStart(path, limit+1)
	if len(text) > limit {
		err = fmt.Errorf("%s is too large", path)
	}
	return text, err
}

func isEmpty(folder string) (bool, error) {
	f, err := os.Open(folder)
	if err != nil {
		return false, err
	}
	defer f.Close()
	_, err = f.Readdirnames(1) // an agent can fill a directory
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}
