package land

import (
	"cmp"
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

	"github.com/gofrs/flock"

	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/forge"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

// Lander lands the work of one recorded session.
type Lander struct {
	Record  session.Record
	Ref     string // in the repository, for what was landed: refs/agentform/NAME/BRANCH
	Dir     string // for scratch checkouts; it is made
	Environ environ.Vars
	Doing   session.Activity
	Asks    string
	Answers bool // of what it asks, the answers are known
	// Sessions tells who works in a checkout, and what they do.
	Sessions func(path string) (session.Address, session.Activity)
	// Elsewhere runs git in the workspace, if its agent is not trusted on this machine; else
	// it is nil.
	Elsewhere git.Runner
	Volume    *git.Volume // the workspace, if this machine does not see it
	Shell     git.Shell   // runs commands at a clone, where its agent works
	// Now returns what the agent does by now; nil: Doing is that.
	Now func(context.Context) (session.Activity, error)
	// Held reports whether the runtime holds the workspace, if Volume is set.
	Held func(context.Context) (bool, error)
	// Verify verifies what is about to land, if that is not what was verified; nil: that is not asked for.
	Verify   func(context.Context, Result) error
	LockWait time.Duration
	// ForgeTimeout bounds a push, and the tool that opens a pull request; 0: five minutes each.
	ForgeTimeout time.Duration
	// GitLimit bounds each command of git that may run hooks; 0: a person can end it.
	GitLimit time.Duration
}

// Result is what is about to land.
type Result struct {
	Commit string
	Path   string // of a checkout of it on this machine
	Work   string // the commit of the branch, from which it was made
}

// Landed is what became of the work.
type Landed struct {
	Address session.Address `json:"address"`
	Branch  string          `json:"branch"`
	Commit  string          `json:"commit"` // of the branch
	Base    string          `json:"base"`
	Method  Method          `json:"method"`
	Done    bool            `json:"landed"`  // the base has the work
	Already bool            `json:"already"` // it had it before
	Commits int             `json:"commits"` // that were landed or pushed
	From    string          `json:"base_was"`
	To      string          `json:"base_is"`
	Moved   string          `json:"checkout"` // of the base, which moved along; empty: there is none
	Remote  string          `json:"remote"`   // that the branch was pushed to
	URL     string          `json:"url"`      // of the pull request, or where to open it
	Open    bool            `json:"opened"`   // the pull request is open
	Note    string          `json:"note"`     // why a tool did not open it
	In      string          `json:"-"`        // the commit of the base that has the work
	Worked  bool            `json:"-"`        // the work is of the session, not of before it
	// Unverified means that nothing has verified the commit, or what was made of it and the base,
	// and the session requires that.
	Unverified bool   `json:"-"`
	Steps      []Step `json:"steps"`
}

func (l *Lander) clone() bool { return l.Record.Tree.Mode == session.Clone }

// trusted reports whether programs in the workspace, such as hooks, may run on this machine.
func (l *Lander) trusted() bool { return l.Record.Spec.Runtime.Traits().HostProcesses }

func (l *Lander) user(ctx context.Context) (git.User, error) {
	u := git.User{Environ: l.Environ, Limit: l.GitLimit}
	var err error
	if !l.trusted() {
		u.Hooks, err = git.HooksOf(ctx, l.Record.Tree.Repo)
	}
	return u, err
}

// Look finds the facts. The branch of a clone is fetched.
func (l *Lander) Look(ctx context.Context, q Request) (f Facts, err error) {
	f, err = l.lookAtWork(ctx)
	if err != nil || f.Commit == "" {
		return f, err
	}
	var coming []string
	if f.unsaved() && q.Commit != "" {
		if coming, err = git.Uncommitted(ctx, l.git()); err != nil {
			return f, fmt.Errorf("look for uncommitted changes: %w", err)
		}
	}
	f.Verifies, f.Unverified = l.Record.Spec.Verify.Declared(), l.Record.Unverified(f.Commit)
	if v := l.Record.Verified; v != nil && v.Commit == f.Commit {
		f.Red = v.Detail
	}
	return f, l.lookAtBase(ctx, q, &f, coming)
}

// git returns what runs git in the workspace.
func (l *Lander) git() git.Runner {
	if l.Elsewhere != nil {
		return l.Elsewhere
	}
	return git.Here(l.Record.Tree.Path)
}

// lookAtWork finds the facts of the workspace and of its branch. That of a clone is fetched.
func (l *Lander) lookAtWork(ctx context.Context) (f Facts, err error) {
	t := l.Record.Tree
	f = Facts{Address: l.Record.Address, Branch: t.Branch, Doing: l.Doing, Asks: l.Asks, Answers: l.Answers}
	look, ref := git.Look, "refs/heads/"+t.Branch
	if l.clone() {
		look, ref, f.Ref = git.LookClone, l.Ref, l.Ref
	}
	if l.Volume != nil {
		look = func(string) session.Checkout { return l.Volume.Look(ctx) }
	}
	if f.At = look(t.Path); f.At.Err != nil {
		return f, f.At.Err
	}
	if f.At.Exists && f.At.Git {
		if l.Volume != nil {
			f.Unsaved, err = l.Volume.Unsaved(ctx)
		} else {
			f.Unsaved, err = git.Unsaved(ctx, t.Path, l.git())
		}
		if err != nil {
			return f, fmt.Errorf("look for uncommitted changes: %w", err)
		}
		if l.clone() && f.At.Branch == t.Branch {
			if l.Volume != nil {
				_, err = l.Volume.Fetch(ctx, t.Repo, t.Branch, ref)
			} else {
				_, err = git.Fetch(ctx, t.Repo, t.Path, t.Branch, ref)
			}
			if err != nil {
				return f, err
			}
		}
	}
	f.Commit, err = git.Tip(ctx, t.Repo, ref)
	return f, err
}

// lookAtBase finds the facts of the base. coming are files that are committed before landing.
func (l *Lander) lookAtBase(ctx context.Context, q Request, f *Facts, coming []string) (err error) {
	repo := l.Record.Tree.Repo
	if f.Remote.Name, f.Remote.URL, err = git.Remote(ctx, repo, f.Branch); err != nil {
		return err
	}
	base := git.Base{Name: q.Into, Commit: q.Into}
	if q.Into == "" {
		bases, err := git.BasesOf(repo)
		if err != nil {
			return err
		}
		base = bases.Base(f.Branch, l.Record.Spec.Workspace.Base)
	}
	if f.Base = strings.TrimPrefix(base.Name, "refs/heads/"); f.Base == "" || f.Base == f.Branch {
		return nil
	}
	if f.BaseTip, err = git.Tip(ctx, repo, "refs/heads/"+f.Base); err != nil {
		return err
	}
	compare := []string{f.BaseTip}
	if f.BaseTip == "" {
		short, is := strings.CutPrefix(f.Base, f.Remote.Name+"/")
		tip, err := git.Tip(ctx, repo, "refs/remotes/"+f.Base)
		if err != nil || !is || tip == "" {
			return err // Decide refuses it
		}
		compare = []string{tip}
		if q.Method == PR {
			f.Base = short
		}
	} else if f.Remote.Name != "" { // that may have it from a pull request
		tip, err := git.Tip(ctx, repo, "refs/remotes/"+f.Remote.Name+"/"+f.Base)
		if err != nil {
			return err
		}
		if tip != "" && tip != f.BaseTip {
			compare = append(compare, tip)
		}
	}
	for _, tip := range compare {
		if f.Merged, err = git.Merged(ctx, repo, f.Commit, tip); f.Merged {
			f.In = tip
		}
		if err != nil || f.done() {
			return err
		}
	}
	if f.Commits, err = git.Commits(ctx, repo, compare[0], f.Commit); err != nil {
		return err
	}
	tree, conflict, known, err := git.MergeTree(ctx, repo, compare[0], f.Commit)
	if err != nil {
		return err
	}
	if f.Conflict = conflict; len(conflict) > 0 {
		tree = "" // it has the marks of conflicts
	} else if known && len(coming) > 0 && l.Elsewhere == nil {
		if f.Conflict, err = foresee(ctx, repo, compare[0], f.At); err != nil {
			return fmt.Errorf("foresee what the uncommitted changes conflict with: %w", err)
		}
	}
	if q.Method == PR {
		return nil // the base is not moved
	}
	return l.lookAtHolders(ctx, f, tree, coming)
}

// foresee returns the files in which the present content of a workspace conflicts with a commit.
func foresee(ctx context.Context, repo, base string, at session.Checkout) ([]string, error) {
	dir, err := os.MkdirTemp("", "agentform-land-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	q, err := git.OpenQuarantine(repo, dir, at.Repo) // a clone has objects of its own
	if err != nil {
		return nil, err
	}
	_, work, err := q.Snapshot(ctx, at.Path, true)
	if err != nil {
		return nil, err
	}
	m, _, err := q.Merge(ctx, base, work)
	return m.Conflicts, err
}

// lookAtHolders finds what keeps the checkouts of the base from moving to a commit or tree;
// empty: it is not known yet.
func (l *Lander) lookAtHolders(ctx context.Context, f *Facts, to string, coming []string) error {
	paths, err := git.Checkouts(ctx, l.Record.Tree.Repo, f.Base)
	if err != nil {
		return err
	}
	f.Holders = nil
	for _, path := range paths {
		h := Holder{Path: path}
		if h.Obstacles, err = git.FindObstacles(ctx, path, f.BaseTip, to, coming); err != nil {
			return fmt.Errorf("inspect the checkout of %s: %w", f.Base, err)
		}
		h.Session, h.Doing = l.Sessions(path)
		f.Holders = append(f.Holders, h)
	}
	return nil
}

// attempts bounds how often a base that moves meanwhile is merged with again.
const attempts = 3

// Land carries out what Decide says. report is called before each step.
func (l *Lander) Land(ctx context.Context, q Request, report func(Step)) (done Landed, err error) {
	release, err := l.lock(ctx)
	if err != nil {
		return done, err
	}
	defer release()
	u, err := l.user(ctx)
	if err != nil {
		return done, err
	}
	var before []Step // of what was committed
	for n := 1; ; n++ {
		f, err := l.Look(ctx, q)
		if err != nil {
			return done, err
		}
		f.Committed = len(before) > 0
		steps, err := Decide(f, q)
		if err != nil {
			return done, err
		}
		done = Landed{Address: f.Address, Branch: f.Branch, Commit: f.Commit, Base: f.Base, Method: q.Method,
			Commits: len(f.Commits), From: f.BaseTip, To: f.BaseTip, Unverified: f.Unverified, Steps: append(before, steps...)}
		if len(steps) == 0 {
			done.Done, done.Already, done.In = true, true, f.In
			at, err := git.CommittedAt(ctx, l.Record.Tree.Repo, f.Commit)
			done.Worked = !at.Before(l.Record.CreatedAt.Truncate(time.Second))
			return done, err
		}
		if steps[0].Kind == "commit" {
			report(steps[0])
			if err := l.commit(ctx, q); err != nil {
				return done, fmt.Errorf("commit in %s: %w", l.Record.Tree.Path, err)
			}
			before, n = slices.Clip(steps[:1]), 0
			q.Commit = "" // what changes from now on is refused
			continue
		}
		if q.Method == PR {
			release() // a forge may never answer, and the base is not touched
			err := l.open(ctx, u, f, q, &done, report)
			return done, err
		}
		report(steps[0])
		done.To, err = l.merge(ctx, u, f, q, &done)
		if files := (*git.ConflictError)(nil); errors.As(err, &files) {
			return done, conflict(f, files.Files)
		}
		if merges := (*git.MergesError)(nil); errors.As(err, &merges) {
			return done, lacks(f, merges)
		}
		if err != nil && ctx.Err() == nil {
			return done, fmt.Errorf("%w\nnothing was landed: %s is as it was", err, f.Base)
		} else if err != nil {
			return done, err
		}
		err = l.advance(ctx, u, f, q, &done)
		if !errors.Is(err, git.ErrMoved) || n >= attempts {
			done.In, done.Worked = done.To, true
			return done, err
		}
	}
}

// lock keeps other landings of the project out, and removes what a killed one left.
func (l *Lander) lock(ctx context.Context) (release func(), err error) {
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		return nil, err
	}
	file := flock.New(filepath.Join(l.Dir, "lock"))
	limited, cancel := context.WithTimeout(ctx, max(l.LockWait, time.Millisecond))
	defer cancel()
	if held, err := file.TryLockContext(limited, 50*time.Millisecond); !held {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, errors.Join(errors.New("another agentform land is running in this project\nwait for it, or raise --lock-timeout"), ignoreDeadline(err))
	}
	entries, err := os.ReadDir(l.Dir)
	for _, e := range entries {
		if err == nil && e.IsDir() {
			err = git.RemoveScratch(ctx, l.Record.Tree.Repo, filepath.Join(l.Dir, e.Name()))
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("remove what an interrupted landing left: %w", err), file.Close())
	}
	return func() { _ = file.Close() }, nil
}

func ignoreDeadline(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// commit commits all in the workspace, where and as its agent does.
func (l *Lander) commit(ctx context.Context, q Request) error {
	if l.Elsewhere == nil {
		u := git.User{Environ: l.Environ, Limit: l.GitLimit}
		if !l.trusted() {
			u.Hooks = git.NoHooks
		}
		return u.CommitAll(ctx, l.Record.Tree.Path, q.Commit, q.Verify)
	}
	if _, err := l.Elsewhere(ctx, "add", "--all"); err != nil {
		return err
	}
	_, err := l.Elsewhere(ctx, "commit", "--quiet", "-m", q.Commit)
	return err
}

// merge returns a commit that has the base and the work.
func (l *Lander) merge(ctx context.Context, u git.User, f Facts, q Request, done *Landed) (_ string, err error) {
	path, err := os.MkdirTemp(l.Dir, "merge-")
	if err != nil {
		return "", err
	}
	s, err := u.NewScratch(ctx, l.Record.Tree.Repo, path, f.BaseTip, q.Verify)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var to string
	switch m := MessageOf(f, q); q.Method {
	case Squash:
		to, err = s.Squash(ctx, f.Commit, m.Text, m.Author)
	case Rebase:
		to, err = s.Rebase(ctx, f.Commit)
	default:
		to, err = s.Merge(ctx, f.Commit, m.Text)
	}
	if err == nil {
		err = l.check(ctx, f, q, path, to, done)
	}
	return to, err
}

// check refuses to land what was not foreseen, or what is not verified.
func (l *Lander) check(ctx context.Context, f Facts, q Request, path, to string, done *Landed) error {
	if q.Tree == "" && !f.Verifies {
		return nil
	}
	repo := l.Record.Tree.Repo
	tree, err := git.TreeOf(ctx, repo, to)
	if err != nil {
		return err
	}
	if q.Tree != "" && tree != q.Tree {
		return &Refusal{Why: otherTree(f.Address, f.Base, tree, q.Tree),
			Next: "something has changed meanwhile: run the same command again"}
	}
	if !f.Verifies {
		return nil
	}
	verified, err := git.TreeOf(ctx, repo, f.Commit)
	switch {
	case err != nil || verified == tree:
		return err
	case q.Unverified || l.Verify == nil:
		done.Unverified = true
		return nil
	}
	if err := l.Verify(ctx, Result{to, path, f.Commit}); err != nil {
		return fmt.Errorf("%s, merged into %s, is not verified: %w", f.Address, f.Base, err)
	}
	return nil
}

// advance moves the base to what was merged.
func (l *Lander) advance(ctx context.Context, u git.User, f Facts, q Request, done *Landed) error {
	// A hook, a rebase or an older git may have made another tree than the one foreseen.
	if err := l.refused(ctx, &f, q, done.To); err != nil {
		return err
	}
	if len(f.Holders) > 0 {
		done.Moved = f.Holders[0].Path
	}
	if err := git.Mark(ctx, l.Record.Tree.Repo, l.Ref, f.Commit); err != nil {
		return err
	}
	if err := u.Advance(ctx, l.Record.Tree.Repo, f.Base, f.BaseTip, done.To, done.Moved); err != nil {
		if refusal := (*Refusal)(nil); !errors.Is(err, git.ErrMoved) && errors.As(l.refused(ctx, &f, q, done.To), &refusal) {
			return refusal // somebody changed a file meanwhile, and git itself refused
		}
		return fmt.Errorf("move %s: %w", f.Base, err)
	}
	done.Done = true
	return nil
}

// refused looks at the checkouts of the base again, and returns a *Refusal if they cannot move to
// a commit.
func (l *Lander) refused(ctx context.Context, f *Facts, q Request, to string) error {
	if err := l.lookAtHolders(ctx, f, to, nil); err != nil {
		return err
	}
	if r := checkBase(*f, q); r != nil {
		return r
	}
	return nil
}

// open pushes the branch and opens a pull request, or says where to.
func (l *Lander) open(ctx context.Context, u git.User, f Facts, q Request, done *Landed, report func(Step)) error {
	report(done.Steps[len(done.Steps)-2])
	pushing, cancel := l.answered(ctx)
	defer cancel()
	said, err := u.Push(pushing, l.Record.Tree.Repo, f.Remote.Name, f.Commit, f.Branch, !l.clone(), q.Verify)
	if err != nil {
		return fmt.Errorf("push %s to %s: %w", f.Branch, f.Remote.Name, err)
	}
	done.Remote = f.Remote.Name
	if err := git.Mark(ctx, l.Record.Tree.Repo, l.Ref, f.Commit); err != nil {
		return err
	}
	place := forge.PlaceOf(f.Remote.URL)
	done.URL = cmp.Or(place.Address(f.Branch, f.Base), forge.Offered(said))
	m := MessageOf(f, q)
	line := forge.ToolOf(place.Kind, f.Branch, f.Base, m.Title(), m.Body())
	if line == nil {
		return nil
	}
	program, found := l.Environ.Program(line[0], l.Record.Tree.Repo)
	if !found {
		done.Note = line[0] + " is not installed"
		return nil
	}
	report(done.Steps[len(done.Steps)-1])
	out, err := l.tool(ctx, program, line)
	url := forge.LastAddress(out)
	switch {
	case err == nil && url != "", strings.Contains(out, "already exists") && url != "":
		done.URL, done.Open = url, true
	case err != nil && ctx.Err() != nil:
		return err
	default:
		done.Note = strings.TrimSpace(fmt.Sprintf("%s %s %s: %s", line[0], line[1], line[2], firstLine(cmp.Or(strings.TrimSpace(out), fmt.Sprint(err)))))
	}
	return nil
}

// answered returns a context that ends when a forge has not answered for too long.
func (l *Lander) answered(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := cmp.Or(l.ForgeTimeout, 5*time.Minute)
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
}

func (l *Lander) tool(ctx context.Context, program string, line []string) (string, error) {
	ctx, cancel := l.answered(ctx)
	defer cancel()
	c := exec.CommandContext(ctx, program, line[1:]...)
	c.Dir, c.Env = l.Record.Tree.Repo, l.Environ
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 2 * time.Second
	out, err := c.CombinedOutput()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return string(out), err
}
