package conflicts

import (
	"context"
	"errors"
	pathpkg "path"
	"runtime"
	"slices"
	"sync"

	"github.com/agentform/agentform/internal/git"
)

// round finds the conflicts of the work in one repository.
type round struct {
	quarantine *git.Quarantine
	repo       string
	works      []Work
	known      map[string]work // by the path of the workspace
	pairs      *table          // nil: none

	changed bool // something else is known than before

	mu   sync.Mutex
	tips map[string]tip // by the name of the base
}

// tip is a commit of a base.
type tip struct{ name, commit string }

// look finds the commits of the work that was counted again, and omits unknown work from r.known.
func (r *round) look(ctx context.Context) {
	before := r.known
	r.known, r.tips = map[string]work{}, map[string]tip{}
	var again []Work
	for _, w := range r.works {
		x, known := before[w.Workspace.Checkout.Path]
		if known {
			r.known[w.Workspace.Checkout.Path] = x
		}
		if !known || !x.CountedAt.Equal(w.Count.At) || !x.there(r.quarantine) {
			again = append(again, w)
		}
	}
	each(len(again), func(i int) {
		x, err := r.one(ctx, again[i])
		if err != nil {
			return // what was known stays
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.known[again[i].Workspace.Checkout.Path] = x
		r.changed = true
	})
}

// each calls do with the numbers below n, as many at a time as there are processors.
func each(n int, do func(int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	wg.Wait()
}

// there reports whether the commits of the work can be merged. A quarantine that was begun
// again has lost them.
func (x work) there(q *git.Quarantine) bool {
	for _, commit := range []string{x.Commit, x.Ready} {
		if commit != "" && commit != x.Head && !q.Has(commit) {
			return false
		}
	}
	return true
}

// errUnseen reports that this machine has no objects of a workspace.
var errUnseen = errors.New("the workspace is not on this machine")

// one finds the commits of one session's work.
func (r *round) one(ctx context.Context, w Work) (x work, err error) {
	x.CountedAt = w.Count.At
	path := w.Workspace.Checkout.Path
	switch {
	case w.Workspace.Elsewhere:
		return x, errUnseen
	case !w.own():
		return x, nil
	case w.Workspace.Here:
		if x.Head, x.Commit, err = r.quarantine.Snapshot(ctx, path, w.Count.Untracked > 0); err != nil {
			return x, err
		}
	default: // no git of this machine runs in it, and only what is committed is seen
		if x.Head, err = git.BranchTip(path, w.Workspace.Branch, w.Workspace.Clone); err != nil {
			return x, err
		}
		x.Commit = x.Head
	}
	if x.Commit == w.Landed {
		x.Commit = ""
		return x, nil
	}
	return x, r.merge(ctx, w, &x)
}

// merge merges work with its base.
func (r *round) merge(ctx context.Context, w Work, x *work) error {
	x.Ready = x.Commit
	base, err := r.tipOf(ctx, w)
	if err != nil || base.commit == "" {
		return err
	}
	if w.Count.Behind > 0 {
		merge, merged, err := r.quarantine.Merge(ctx, base.commit, x.Commit)
		if err != nil {
			return err
		}
		if files := merge.Conflicts; len(files) > 0 {
			x.Ready, x.Base, x.Files = "", base.name, files[:min(len(files), mostFiles)]
			return nil
		}
		x.Ready = merged
	}
	paths, renamed, err := r.quarantine.Changed(ctx, base.commit, x.Ready)
	if x.Tip = base.commit; !renamed && len(paths) <= mostPaths {
		x.Paths = paths
	}
	return err
}

// tipOf returns the commit that the base of work has by now, also as last fetched; the zero tip: it
// has no base.
func (r *round) tipOf(ctx context.Context, w Work) (t tip, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.tips[w.Count.Base]; ok {
		return known, nil
	}
	bases, err := git.BasesOf(r.repo)
	if err != nil {
		return t, err
	}
	if base := bases.Base(w.Workspace.Branch, w.Workspace.Declared); base.Commit != "HEAD" {
		if t.commit, t.name, err = base.Newest(ctx, r.repo); err != nil {
			return t, err
		}
	}
	r.tips[w.Count.Base] = t
	return t, nil
}

// apart reports whether two works change different paths of the same base, none of them renamed:
// git merges them without looking into a file.
func apart(a, b work) bool {
	if a.Tip != b.Tip || a.Tip == "" || len(a.Paths) == 0 || len(b.Paths) == 0 {
		return false
	}
	changed := make(map[string]bool, 2*len(a.Paths))
	for _, path := range a.Paths {
		for ; path != "." && path != "/"; path = pathpkg.Dir(path) {
			changed[path] = changed[path] || false
		}
	}
	for _, path := range a.Paths {
		changed[path] = true
	}
	for _, path := range b.Paths {
		if _, known := changed[path]; known { // the same path, or a directory of a
			return false
		}
		for path = pathpkg.Dir(path); path != "." && path != "/"; path = pathpkg.Dir(path) {
			if changed[path] { // a file of a is a directory of b
				return false
			}
		}
	}
	return true
}

// compare merges the work of each two sessions that have their base, as far as that was not
// done before.
func (r *round) compare(ctx context.Context) {
	var ready []string
	of := map[string]work{}
	for _, x := range r.known {
		if x.Ready != "" {
			ready, of[x.Ready] = append(ready, x.Ready), x
		}
	}
	slices.Sort(ready)
	ready = slices.Compact(ready)
	before := 0
	if r.pairs != nil {
		before = len(r.pairs.Commits)
	}
	r.pairs = r.pairs.of(ready)
	r.changed = r.changed || before != len(r.pairs.Commits)
	var missing [][2]string
	for j, b := range ready {
		for _, a := range ready[:j] {
			if _, compared := r.pairs.get(a, b); compared {
				continue
			}
			if apart(of[a], of[b]) {
				r.pairs.set(a, b, nil)
				r.changed = true
			} else {
				missing = append(missing, [2]string{a, b})
			}
		}
	}
	chunks := slices.Collect(slices.Chunk(missing, chunk))
	each(len(chunks), func(i int) {
		merged, _ := r.quarantine.Compare(ctx, chunks[i]) // what it could not do is done next time
		r.mu.Lock()
		defer r.mu.Unlock()
		for n, m := range merged {
			var files []string
			if m != nil { // else git cannot merge them: they have nothing in common
				files = m.Conflicts[:min(len(m.Conflicts), mostFiles)]
			}
			r.pairs.set(chunks[i][n][0], chunks[i][n][1], files)
			r.changed = true
		}
	})
}
