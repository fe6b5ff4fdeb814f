package engine

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentform/agentform/session"
)

// Observer is what a look is taken with. Every function must be safe to call from
// many goroutines, and none may change anything.
type Observer struct {
	// Runtime opens the runtime that a session names.
	Runtime func(session.RuntimeSpec) (session.Runtime, error)
	// Look reads a workspace's branch, without a process where it can.
	Look func(path string) session.Checkout
	// LookClone is Look where no git may be run, whatever stands there: in a clone,
	// whose agent may not be trusted with this machine.
	LookClone func(path string) session.Checkout
	// Worktrees lists who holds which branch of a repository: one git process.
	Worktrees func(ctx context.Context, repo string) ([]session.Held, error)
	// Facts reads the folder of a run.
	Facts func(run string) session.RunFacts
	// Launched reads what a run was launched with; nil if that cannot be known. It
	// is asked only about what is live and not on record. Launched itself nil:
	// nothing is known of any.
	Launched func(run string) *session.Spec
	// Imports are what is to be taken over, to be found besides: its id, and the
	// runtime that it is to be of.
	Imports map[string]session.RuntimeSpec
	// Also are wanted sessions whose runtimes and workspaces are looked at as well, and not
	// the worktrees of their repositories.
	Also []session.Spec
	// Overdue reports whether a session that has gone on for longer than its
	// unobserved_for cannot be observed yet; nil: it is not asked.
	Overdue func(session.Record, time.Time) bool
	// Asked is what has been begun to be asked already; nil: nothing.
	Asked  *Asked
	BootID func() string
	Now    func() time.Time
}

// World looks once at all that the wanted and the recorded sessions touch.
// Screens are read only if asked for. It never fails: a runtime that did not
// answer has its error in World.Runtimes, a workspace that could not be read in
// its Checkout, and a repository whose worktrees could not be listed in the
// Checkout of the repository's own path.
func (e Observer) World(ctx context.Context, wanted []session.Spec, recorded []session.Record, screens bool) session.World {
	w := session.World{
		At:        e.Now(),
		BootID:    e.BootID(),
		Runtimes:  map[string]error{},
		Worktrees: map[string][]session.Held{},
	}
	all := slices.Concat(wanted, e.Also)
	var wg sync.WaitGroup
	wg.Go(func() { e.lives(ctx, &w, runtimes(all, recorded), screens) })
	wg.Go(func() { w.Found = e.found(ctx) })
	clones := apart(all, recorded)
	w.Checkouts = inParallel(workspaces(all, recorded), batch, func(path string) session.Checkout {
		if clones[path] {
			return e.LookClone(path)
		}
		return e.Look(path)
	})
	e.worktrees(ctx, &w, wanted, recorded)
	wg.Wait()
	e.remember(w.Lives, recorded)
	w.Runs = inParallel(unseenRuns(w.Lives, recorded), batch, e.Facts)
	e.linger(ctx, &w)
	w.Overdue = e.overdue(w.At, recorded)
	return w
}

// overdue asks about the runs that have gone on for long enough to be so: most
// have not, and the others are looked for on disk.
func (e Observer) overdue(now time.Time, recorded []session.Record) map[string]bool {
	var found map[string]bool
	for _, r := range recorded {
		limit := r.Spec.Agent.UnobservedFor.D()
		if e.Overdue == nil || limit <= 0 || r.Run.StartedAt.IsZero() || now.Sub(r.Run.StartedAt) <= limit || !e.Overdue(r, now) {
			continue
		}
		if found == nil {
			found = map[string]bool{}
		}
		found[r.Run.ID] = true
	}
	return found
}

// runtimes are those that hold a recorded session or are to hold a wanted one, one
// for each engine. A record that stands on a server has that looked at, whatever its
// spec says now.
func runtimes(wanted []session.Spec, recorded []session.Record) map[string]session.RuntimeSpec {
	specs := map[string]session.RuntimeSpec{}
	add := func(r session.RuntimeSpec) {
		if engine := r.Engine(); specs[engine].Kind == "" {
			specs[engine] = r
		}
	}
	for _, r := range recorded {
		add(r.Spec.Runtime)
		if kind := r.Place.Runtime; r.Place.Traits().Server != "" && kind != r.Spec.Runtime.Kind {
			add(session.RuntimeSpec{Kind: kind})
		}
	}
	for _, s := range wanted {
		add(s.Runtime)
	}
	return specs
}

// lives asks every engine at once and fills in w.Runtimes and w.Lives, in the
// order of the engines' names. What two of them see is one: an adopted session of a
// tmux server that a runtime block names too.
func (e Observer) lives(ctx context.Context, w *session.World, specs map[string]session.RuntimeSpec, screens bool) {
	begun := e.Asked.answers(screens)
	for key, spec := range specs {
		if begun[key] == nil {
			begun[key] = e.ask(ctx, spec, screens)
		}
	}
	engines := slices.Sorted(maps.Keys(specs))
	for _, engine := range engines {
		lives, err := begun[engine]()
		w.Runtimes[engine] = err
		w.Lives = append(w.Lives, lives...)
	}
	if len(engines) > 1 {
		w.Lives = distinct(w.Lives)
	}
}

// distinct is what is live without what was seen twice.
func distinct(lives []session.Live) []session.Live {
	seen := make(map[session.Place]bool, len(lives))
	return slices.DeleteFunc(lives, func(l session.Live) bool {
		twice := seen[l.Place]
		seen[l.Place] = true
		return twice
	})
}

// remember fills in what the live sessions that are not on record were launched with, so
// that they can be adopted for what they are. The data folder has that also of one whose
// lineage was lost, and of no session of another project.
func (e Observer) remember(lives []session.Live, recorded []session.Record) {
	known := make(map[string]bool, len(recorded))
	for _, r := range recorded {
		known[r.ID] = true
	}
	for i := range lives {
		if l := &lives[i]; e.Launched != nil && l.Mark.ID != "" && !known[l.Mark.ID] && l.Spec == nil {
			l.Spec = e.Launched(l.Mark.Run)
		}
	}
}

// workspaces are the paths that a spec or a record names.
func workspaces(wanted []session.Spec, recorded []session.Record) []string {
	set := make(map[string]bool, len(wanted)+len(recorded))
	for _, s := range wanted {
		set[s.Workspace.Path] = true
	}
	for _, r := range recorded {
		set[r.Tree.Path] = true
	}
	delete(set, "")
	return slices.Collect(maps.Keys(set))
}

// apart are the workspaces in which no git is run: clones, and the folders without
// git of their own.
func apart(wanted []session.Spec, recorded []session.Record) map[string]bool {
	set := map[string]bool{}
	add := func(path, mode string) {
		if mode == session.Clone || mode == session.Plain {
			set[path] = true
		}
	}
	for _, s := range wanted {
		add(s.Workspace.Path, s.Workspace.Mode)
	}
	for _, r := range recorded {
		add(r.Tree.Path, r.Tree.Mode)
	}
	return set
}

// worktrees lists the worktrees of each repository in which something may have
// to be created: a process, so no repository is asked without need.
func (e Observer) worktrees(ctx context.Context, w *session.World, wanted []session.Spec, recorded []session.Record) {
	type answer struct {
		held []session.Held
		err  error
	}
	repos := changing(w.Checkouts, wanted, recorded)
	answers := inParallel(repos, 1, func(repo string) answer {
		held, err := e.Worktrees(ctx, repo)
		return answer{held, err}
	})
	for repo, a := range answers {
		if a.err == nil {
			w.Worktrees[repo] = a.held
		} else if _, looked := w.Checkouts[repo]; !looked {
			w.Checkouts[repo] = session.Checkout{Path: repo, Err: a.err}
		}
	}
}

// changing are the repositories that a wanted worktree belongs to which is not
// on record, is recorded on another branch or path, or does not stand there as
// recorded.
func changing(seen map[string]session.Checkout, wanted []session.Spec, recorded []session.Record) []string {
	trees := make(map[session.Address]session.WorkspaceState, len(recorded))
	for _, r := range recorded {
		trees[r.Address] = r.Tree
	}
	repos := map[string]bool{}
	for _, s := range wanted {
		if s.Workspace.Repo == "" || s.Workspace.Mode == session.Clone {
			continue // a clone holds no branch of the repository
		}
		if s.Workspace.Mode == session.InPlace && seen[s.Workspace.Path].Branch == s.Branch {
			continue // nothing is created, and nobody else can hold the branch
		}
		t, known := trees[s.Address]
		stands := seen[t.Path]
		if !known || t.Branch != s.Branch || t.Path != s.Workspace.Path || !stands.Exists || stands.Branch != s.Branch {
			repos[s.Workspace.Repo] = true
		}
	}
	return slices.Collect(maps.Keys(repos))
}

// unseenRuns are the recorded runs that no live object carries, and those of
// sessions with which something was under way.
func unseenRuns(lives []session.Live, recorded []session.Record) []string {
	live := make(map[string]bool, len(lives))
	for _, l := range lives {
		live[l.Mark.Run] = true
	}
	var runs []string
	for _, r := range recorded {
		if r.Run.ID != "" && (!live[r.Run.ID] || r.Intent != session.Settled) {
			runs = append(runs, r.Run.ID)
		}
	}
	return runs
}

// lingers is how long a look waits for agents whose place has gone: when a tmux
// server goes, they are told by the hangup, and are about to end.
const lingers = time.Second

// linger looks again at runs whose place is gone and whose agent lives, until
// they have ended or it has waited long enough.
func (e Observer) linger(ctx context.Context, w *session.World) {
	seen := make(map[string]bool, len(w.Lives))
	for _, l := range w.Lives {
		seen[l.Mark.Run] = true
	}
	for until := time.Now().Add(lingers); time.Now().Before(until); {
		alive := false
		for run, facts := range w.Runs {
			if facts.Alive && !seen[run] {
				w.Runs[run] = e.Facts(run)
				alive = alive || w.Runs[run].Alive
			}
		}
		if !alive {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// batch is how many small reads one goroutine takes at a time: each is about
// 10 µs, so that fewer would cost more in handing out than in reading.
const batch = 16

// inParallel is the function's result for each of the names. A goroutine a
// processor works on them, taking so many names at a time: with more, whoever
// waits for a runtime's answer at the same time would be told late of it.
func inParallel[T any](names []string, batch int, read func(string) T) map[string]T {
	results := make([]T, len(names))
	var next atomic.Int64
	work := func() {
		for {
			end := int(next.Add(int64(batch)))
			from := end - batch
			if from >= len(names) {
				return
			}
			for i := from; i < min(end, len(names)); i++ {
				results[i] = read(names[i])
			}
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0)-1, (len(names)-1)/batch) {
		wg.Go(work)
	}
	work()
	wg.Wait()
	found := make(map[string]T, len(names))
	for i, name := range names {
		found[name] = results[i]
	}
	return found
}
