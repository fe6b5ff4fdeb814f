package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Fetched is the result of a fetch.
type Fetched struct {
	Commit string // of the ref now
	Moved  bool   // it was another one before, or none
	Ahead  int    // commits below it that no other ref of the repository holds
}

// Fetch fetches a branch of the clone at from into the repository, as a ref with a full
// name, which it creates or moves.
//
// It runs no git in the clone, whose configuration may have programs of the agent (a
// promisor remote, a hook, a transport). It reads and checks only the objects, through a
// temporary repository that borrows them.
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
	out, err := run(ctx, repo, "rev-list", "--count", ref, "--not", "--exclude="+ref, "--glob=refs/*")
	if err != nil {
		return f, err
	}
	f.Ahead, err = count(out)
	return f, err
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

// tip returns the commit of a ref; empty: there is no such ref.
func tip(ctx context.Context, repo, ref string) (string, error) {
	out, err := run(ctx, repo, "for-each-ref", "--format=%(objectname) %(refname)", ref)
	for line := range strings.Lines(out) {
		if commit, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == ref {
			return commit, nil
		}
	}
	return "", err
}
