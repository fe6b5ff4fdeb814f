package land

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// Refreshed is what became of bringing a base into the branch of a session.
type Refreshed struct {
	Address   session.Address `json:"address"`
	Branch    string          `json:"branch"`
	Base      string          `json:"base"`
	Method    Method          `json:"method"`  // merge or rebase
	Done      bool            `json:"done"`    // the branch has the base
	Already   bool            `json:"already"` // it had it before
	Commits   int             `json:"commits"` // of the base that the branch lacked
	From      string          `json:"branch_was"`
	To        string          `json:"branch_is"`
	Conflicts []string        `json:"conflicts"` // files; nothing was changed
	Sent      bool            `json:"sent"`      // the agent was asked to merge the base
	Target    string          `json:"-"`         // the commit of the base
	Ref       string          `json:"-"`         // that has it in the clone of the session; empty: it has the base's own
}

// Request returns what an agent is asked to do about conflicts.
func (r Refreshed) Request() string {
	files := make([]string, min(len(r.Conflicts), maxFiles))
	for i := range files {
		files[i] = plaintext.FileName(r.Conflicts[i])
	}
	return fmt.Sprintf("%s has moved by %s, which conflict with your work in:\n%s\n\nMerge %[1]s into your branch (git merge %[4]s), resolve the conflicts and commit the result.",
		r.Base, plaintext.Count(r.Commits, "commit"), "  "+strings.Join(files, "\n  "), cmp.Or(r.Ref, r.Base))
}

// Detail says what was done, for the history.
func (r Refreshed) Detail() string {
	how := "merged into"
	if r.Method == Rebase {
		how = "is the new base of"
	}
	return fmt.Sprintf("%s of %s %s %s", plaintext.Count(r.Commits, "commit"), r.Base, how, r.Branch)
}

// Refusal is the refusal of files that conflict and that no agent was asked to merge; nil: there
// are none.
func (r Refreshed) Refusal() *Refusal {
	if len(r.Conflicts) == 0 || r.Sent {
		return nil
	}
	return &Refusal{Why: fmt.Sprintf("%s conflicts with %s of %s in %s; nothing was changed:", r.Branch, plaintext.Count(r.Commits, "commit"), r.Base,
		plaintext.Count(len(r.Conflicts), "file")), Files: r.Conflicts}
}

// RefreshResult is what became of refreshing one session of several.
type RefreshResult struct {
	Refreshed
	Err error
}

// stale is what Refresh judges.
type stale struct {
	Facts
	Target string // the commit of the base that is brought
	Behind int
	InWay  []string // files that it adds and that are in the workspace, not committed
}

// Refresh brings the base of a session into its branch, by merging it or by rebasing the branch.
// Files that conflict are in the result; a *Refusal says why nothing could be done.
func (l *Lander) Refresh(ctx context.Context, method Method, dryRun bool) (done Refreshed, err error) {
	if !dryRun {
		release, err := l.lock(ctx)
		if err != nil {
			return done, err
		}
		defer release()
	}
	f, err := l.lookAtTarget(ctx)
	if err == nil {
		if r := checkStale(f); r != nil {
			err = r
		}
	}
	done = Refreshed{Address: f.Address, Branch: f.Branch, Base: f.Base, Method: method, Commits: f.Behind, From: f.Commit, To: f.Commit, Conflicts: f.Conflict, Target: f.Target}
	if l.clone() {
		done.Ref = git.BaseRef
	}
	done.Already = err == nil && f.Behind == 0
	if done.Done = done.Already; err != nil || done.Already || dryRun || len(f.Conflict) > 0 {
		return done, err
	}
	u, err := l.user(ctx)
	if err != nil {
		return done, err
	}
	to, err := l.refreshed(ctx, u, f, method)
	if files := (*git.ConflictError)(nil); errors.As(err, &files) {
		done.Conflicts = files.Files
		return done, nil
	}
	if merges := (*git.MergesError)(nil); errors.As(err, &merges) {
		return done, lacks(f.Facts, merges)
	}
	if err != nil {
		return done, fmt.Errorf("%w\nnothing was changed: %s is as it was", err, f.Branch)
	}
	if l.Now != nil { // a hook may have taken long
		if l.Doing, err = l.Now(ctx); err != nil {
			return done, err
		}
	}
	again, err := l.lookAtTarget(ctx)
	if err != nil {
		return done, err
	}
	if r := checkStale(again); r != nil {
		return done, r
	}
	if err := l.move(ctx, u, f, to, method == Rebase); err != nil {
		return done, fmt.Errorf("move %s: %w", f.Branch, err)
	}
	done.Done, done.To = true, to
	return done, nil
}

// move moves the branch, and its checkout, to a commit with the base.
func (l *Lander) move(ctx context.Context, u git.User, f stale, to string, rewrite bool) error {
	repo, checkout := l.Record.Tree.Repo, ""
	if f.At.Exists {
		checkout = f.At.Path
	}
	switch {
	case l.clone():
		if err := l.inside().Move(ctx, repo, git.Move{Branch: f.Branch, From: f.Commit, To: to, Base: f.Target, Rewrite: rewrite}); err != nil {
			return err
		}
		return git.Mark(ctx, repo, l.Ref, to)
	case rewrite:
		return u.Rewrite(ctx, repo, f.Branch, f.Commit, to, checkout)
	}
	return u.Advance(ctx, repo, f.Branch, f.Commit, to, checkout)
}

// inside returns a clone as it is reached where its agent works.
func (l *Lander) inside() git.Volume { return git.Volume{Path: l.Record.Tree.Path, Run: l.Shell} }

// Offer makes the base of a refresh with conflicts available to the agent that is to merge it.
func (l *Lander) Offer(ctx context.Context, r Refreshed) error {
	if !l.clone() {
		return nil
	}
	return l.inside().Offer(ctx, l.Record.Tree.Repo, r.Branch, r.From, r.Target)
}

// Bring makes the commit of a result available where the agent works.
func (l *Lander) Bring(ctx context.Context, r Result) error {
	if !l.clone() {
		return nil
	}
	return l.inside().Bring(ctx, l.Record.Tree.Repo, r.Commit, r.Work)
}

// lookAtTarget finds the facts of a session and the commit that its base has by now, also as last
// fetched.
func (l *Lander) lookAtTarget(ctx context.Context) (f stale, err error) {
	t := l.Record.Tree
	if f.Facts, err = l.lookAtWork(ctx); err != nil || f.Commit == "" {
		return f, err
	}
	bases, err := git.BasesOf(t.Repo)
	if err != nil {
		return f, err
	}
	base := bases.Base(t.Branch, l.Record.Spec.Workspace.Base)
	if f.Base = base.Name; f.Base == "" || f.Base == t.Branch {
		return f, nil
	}
	if f.Target, f.Base, err = base.Newest(ctx, t.Repo); err != nil {
		return f, err
	}
	if f.Behind, err = (git.Base{Commit: f.Target}).Behind(ctx, git.Here(t.Repo), f.Commit); err != nil || f.Behind == 0 {
		return f, err
	}
	if _, f.Conflict, _, err = git.MergeTree(ctx, t.Repo, f.Commit, f.Target); err == nil && f.At.Exists && f.At.Git && !l.clone() {
		f.InWay, err = git.Overwritten(ctx, f.At.Path, f.Commit, f.Target)
	}
	return f, err
}

// checkStale refuses to change a branch that is in use, or whose workspace is not clean.
func checkStale(f stale) *Refusal {
	name := word(f.Address)
	switch {
	case f.Ref != "" && f.Commit != "" && !f.At.Exists:
		return &Refusal{Why: fmt.Sprintf("the clone of %s does not exist: %s", f.Address, f.At.Path), Next: "agentform plan shows what apply does about it"}
	case f.Doing == session.Working || f.Doing == session.Booting:
		return &Refusal{Why: fmt.Sprintf("%s is %s: its branch is only changed between turns", f.Address, f.Doing),
			Next: fmt.Sprintf("agentform wait %[1]s && agentform refresh %[1]s does it when its turn has ended", name)}
	}
	if r := checkSession(f.Facts, Request{}); r != nil {
		return r
	}
	if f.Unsaved.Uncommitted > 0 {
		return &Refusal{Why: fmt.Sprintf("%s has %s in %s: only a clean workspace is refreshed", f.Address, f.Unsaved, f.At.Path), Next: "let the agent commit it first"}
	}
	f.Unsaved.Untracked = 0 // only those that InWay has matter
	if r := checkWork(f.Facts, Request{}); r != nil {
		return r
	}
	switch {
	case f.Base == "":
		return &Refusal{Why: fmt.Sprintf("%s: cannot determine which branch its work belongs to", f.Address), Next: "workspace { base = … } in the manifest names it"}
	case f.Base == f.Branch:
		return &Refusal{Why: fmt.Sprintf("%s works on %s itself", f.Address, f.Branch)}
	case len(f.InWay) > 0:
		return &Refusal{Why: fmt.Sprintf("%s: what %s adds would overwrite in %s, where it is not committed:", f.Address, f.Base, f.At.Path), Files: f.InWay,
			Next: "move or remove that first"}
	}
	return nil
}

// refreshed returns a commit that has the work and the base.
func (l *Lander) refreshed(ctx context.Context, u git.User, f stale, method Method) (to string, err error) {
	path, err := os.MkdirTemp(l.Dir, "refresh-")
	if err != nil {
		return "", err
	}
	start := f.Commit
	if method == Rebase {
		start = f.Target
	}
	s, err := u.NewScratch(ctx, l.Record.Tree.Repo, path, start, true)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if method == Rebase {
		return s.Rebase(ctx, f.Commit)
	}
	return s.Merge(ctx, f.Target, fmt.Sprintf("Merge branch '%s' into %s", f.Base, f.Branch))
}
