package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// User runs git as a person does in their own repository: with their environment, hooks,
// signing and credentials.
type User struct {
	Environ []string
	Hooks   string // replaces core.hooksPath; empty: as configured
	// Limit bounds each command, whose hooks may hang; 0: a person can end it.
	Limit time.Duration
}

// NoHooks is a User's Hooks for git without hooks.
const NoHooks = os.DevNull

// run runs git with a text on its standard input. It returns what git printed on both outputs.
func (u User) run(ctx context.Context, dir, stdin string, args ...string) (stdout, stderr string, err error) {
	return u.start(ctx, dir, stdin, nil, args)
}

func (u User) start(ctx context.Context, dir, stdin string, attr *syscall.SysProcAttr, args []string) (string, string, error) {
	bin, err := exec.LookPath("git")
	if err != nil {
		return "", "", &Error{Args: args, Err: ErrNotInstalled}
	}
	if u.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, u.Limit, fmt.Errorf("it, or a hook of it, did not end within %s", u.Limit))
		defer cancel()
	}
	var settings []string
	if u.Hooks != "" {
		settings = []string{"-c", "core.hooksPath=" + u.Hooks}
	}
	c := exec.CommandContext(ctx, bin, slices.Concat(settings, args)...)
	c.Dir, c.Stdin, c.SysProcAttr = dir, strings.NewReader(stdin), attr
	c.Env = withoutRepository(u.Environ)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = killAfter
	err = c.Run()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		return stdout.String(), stderr.String(), nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return "", "", &Error{Args: args, Output: strings.TrimSpace(stderr.String() + stdout.String()), Err: err}
}

// HooksOf returns a User's Hooks for work that is not trusted: configured hooks that are
// part of a checkout are those of the repository's own.
func HooksOf(ctx context.Context, repo string) (string, error) {
	path, err := runHooked(ctx, repo, "config", "--type=path", "--get", "core.hooksPath")
	switch {
	case exitCode(err) == 1: // not set
		return "", nil
	case err != nil:
		return "", err
	}
	if path = strings.TrimSuffix(path, "\n"); filepath.IsAbs(path) {
		return "", nil
	}
	return filepath.Join(repo, path), nil
}

// ConflictError reports files that cannot be merged.
type ConflictError struct{ Files []string }

// Error names the files.
func (e *ConflictError) Error() string { return "conflicts in " + strings.Join(e.Files, ", ") }

// ErrMoved reports that a branch is no longer at the commit that it was expected at.
var ErrMoved = errors.New("the branch has moved in the meantime")

// Commit is one commit of a branch.
type Commit struct {
	ID, Author string // Ann <ann@example.org>
	Message    string
}

// Tip returns the commit of a ref with a full name; empty: it does not exist.
func Tip(ctx context.Context, repo, ref string) (string, error) { return tip(ctx, repo, ref) }

// CommittedAt returns when a commit was made.
func CommittedAt(ctx context.Context, repo, commit string) (time.Time, error) {
	text, err := run(ctx, repo, "show", "--no-patch", "--no-show-signature", "--format=%cI", commit)
	if err != nil {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339, strings.TrimSpace(text))
}

// Commits returns the commits of work that a base lacks, oldest first, without merges.
func Commits(ctx context.Context, repo, base, work string) ([]Commit, error) {
	out, err := run(ctx, repo, "log", "--reverse", "--no-merges", "-z", "--format=%H%n%an <%ae>%n%B", base+".."+work, "--")
	if err != nil {
		return nil, err
	}
	var all []Commit
	for entry := range strings.SplitSeq(out, "\x00") {
		if fields := strings.SplitN(entry, "\n", 3); len(fields) == 3 {
			all = append(all, Commit{fields[0], fields[1], strings.TrimSpace(fields[2])})
		}
	}
	return all, nil
}

// Merged reports whether all work of a commit is in another one: as an ancestor, or its
// changes are, after a squash or a rebase. A git before 2.39 knows only ancestors.
func Merged(ctx context.Context, repo, commit, into string) (bool, error) {
	_, err := run(ctx, repo, "merge-base", "--is-ancestor", commit, into)
	if exitCode(err) != 1 {
		return err == nil, err
	}
	from, err := run(ctx, repo, "merge-base", into, commit)
	if exitCode(err) == 1 {
		return false, nil // no commit in common
	}
	if err != nil {
		return false, err
	}
	trees, err := run(ctx, repo, "rev-parse", strings.TrimSpace(from)+"^{tree}", commit+"^{tree}", into+"^{tree}")
	if err != nil {
		return false, err
	}
	of := strings.Fields(trees)
	if len(of) != 3 || of[0] == of[1] {
		return false, nil // its changes cancel out: no one can tell
	}
	tree, conflicts, known, err := MergeTree(ctx, repo, into, commit)
	return known && len(conflicts) == 0 && tree == of[2], err
}

// MergeTree returns the tree of a merge, or the files that conflict, without a checkout.
// known is false if git is older than 2.39.
func MergeTree(ctx context.Context, repo, ours, theirs string) (tree string, conflicts []string, known bool, err error) {
	m, err := mergeTree(ctx, repo, ours, theirs)
	if errors.Is(err, errOldGit) {
		return "", nil, false, nil
	}
	return m.Tree, m.Conflicts, err == nil, err
}

// TreeOf returns the tree of a commit.
func TreeOf(ctx context.Context, repo, commit string) (string, error) {
	out, err := run(ctx, repo, "rev-parse", "--verify", commit+"^{tree}")
	return strings.TrimSpace(out), err
}

// Unsaved returns what is not committed in the checkout that git runs in, and the operation
// under way in the checkout at path.
func Unsaved(ctx context.Context, path string, git Runner) (r Risk, err error) {
	d, err := findDirs(path)
	if err != nil {
		return r, err
	}
	out, err := status(ctx, git, "normal", "dirty") // what is in a submodule does not land
	r.Uncommitted, r.Untracked = counted(out)
	r.Busy = d.busy()
	return r, err
}

// UnsavedFiles returns the files of a checkout that are not as its HEAD has them, with those that
// are neither tracked nor ignored, of a directory of these the name of that. A submodule with such
// files is one, too.
func UnsavedFiles(ctx context.Context, git Runner) (names []string, err error) {
	out, err := status(ctx, git, "normal", "none")
	for entry := range strings.SplitSeq(out, "\x00") {
		if len(entry) > len("XY ") && !strings.HasPrefix(entry, "## ") {
			names = append(names, entry[len("XY "):])
		}
	}
	return names, err
}

// status returns the output of git status for a checkout, with its branch. untracked selects how
// untracked files are listed, and ignored the changes of submodules that do not count.
func status(ctx context.Context, git Runner, untracked, ignored string) (string, error) {
	out, err := git(ctx, "--work-tree=.", "status", "--porcelain", "--branch", "-z", "--no-renames", "--untracked-files="+untracked, "--ignore-submodules="+ignored)
	if err == nil && out == "" {
		err = errors.New("run git in it: its output was lost")
	}
	return out, err
}

// CommitAll commits everything that is not ignored in a checkout.
func (u User) CommitAll(ctx context.Context, path, message string, verify bool) error {
	if _, _, err := u.run(ctx, path, "", "add", "--all"); err != nil {
		return err
	}
	_, _, err := u.run(ctx, path, message, append([]string{"commit", "--quiet", "--file=-"}, unverified(verify)...)...)
	return err
}

func unverified(verify bool) []string {
	if verify {
		return nil
	}
	return []string{"--no-verify"}
}

// Scratch is a checkout for merging work. No user's branch is checked out in it.
type Scratch struct {
	repo, path string
	user       User
	verify     bool // run the hooks that can refuse
}

// calm are settings for a scratch checkout: what is for people or for later, or would touch
// other branches.
var calm = []string{
	"-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "rebase.updateRefs=false",
	"-c", "rebase.autoStash=false", "-c", "merge.autoStash=false", "-c", "rebase.rebaseMerges=false",
}

// NewScratch makes a checkout of a commit at path.
func (u User) NewScratch(ctx context.Context, repo, path, commit string, verify bool) (*Scratch, error) {
	_, release, err := holdRepository(ctx, repo)
	if err != nil {
		return nil, err
	}
	defer release()
	s := &Scratch{repo, path, u, verify}
	if _, err := run(ctx, repo, "worktree", "add", "--detach", "--", path, commit); err != nil {
		return nil, errors.Join(fmt.Errorf("create a checkout for the merge: %w", err), s.remove(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// Close removes the checkout.
func (s *Scratch) Close() error { return RemoveScratch(context.Background(), s.repo, s.path) }

// RemoveScratch removes a scratch checkout, also one that a killed process left.
func RemoveScratch(ctx context.Context, repo, path string) error {
	_, release, err := holdRepository(ctx, repo)
	if err != nil {
		return err
	}
	defer release()
	s := Scratch{repo: repo, path: path}
	return s.remove(ctx)
}

func (s *Scratch) remove(ctx context.Context) error {
	d, err := repository(s.repo)
	if err != nil {
		return err
	}
	if d.entry(s.path) != "" {
		if _, err := run(ctx, s.repo, "worktree", "remove", "--force", "--force", "--", s.path); err != nil {
			return err
		}
	}
	return removeTree(s.path)
}

// git runs git in the checkout, and distinguishes conflicts from other failures.
func (s *Scratch) git(ctx context.Context, stdin string, args ...string) error {
	_, _, err := s.user.run(ctx, s.path, stdin, slices.Concat(calm, args)...)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if failed := (*Error)(nil); errors.As(err, &failed) {
		failed.Args = args
	}
	out, unread := run(ctx, s.path, "diff", "--name-only", "--diff-filter=U", "-z")
	if out = strings.TrimRight(out, "\x00"); unread != nil || out == "" {
		return err
	}
	return &ConflictError{strings.Split(out, "\x00")}
}

func (s *Scratch) head(ctx context.Context, err error) (string, error) {
	if err != nil {
		return "", err
	}
	out, err := run(ctx, s.path, "rev-parse", "--verify", "HEAD")
	return strings.TrimSpace(out), err
}

// Merge merges a commit, and returns the result: a merge commit, or the commit itself if
// the user's merge.ff does not forbid that.
func (s *Scratch) Merge(ctx context.Context, commit, message string) (string, error) {
	args := append([]string{"merge", "--quiet", "--no-stat", "--no-edit", "-m", message}, unverified(s.verify)...)
	return s.head(ctx, s.git(ctx, "", append(args, commit)...))
}

// Squash makes one commit of all that a commit has and the checkout has not. author is Ann
// <ann@example.org>; empty: the user.
func (s *Scratch) Squash(ctx context.Context, commit, message, author string) (string, error) {
	if err := s.git(ctx, "", "-c", "merge.ff=true", "merge", "--quiet", "--no-stat", "--squash", commit); err != nil {
		return "", err
	}
	args := append([]string{"commit", "--quiet", "--file=-"}, unverified(s.verify)...)
	if author != "" {
		args = append(args, "--author="+author)
	}
	return s.head(ctx, s.git(ctx, message, args...))
}

// MergesError reports merge commits with changes of their own, which git rebase leaves out.
type MergesError struct{ Commits []string }

func (e *MergesError) Error() string {
	return "only the merge commits " + strings.Join(e.Commits, ", ") + " have some of the work, and a rebase leaves that out"
}

// Rebase puts the commits of another one on top of the current one. It fails with a *MergesError if the
// result would lack something.
func (s *Scratch) Rebase(ctx context.Context, commit string) (to string, err error) {
	onto, err := s.head(ctx, nil)
	if err != nil {
		return "", err
	}
	if to, err = s.rebase(ctx, commit, onto); err != nil {
		return "", err
	}
	return to, s.whole(ctx, onto, commit, to)
}

// whole fails if a rebased commit lacks what the merge commits of another one have.
func (s *Scratch) whole(ctx context.Context, onto, commit, to string) error {
	merges, err := run(ctx, s.path, "rev-list", "--merges", "--abbrev-commit", onto+".."+commit, "--")
	if err != nil || merges == "" {
		return err
	}
	merged, conflicts, known, err := MergeTree(ctx, s.path, onto, commit)
	if err != nil {
		return err
	}
	tree, err := TreeOf(ctx, s.path, to)
	if err == nil && (!known || len(conflicts) > 0 || tree != merged) {
		err = &MergesError{strings.Fields(merges)}
	}
	return err
}

func (s *Scratch) rebase(ctx context.Context, commit, onto string) (string, error) {
	if _, err := run(ctx, s.path, "checkout", "--quiet", "--detach", commit, "--"); err != nil {
		return "", err
	}
	args := append([]string{"rebase", "--quiet", "--no-stat", "--no-fork-point"}, unverified(s.verify)...)
	return s.head(ctx, s.git(ctx, "", append(args, onto)...))
}

// Checkouts returns the paths of the checkouts that have a branch checked out.
func Checkouts(ctx context.Context, repo, branch string) (paths []string, err error) {
	all, err := Worktrees(ctx, repo)
	for _, w := range all {
		if w.Branch == branch && !w.Prunable {
			paths = append(paths, w.Path)
		}
	}
	return paths, err
}

// Advance moves a branch from one commit to a later one, and the checkout that has it checked
// out along with it; empty: none has. git merge refuses to overwrite what is not committed
// there, and then nothing has changed. ErrMoved reports that the branch is elsewhere by now.
func (u User) Advance(ctx context.Context, repo, branch, from, to, checkout string) error {
	// What has begun is finished: in a group of its own, git does not get the terminal's Ctrl-C.
	ctx = context.WithoutCancel(ctx)
	apart := &syscall.SysProcAttr{Setpgid: true}
	ref := headsPrefix + branch
	var err error
	if checkout == "" {
		_, _, err = u.start(ctx, repo, "", apart, []string{"update-ref", "-m", "agentform land", ref, to, from})
	} else {
		if now, err := tip(ctx, repo, ref); err != nil || now != from {
			return errors.Join(ErrMoved, err)
		}
		// Options that branch.NAME.mergeOptions may have would leave the branch where it is.
		_, _, err = u.start(ctx, checkout, "", apart, []string{"-c", "merge.autoStash=false", "merge", "--quiet", "--no-stat", "--no-squash", "--ff-only", to})
	}
	now, e := tip(ctx, repo, ref)
	switch {
	case err != nil && e == nil && now == to && to != from:
		return nil // only a hook of after the merge has failed
	case err != nil && e == nil && now != from:
		return fmt.Errorf("%w: %w", ErrMoved, err)
	case err == nil && e == nil && now == from && to != from:
		return fmt.Errorf("git reported no error, but %s is still at %s", branch, from)
	}
	return errors.Join(err, e)
}

// Rewrite moves a branch from one commit to another one that need not have it, and the checkout
// that has it checked out along with it; empty: none has. git refuses to overwrite what is not
// committed there, and then nothing has changed. ErrMoved reports that the branch is elsewhere
// by now.
func (u User) Rewrite(ctx context.Context, repo, branch, from, to, checkout string) error {
	ctx = context.WithoutCancel(ctx) // as in Advance
	apart := &syscall.SysProcAttr{Setpgid: true}
	ref := headsPrefix + branch
	if now, err := tip(ctx, repo, ref); err != nil || now != from {
		return errors.Join(ErrMoved, err)
	}
	if checkout == "" {
		_, _, err := u.start(ctx, repo, "", apart, []string{"update-ref", "-m", "agentform refresh", ref, to, from})
		return err
	}
	if _, _, err := u.start(ctx, checkout, "", apart, []string{"reset", "--quiet", "--keep", to}); err != nil {
		return err
	}
	// git reset has no way to name the commit that the branch must be at, and says afterwards which
	// one that was.
	was, err := run(ctx, checkout, "rev-parse", "--verify", "ORIG_HEAD^{commit}")
	if was = strings.TrimSpace(was); err == nil && was != from {
		_, _, err = u.start(ctx, checkout, "", apart, []string{"reset", "--quiet", "--keep", was})
		err = errors.Join(ErrMoved, err)
	}
	return err
}

// Mark sets a ref with a full name to a commit.
func Mark(ctx context.Context, repo, ref, commit string) error {
	_, err := run(ctx, repo, "update-ref", ref, commit)
	return err
}

// DeleteRef deletes a ref with a full name that is at a commit. One that is gone is not an error.
func DeleteRef(ctx context.Context, repo, ref, commit string) error {
	now, err := tip(ctx, repo, ref)
	if err != nil || now == "" {
		return err
	}
	branch, is := strings.CutPrefix(ref, headsPrefix)
	if is {
		if at, err := Checkouts(ctx, repo, branch); err != nil || len(at) > 0 {
			return errors.Join(err, fmt.Errorf("it is checked out at %s", strings.Join(at, ", ")))
		}
	}
	if _, err := run(ctx, repo, "update-ref", "-d", ref, commit); err != nil {
		return err
	}
	if is {
		_, _ = run(ctx, repo, "config", "--remove-section", "branch."+branch) // most have none
	}
	return nil
}

// Ref is a ref with a full name and its commit.
type Ref struct{ Name, Commit string }

// Refs returns the refs below a prefix.
func Refs(ctx context.Context, repo, prefix string) (all []Ref, err error) {
	out, err := run(ctx, repo, "for-each-ref", "--format=%(objectname) %(refname)", prefix)
	for line := range strings.Lines(out) {
		if commit, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			all = append(all, Ref{name, commit})
		}
	}
	return all, err
}

// Remote returns the remote that a branch is pushed to, and its address; empty: there is
// none.
func Remote(ctx context.Context, repo, branch string) (name, url string, err error) {
	for _, key := range []string{"branch." + branch + ".pushRemote", "remote.pushDefault", "branch." + branch + ".remote"} {
		if name, err = setting(ctx, repo, key); err != nil || name != "" && name != "." {
			break
		}
		name = ""
	}
	if err == nil && name == "" {
		out, e := run(ctx, repo, "remote")
		names := strings.Fields(out)
		switch err = e; {
		case slices.Contains(names, "origin"):
			name = "origin"
		case len(names) == 1:
			name = names[0]
		}
	}
	if err != nil || name == "" {
		return "", "", err
	}
	out, err := run(ctx, repo, "remote", "get-url", "--push", name)
	return name, strings.TrimSpace(out), err
}

// Push pushes a commit as a branch of a remote, never by force, and returns the remote's output.
// track sets that as the upstream of the local branch of the same name.
func (u User) Push(ctx context.Context, repo, remote, commit, branch string, track, verify bool) (string, error) {
	args := append([]string{"push"}, unverified(verify)...)
	if track {
		commit = headsPrefix + branch
		args = append(args, "--set-upstream")
	}
	_, said, err := u.run(ctx, repo, "", append(args, remote, commit+":"+headsPrefix+branch)...)
	return said, err
}

// TakenRefs begins the refs of work that was taken over from sessions:
// refs/agentform/NAME/BRANCH.
const TakenRefs = "refs/agentform/"

// TakenRef returns the ref of work that was taken over from a session's branch. name is the session's, as
// in the names of its workspace.
func TakenRef(name, branch string) string { return TakenRefs + name + "/" + branch }

// MergedInto returns the first of the usual bases of a branch that has all the work of a
// commit; empty: none has.
func MergedInto(ctx context.Context, repo, branch, commit string) (string, error) {
	bases, err := BasesOf(repo)
	if err != nil {
		return "", err
	}
	for _, base := range bases.usual {
		if base.Name == branch {
			continue
		}
		if merged, err := Merged(ctx, repo, commit, base.Commit); merged || err != nil {
			return base.Name, err
		}
	}
	return "", nil
}

// DeleteMerged deletes a ref of TakenRefs, and its branch if that is at the same commit, if
// its work is merged. deleted reports whether the branch was deleted.
func DeleteMerged(ctx context.Context, repo string, taken Ref, branch string) (deleted bool, err error) {
	base, err := MergedInto(ctx, repo, branch, taken.Commit)
	if err == nil && base == "" {
		err = errors.New("not merged")
	}
	if err != nil {
		return false, err
	}
	now, err := tip(ctx, repo, headsPrefix+branch)
	if err == nil && now == taken.Commit {
		err = DeleteRef(ctx, repo, headsPrefix+branch, now)
		deleted = err == nil
	}
	if err == nil {
		err = DeleteRef(ctx, repo, taken.Name, taken.Commit)
	}
	return deleted, err
}
