package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agentform/agentform/internal/layout"
)

// Fetched is the result of a fetch.
type Fetched struct {
	Commit string // of the ref now
	Moved  bool   // it was another one before, or none
	Ahead  int    // commits below it that no other ref of the repository holds
}

// Fetch fetches a branch of the clone at from into the repository, as a ref with a full
// name. It runs no git in the clone, whose configuration may have programs of the agent, but
// reads and checks the objects through a temporary repository that borrows them.
func Fetch(ctx context.Context, repo, from, branch, ref string) (f Fetched, err error) {
	defer wrap(&err, "fetch %s from %s", branch, from)
	commit, err := cloneTip(from, branch)
	if err != nil {
		return f, err
	}
	before, err := tip(ctx, repo, ref)
	if err != nil {
		return f, err
	}
	view, err := os.MkdirTemp("", "agentform-fetch-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(view)
	if err := borrow(ctx, view, filepath.Join(from, ".git", "objects"), commit); err != nil {
		return f, err
	}
	_, err = run(ctx, repo, "-c", "protocol.file.allow=always", "-c", "fetch.fsckObjects=true",
		"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance",
		"--", view, "+"+borrowed+":"+ref)
	if err != nil {
		return f, err
	}
	if f.Commit, err = tip(ctx, repo, ref); err != nil {
		return f, err
	}
	f.Moved = f.Commit != before
	f.Ahead, err = aheadOf(ctx, repo, ref)
	return f, err
}

// aheadOf returns how many commits below a ref no other ref of the repository holds.
func aheadOf(ctx context.Context, repo, ref string) (int, error) {
	out, err := run(ctx, repo, "rev-list", "--count", ref, "--not", "--exclude="+ref, "--glob=refs/*")
	if err != nil {
		return 0, err
	}
	return count(out)
}

// borrowed is the only ref of a repository that borrows.
const borrowed = "refs/heads/borrowed"

// borrow makes a repository in dir that borrows objects, with one branch at a commit. It
// does not borrow the list of shallow commits: a client sends its own, and git would silently
// refuse a branch that needs more.
func borrow(ctx context.Context, dir, objects, commit string) error {
	if err := borrowObjects(ctx, dir, objects, formatOf(commit)); err != nil {
		return err
	}
	_, err := run(ctx, dir, "update-ref", borrowed, commit)
	return err
}

// borrowObjects makes an empty repository in dir that borrows objects.
func borrowObjects(ctx context.Context, dir, objects, format string) error {
	if strings.ContainsRune(objects, '\n') {
		return fmt.Errorf("%q: git cannot borrow from a path with a line break", objects)
	}
	if _, err := run(ctx, dir, "init", "--quiet", "--bare", "--template=", "--object-format="+format); err != nil {
		return err
	}
	info := filepath.Join(dir, "objects", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(info, "alternates"), []byte(objects+"\n"), 0o600)
}

func tip(ctx context.Context, repo, ref string) (string, error) {
	out, err := run(ctx, repo, "for-each-ref", "--format=%(objectname) %(refname)", ref)
	for line := range strings.Lines(out) {
		if commit, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == ref {
			return commit, nil
		}
	}
	return "", err
}

// hidden returns the changed files that git status omits because they are marked
// (update-index --assume-unchanged, --skip-worktree).
func (g examiner) hidden(ctx context.Context, path string, d dirs) (changed []string, err error) {
	at, list, hash := path, []string{"ls-files", "-v", "--stage", "-z"}, []string{"hash-object", "--stdin-paths"}
	if g.apart {
		view, err := borrowIndex(ctx, d)
		if view == "" || err != nil {
			return nil, err
		}
		defer os.RemoveAll(view)
		at = view
		list = append([]string{"-c", "core.bare=false", "--git-dir=.", "--work-tree=."}, list...)
		hash = append(hash, "--no-filters")
	}
	out, err := run(ctx, at, list...)
	if err != nil {
		return nil, err
	}
	var names, files, blobs []string
	var modes []bool // differ
	for line := range strings.SplitSeq(out, "\x00") {
		// S 100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 0<tab>name
		about, name, ok := strings.Cut(line, "\t")
		if !ok || about[0] != 'S' && (about[0] < 'a' || about[0] > 'z') {
			continue
		}
		fields := strings.Fields(about)
		file := filepath.Join(path, name)
		fi, err := os.Lstat(file)
		switch {
		case errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR): // a sparse checkout, or deleted
		case err != nil || len(fields) != 4:
			return nil, fmt.Errorf("inspect marked file %s: %w", name, err)
		case fi.IsDir() && fields[1] == "160000": // a submodule, which is examined itself
		case !fi.Mode().IsRegular() || strings.ContainsAny(file, "\n\""):
			changed = append(changed, name) // cannot be compared
		default:
			names, files, blobs = append(names, name), append(files, file), append(blobs, fields[2])
			modes = append(modes, !g.apart && (fields[1] == "100755") != (fi.Mode()&0o100 != 0))
		}
	}
	if len(files) == 0 {
		return changed, nil
	}
	out, err = feed(ctx, at, strings.Join(files, "\n")+"\n", hash...)
	if err != nil {
		return nil, err
	}
	if slices.Contains(modes, true) {
		if counts, err := setting(ctx, path, "core.fileMode"); err != nil {
			return nil, err
		} else if counts == "false" {
			clear(modes)
		}
	}
	for i, blob := range strings.Fields(out) {
		if i < len(blobs) && (blob != blobs[i] || modes[i]) {
			changed = append(changed, names[i])
		}
	}
	return changed, nil
}

// indexLimit bounds the size of a clone's index, which an agent may have written.
const indexLimit = 256 << 20

// borrowIndex makes a repository with the index of a checkout and its objects, so that git
// need not run in the checkout. view is empty if the checkout has no index.
func borrowIndex(ctx context.Context, d dirs) (view string, err error) {
	if _, err := os.Lstat(filepath.Join(d.git, "index")); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	refs, err := d.refs()
	if err != nil {
		return "", err
	}
	named := ""
	for _, commit := range refs {
		named = commit
	}
	if view, err = os.MkdirTemp("", "agentform-index-"); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(view)
		}
	}()
	if err := borrowObjects(ctx, view, filepath.Join(d.common, "objects"), formatOf(named)); err != nil {
		return view, err
	}
	// A split index has two files.
	parts, err := fs.Glob(os.DirFS(d.git), "sharedindex.*")
	for _, part := range append(parts, "index") {
		if err == nil {
			err = copyFile(filepath.Join(d.git, part), filepath.Join(view, part), indexLimit)
		}
	}
	return view, err
}

// copyFile copies a regular file of at most limit bytes. It follows no link.
func copyFile(from, to string, limit int64) (err error) {
	in, err := layout.OpenRegular(from, syscall.O_NOFOLLOW)
	if err != nil {
		return err
	}
	defer in.Close()
	fi, err := in.Stat()
	if err != nil || fi.Size() > limit {
		return errors.Join(fmt.Errorf("%s is too large", from), err)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.CopyN(out, in, fi.Size())
	return err
}
