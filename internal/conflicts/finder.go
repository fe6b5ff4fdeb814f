package conflicts

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/changes"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

// Work is the work of a recorded session.
type Work struct {
	Address   session.Address
	Workspace changes.Workspace
	Count     *changes.Count // of the workspace; nil: not counted, and nothing is found
	Landed    string         // commit of the work that has landed; empty: none has
}

// Of returns the work of a recorded session, not counted.
func Of(r session.Record, w changes.Workspace) Work {
	x := Work{Address: r.Address, Workspace: w}
	if r.Landed != nil {
		x.Landed = r.Landed.From
	}
	return x
}

// Counted returns work with the last counts of a counter.
func Counted(c *changes.Counter, all []Work) []Work {
	all = slices.Clone(all)
	for i := range all {
		all[i].Count = c.Known(all[i].Workspace.Checkout)
	}
	return all
}

// own reports whether the base of the work lacks something of it.
func (w Work) own() bool {
	c := w.Count
	return c.Ahead > 0 || c.Added > 0 || c.Removed > 0 || c.Untracked > 0
}

// Conflict is work that cannot be merged with other work.
type Conflict struct {
	With  session.Address // empty: Base
	Base  string          // name of the base; empty: With
	Files []string        // at most a hundred
}

const (
	// fileName and dirName are in the data directory.
	fileName, dirName = "conflicts.json", "conflicts"
	// fileLimit bounds what is read of the file.
	fileLimit = 64 << 20
	// mostFiles limits the files of a conflict.
	mostFiles = 100
	// mostPaths limits the paths that are kept of the work of a session.
	mostPaths = 200
	// chunk is how many pairs one process of git merges. An interrupted one is lost.
	chunk = 200
	// share bounds how much of its time a Finder works: what took a second is repeated after
	// ten.
	share = 10
)

// found is what is known, and what is kept in the file.
type found struct {
	Works  map[string]work   `json:"works"`  // by the path of the workspace
	Tables map[string]*table `json:"tables"` // of commits that have their base, by repository
}

// work is what was found of the work in one workspace.
type work struct {
	CountedAt time.Time `json:"counted_at"`
	Head      string    `json:"head,omitempty"`
	Commit    string    `json:"commit,omitempty"` // of all work; empty: there is none
	// Ready is Commit merged with its base; empty: they conflict.
	Ready string   `json:"ready,omitempty"`
	Base  string   `json:"base,omitempty"`  // with which it conflicts
	Files []string `json:"files,omitempty"` // in which they conflict
	// Tip is the commit of its base, and Paths what Ready has otherwise; none: they are too
	// many, or some may be renamed.
	Tip   string   `json:"tip,omitempty"`
	Paths []string `json:"paths,omitempty"`
}

// Finder finds conflicts, and remembers what it found. It can be used from many goroutines.
type Finder struct {
	dir string // the data directory
	now func() time.Time

	busy sync.Mutex // held by Refresh

	mu    sync.Mutex
	known *found // never changed; nil: not read
	rests time.Time
}

// NewFinder returns a finder that keeps what it finds in the data directory.
func NewFinder(dataDir string) *Finder { return &Finder{dir: dataDir, now: time.Now} }

func (f *Finder) load() *found {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = &found{}
		b, _, err := rundir.ReadFile(filepath.Join(f.dir, fileName), fileLimit)
		if err == nil && json.Unmarshal(b, f.known) != nil {
			f.known = &found{} // what is damaged is found again
		}
		maps.DeleteFunc(f.known.Tables, func(_ string, t *table) bool { return !t.complete() })
	}
	return f.known
}

// Known returns the last known conflicts of sessions, without the sessions about which nothing is
// known.
func (f *Finder) Known(all []Work) map[session.Address][]Conflict {
	known, conflicts := f.load(), map[session.Address][]Conflict{}
	byRepo := map[string][]int{}
	for i, w := range all {
		x, ok := known.Works[w.Workspace.Checkout.Path]
		if !ok || w.Count == nil {
			continue
		}
		conflicts[w.Address] = []Conflict{}
		if len(x.Files) > 0 {
			conflicts[w.Address] = append(conflicts[w.Address], Conflict{Base: x.Base, Files: x.Files})
		}
		if x.Ready != "" {
			repo := repository(w.Workspace)
			byRepo[repo] = append(byRepo[repo], i)
		}
	}
	for repo, members := range byRepo {
		t := known.Tables[repo]
		if t == nil || len(t.Conflicts) == 0 {
			continue
		}
		for n, i := range members {
			for _, j := range members[:n] {
				a, b := all[i], all[j]
				files, _ := t.get(known.Works[a.Workspace.Checkout.Path].Ready, known.Works[b.Workspace.Checkout.Path].Ready)
				if len(files) > 0 {
					conflicts[a.Address] = append(conflicts[a.Address], Conflict{With: b.Address, Files: files})
					conflicts[b.Address] = append(conflicts[b.Address], Conflict{With: a.Address, Files: files})
				}
			}
		}
	}
	for _, of := range conflicts {
		slices.SortStableFunc(of, func(a, b Conflict) int { return len(b.Base) - len(a.Base) })
	}
	return conflicts
}

func repository(w changes.Workspace) string {
	common, err := git.CommonDir(w.Repo)
	if err != nil {
		return w.Repo
	}
	return common
}

// Refresh finds the conflicts of the work that was counted again since, and reports whether
// there are other ones then. If ctx ends, what was found by then is kept.
func (f *Finder) Refresh(ctx context.Context, all []Work) (differ bool) {
	if !f.busy.TryLock() {
		return false
	}
	defer f.busy.Unlock()
	before := f.load()
	began := f.now()
	if began.Before(f.rests) {
		return false
	}
	byRepo := map[string][]Work{}
	for _, w := range all {
		if co := w.Workspace.Checkout; co.Git && co.Err == nil && w.Count != nil && w.Workspace.Repo != "" {
			repo := repository(w.Workspace)
			byRepo[repo] = append(byRepo[repo], w)
		}
	}
	after, changed := &found{map[string]work{}, map[string]*table{}}, false
	for repo, works := range byRepo {
		r := round{repo: repo, works: works, known: before.Works, pairs: before.Tables[repo]}
		var clones []string
		for _, w := range works {
			if w.Workspace.Clone && !w.Workspace.Elsewhere {
				clones = append(clones, w.Workspace.Checkout.Repo)
			}
		}
		var err error
		if r.quarantine, err = git.OpenQuarantine(repo, Folder(f.dir, "work", repo), clones...); err != nil {
			continue
		}
		r.look(ctx)
		r.compare(ctx)
		maps.Copy(after.Works, r.known)
		after.Tables[repo] = r.pairs
		changed = changed || r.changed
	}
	if !changed && len(after.Works) == len(before.Works) {
		return false
	}
	f.mu.Lock()
	f.known = after
	f.rests = f.now().Add(share * f.now().Sub(began))
	f.mu.Unlock()
	if b, err := json.Marshal(after); err == nil {
		_ = rundir.WriteFile(filepath.Join(f.dir, fileName), b, false) // else the next command finds it again
	}
	return true
}

// Folder returns where the quarantine of a repository is, for one use of it.
func Folder(dataDir, use, repo string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(repo)) // never fails
	return filepath.Join(dataDir, dirName, fmt.Sprintf("%s-%x", use, sum.Sum64()))
}
