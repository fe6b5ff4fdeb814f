package prune

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

const heads = "refs/heads/"

// branches finds the branches of removed sessions: those of workspaces to be removed, and those
// fetched by land and fetch. Merged ones are removed.
func (x *search) branches(ctx context.Context) error {
	for _, co := range x.checkouts {
		commit, err := git.Tip(ctx, co.Repo, heads+co.Branch)
		if err == nil && commit != "" {
			err = x.branch(ctx, co.Repo, co.Branch, git.Ref{Name: heads + co.Branch, Commit: commit})
		}
		if err != nil {
			return err
		}
	}
	names := map[string]bool{}
	repos := []string{}
	if x.Repo != "" {
		repos = append(repos, x.Repo)
	}
	for _, r := range x.Records {
		names[config.WorkspaceName(r.Address)] = true
		if r.Tree.Repo != "" && !session.Remote(r.Tree.Repo) && !slices.Contains(repos, r.Tree.Repo) {
			repos = append(repos, r.Tree.Repo)
		}
	}
	for _, repo := range repos {
		taken, err := git.Refs(ctx, repo, git.TakenRefs)
		if err != nil {
			return err
		}
		for _, ref := range taken {
			name, branch, ok := strings.Cut(strings.TrimPrefix(ref.Name, git.TakenRefs), "/")
			if !ok || names[name] {
				continue
			}
			if tip, err := git.Tip(ctx, repo, heads+branch); err != nil {
				return err
			} else if tip == ref.Commit && !x.used(branch) {
				if err := x.branch(ctx, repo, branch, git.Ref{Name: heads + branch, Commit: tip}); err != nil {
					return err
				}
			}
			if err := x.branch(ctx, repo, branch, ref); err != nil {
				return err
			}
		}
	}
	return nil
}

// used reports whether a recorded session has a branch.
func (x *search) used(branch string) bool {
	return slices.ContainsFunc(x.Records, func(r session.Record) bool { return r.Tree.Branch == branch || r.Spec.Branch == branch })
}

// branch adds a ref of a branch, once.
func (x *search) branch(ctx context.Context, repo, branch string, ref git.Ref) error {
	if slices.ContainsFunc(x.found, func(l Leftover) bool { return l.Kind == Branch && l.Path == ref.Name && l.repo == repo }) {
		return nil
	}
	l := Leftover{Kind: Branch, Path: ref.Name, Action: Keep, Reason: "not merged", repo: repo, ref: ref}
	base, err := git.MergedInto(ctx, repo, branch, ref.Commit)
	if err != nil {
		return err
	}
	at, err := git.Checkouts(ctx, repo, branch)
	if err != nil {
		return err
	}
	at = slices.DeleteFunc(at, func(path string) bool {
		return slices.ContainsFunc(x.checkouts, func(co session.Checkout) bool { return co.Path == path })
	})
	switch {
	case base != "" && strings.HasPrefix(ref.Name, heads) && len(at) > 0:
		l.Reason = "merged into " + base + ", and checked out at " + at[0]
	case base != "":
		l.Action, l.Reason = Remove, fmt.Sprintf("merged into %s (at %s)", base, ref.Commit[:7])
	}
	x.found = append(x.found, l)
	return nil
}
