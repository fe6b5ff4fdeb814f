package git

import (
	"context"
	"fmt"
	"strings"
)

// Fetched is what a fetch brought.
type Fetched struct {
	Commit string // that the ref is at now
	Moved  bool   // it was elsewhere before, or not there
	Ahead  int    // commits below it that no other ref of the repository holds
}

// Fetch brings a branch of the clone at from into the repository, as the full name
// of a ref that is made, or moved wherever the branch is. It runs nothing that the
// clone says: no hook, no configuration of it.
func Fetch(ctx context.Context, repo, from, branch, ref string) (Fetched, error) {
	f, err := fetch(ctx, repo, from, branch, ref)
	if err != nil {
		return f, fmt.Errorf("fetch %s from %s: %w", branch, from, err)
	}
	return f, nil
}

func fetch(ctx context.Context, repo, from, branch, ref string) (f Fetched, err error) {
	before, err := tip(ctx, repo, ref)
	if err != nil {
		return f, err
	}
	_, err = run(ctx, repo, "-c", "protocol.file.allow=always", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
		"--no-recurse-submodules", "--no-auto-maintenance", "--", from, "+refs/heads/"+branch+":"+ref)
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

// tip is the commit that a ref is at; empty: there is no such ref.
func tip(ctx context.Context, repo, ref string) (string, error) {
	out, err := run(ctx, repo, "for-each-ref", "--format=%(objectname) %(refname)", ref)
	for line := range strings.Lines(out) {
		if commit, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == ref {
			return commit, nil
		}
	}
	return "", err
}
