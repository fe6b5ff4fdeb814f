package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Observer takes snapshots of live sessions. Its functions must be safe for concurrent use, and
// must not change anything.
type Observer struct {
	Runtime func(session.RuntimeSpec) (session.Runtime, error)
	// Look reads a workspace's branch, without a process where it can.
	Look func(path string) session.Checkout
	// LookClone is Look for a clone, where no git may run: its agent may have changed
	// what git executes.
	LookClone func(path string) session.Checkout
	// Worktrees lists who holds which branch of a repository: one git process.
	Worktrees func(ctx context.Context, repo string) ([]session.Held, error)
	// Facts reads the directory of a run.
	Facts func(run string) session.RunFacts
	// Launched returns what a run was launched with, or nil. It may be nil.
	Launched func(run string) *session.Spec
	// Imports are the ids of objects to import, and the runtime that each is to be of.
	Imports map[string]session.RuntimeSpec
	// Also are wanted sessions; the worktrees of their repositories are not observed.
	Also []session.Spec
	// Overdue reports whether a session that has run for longer than its unobserved_for
	// cannot be observed yet. It may be nil.
	Overdue func(session.Record, time.Time) bool
	// Strays finds the agents of runs that recorded does not report. It may be nil.
	Strays func(recorded func(run string) bool) []session.Stray
	// Slow is called when a runtime has not answered for two seconds. It may be nil.
	Slow   func(session.RuntimeSpec)
	BootID func() string
	Now    func() time.Time

	here    session.Owner     // of World.Here
	shared  bool              // World.Shared
	started map[string]answer // runtimes that were asked already, by engine
}

// World takes a snapshot of everything that the wanted and the recorded sessions touch,
// with screens only on request. What could not be read has its error in World.Runtimes
// or in a Checkout, of a workspace or of a repository's own path. Workspaces that only a runtime
// that did not answer can show are left out.
func (o Observer) World(ctx context.Context, wanted []session.Spec, recorded []session.Record, screens bool) session.World {
	if o.shared {
		recorded = slices.DeleteFunc(slices.Clone(recorded), func(r session.Record) bool { return !sharedstate.Mine(r, o.here) })
	}
	w := session.World{
		At:        o.Now(),
		Here:      o.here,
		Shared:    o.shared,
		BootID:    o.BootID(),
		Runtimes:  map[string]error{},
		Worktrees: map[string][]session.Held{},
	}
	all := slices.Concat(wanted, o.Also)
	var wg sync.WaitGroup
	held := &held{}
	wg.Go(func() {
		o.lives(ctx, &w, runtimes(all, recorded), screens)
		held.find(ctx, o.Runtime, all, recorded, &w)
	})
	wg.Go(func() { w.Found = o.found(ctx) })
	paths, withoutGit := workspaces(all, recorded)
	paths = slices.DeleteFunc(paths, heldPaths(all, recorded))
	w.Checkouts = inParallel(paths, batch, func(path string) session.Checkout {
		if withoutGit[path] {
			return o.LookClone(path)
		}
		return o.Look(path)
	})
	o.worktrees(ctx, &w, wanted, recorded)
	wg.Wait()
	held.add(&w)
	o.addLaunched(w.Lives, recorded)
	w.Runs = inParallel(unseenRuns(w.Lives, recorded), batch, o.Facts)
	o.awaitExits(ctx, &w)
	w.Overdue = map[string]bool{}
	for _, r := range recorded {
		limit := r.Spec.Agent.UnobservedFor.D() // before it, the disk is not asked
		if o.Overdue != nil && limit > 0 && !r.Run.StartedAt.IsZero() && w.At.Sub(r.Run.StartedAt) > limit && o.Overdue(r, w.At) {
			w.Overdue[r.Run.ID] = true
		}
	}
	return w
}

// runtimes returns the runtimes that have a recorded session or will have a declared one, one for
// each engine. It includes a server that a record names, whatever the spec says now.
func runtimes(wanted []session.Spec, recorded []session.Record) map[string]session.RuntimeSpec {
	specs := map[string]session.RuntimeSpec{}
	add := func(r session.RuntimeSpec) {
		if engine := r.Engine(); specs[engine].Kind == "" {
			specs[engine] = r
		}
	}
	for _, r := range recorded {
		add(r.Spec.Runtime)
		if kind := r.Location.Runtime; r.Location.Traits().Server != "" && kind != r.Spec.Runtime.Kind {
			add(session.RuntimeSpec{Kind: kind})
		}
	}
	for _, s := range wanted {
		add(s.Runtime)
	}
	return specs
}

// lives observes all engines at the same time and fills in w.Runtimes and w.Lives, in
// the order of the engines' names. Two engines may show the same adopted session.
func (o Observer) lives(ctx context.Context, w *session.World, specs map[string]session.RuntimeSpec, screens bool) {
	answers := map[string]answer{}
	for key, spec := range specs {
		if answers[key] = o.started[key]; answers[key] == nil {
			answers[key] = o.ask(ctx, spec, screens)
		}
	}
	included := map[session.Location]bool{}
	for _, engine := range slices.Sorted(maps.Keys(specs)) {
		lives, err := answers[engine]()
		w.Runtimes[engine] = err
		for _, l := range lives {
			if len(specs) == 1 || !included[l.Location] {
				w.Lives = append(w.Lives, l)
			}
			included[l.Location] = true
		}
	}
}

// addLaunched fills in what sessions that are not on record were launched with, so that
// they can be adopted unchanged.
func (o Observer) addLaunched(lives []session.Live, recorded []session.Record) {
	onRecord := make(map[string]bool, len(recorded))
	for _, r := range recorded {
		onRecord[r.ID] = true
	}
	for i := range lives {
		if l := &lives[i]; o.Launched != nil && l.Mark.ID != "" && !onRecord[l.Mark.ID] && l.Spec == nil {
			l.Spec = o.Launched(l.Mark.Run)
		}
	}
}

// workspaces returns all paths, and those in which no git may run: clones, and directories
// without git of their own.
func workspaces(wanted []session.Spec, recorded []session.Record) (paths []string, withoutGit map[string]bool) {
	all := map[string]bool{}
	add := func(path, mode string) {
		if path != "" {
			all[path] = all[path] || mode == session.Clone || mode == session.Plain
		}
	}
	for _, s := range wanted {
		add(s.Workspace.Path, s.Workspace.Mode)
	}
	for _, r := range recorded {
		add(r.Tree.Path, r.Tree.Mode)
	}
	return slices.Collect(maps.Keys(all)), all
}

// worktrees lists the worktrees of repositories in which something may have to be
// created. Each takes a process.
func (o Observer) worktrees(ctx context.Context, w *session.World, wanted []session.Spec, recorded []session.Record) {
	type answer struct {
		held []session.Held
		err  error
	}
	for repo, a := range inParallel(changing(w.Checkouts, wanted, recorded), 1, func(repo string) answer {
		held, err := o.Worktrees(ctx, repo)
		return answer{held, err}
	}) {
		if a.err == nil {
			w.Worktrees[repo] = a.held
		} else if _, observed := w.Checkouts[repo]; !observed {
			w.Checkouts[repo] = session.Checkout{Path: repo, Err: a.err}
		}
	}
}

// changing returns the repositories of wanted worktrees that are not on record, are
// recorded with another branch or path, or do not exist as recorded.
func changing(checkouts map[string]session.Checkout, wanted []session.Spec, recorded []session.Record) []string {
	trees := make(map[session.Address]session.WorkspaceState, len(recorded))
	for _, r := range recorded {
		trees[r.Address] = r.Tree
	}
	repos := map[string]bool{}
	for _, s := range wanted {
		if s.Workspace.Repo == "" || s.Workspace.Mode == session.Clone {
			continue // a clone holds no branch of the repository
		}
		if s.Workspace.Mode == session.InPlace && checkouts[s.Workspace.Path].Branch == s.Branch {
			continue // nothing is created, and nothing else can hold the branch
		}
		t, recordedTree := trees[s.Address]
		at := checkouts[t.Path]
		if !recordedTree || t.Branch != s.Branch || t.Path != s.Workspace.Path || !at.Exists || at.Branch != s.Branch {
			repos[s.Workspace.Repo] = true
		}
	}
	return slices.Collect(maps.Keys(repos))
}

func unseenRuns(lives []session.Live, recorded []session.Record) []string {
	live := shown(lives)
	var runs []string
	for _, r := range recorded {
		if r.Run.ID != "" && (!live[r.Run.ID] || r.Intent != session.Settled) {
			runs = append(runs, r.Run.ID)
		}
	}
	return runs
}

// exitTimeout bounds the wait for agents whose place is gone: they are about to exit.
const exitTimeout = time.Second

func shown(lives []session.Live) map[string]bool {
	runs := make(map[string]bool, len(lives))
	for _, l := range lives {
		runs[l.Mark.Run] = true
	}
	return runs
}

func (o Observer) awaitExits(ctx context.Context, w *session.World) {
	live := shown(w.Lives)
	for until := time.Now().Add(exitTimeout); time.Now().Before(until); {
		alive := false
		for run, facts := range w.Runs {
			if facts.Alive && !live[run] {
				w.Runs[run] = o.Facts(run)
				alive = alive || w.Runs[run].Alive
			}
		}
		if !alive || !sleep.For(ctx, 20*time.Millisecond) {
			return
		}
	}
}

// batch is how many reads of about 10 µs one goroutine takes at a time.
const batch = 16

// inParallel returns the function's result for each name. One goroutine for each
// processor takes batches of names: more would delay the wait for a runtime's answer.
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

// found looks up the objects to import. An id begins with the kind of its runtime.
func (o Observer) found(ctx context.Context) map[string]session.Found {
	if len(o.Imports) == 0 {
		return nil
	}
	return inParallel(slices.Collect(maps.Keys(o.Imports)), 1, func(id string) session.Found {
		kind, _, ok := strings.Cut(id, ":")
		if !ok {
			return session.Found{Err: errors.New("it names no runtime: expected tmux:SOCKET/SESSION, docker:CONTAINER or kubernetes:NAMESPACE/NAME")}
		}
		in := o.Imports[id]
		if in.Kind != kind {
			return session.Found{Err: fmt.Errorf("it is in %s, and the session is declared in %s: declare a runtime of kind %s", kind, in.Key(), kind)}
		}
		rt, err := o.Runtime(in)
		if err != nil {
			return session.Found{Err: err}
		}
		finder, can := rt.(session.Finder)
		if !can {
			return session.Found{Err: fmt.Errorf("what runs in %s cannot be adopted", kind)}
		}
		return finder.Find(ctx, id)
	})
}

// slowAfter is how long a runtime may take before Observer.Slow is called: an engine and a
// cluster that are well answer in a fraction of it.
const slowAfter = 2 * time.Second

type answer func() ([]session.Live, error)

func (o Observer) ask(ctx context.Context, spec session.RuntimeSpec, screens bool) answer {
	var lives []session.Live
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		if o.Slow != nil {
			defer time.AfterFunc(slowAfter, func() { o.Slow(spec) }).Stop()
		}
		var rt session.Runtime
		if rt, err = o.Runtime(spec); err == nil {
			lives, err = rt.Observe(ctx, screens)
		}
	}()
	return func() ([]session.Live, error) {
		<-done
		return lives, err
	}
}

// prefetch starts to observe the wanted sessions' runtimes before the state is read. It
// returns a function for the answers, by engine, which are dropped if the state has
// changed.
func (e *Engine) prefetch(ctx context.Context, wanted []session.Spec) func(state.State) map[string]answer {
	started := map[string]answer{}
	lineage, err := state.Lineage(e.StatePath, e.Applier.OutputsDir)
	serial, err2 := state.Serial(e.StatePath)
	if err == nil && err2 == nil { // else reading the state reports it
		o := e.Observer
		o.Runtime = e.runtimes(lineage)
		for key, spec := range runtimes(wanted, nil) {
			started[key] = o.ask(ctx, spec, false)
		}
	}
	return func(st state.State) map[string]answer {
		if st.Lineage != lineage || st.Serial != serial {
			return nil
		}
		return started
	}
}
