package changes

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/stamp"
	"github.com/agentform/agentform/session"
)

// Workspace is a workspace whose changes are counted.
type Workspace struct {
	Checkout session.Checkout
	Repo     string // the repository that it was made from
	Clone    bool   // it has a repository of its own
	Branch   string // of the session
	Declared string // the base in the manifest; empty: none
	// Elsewhere means that the files of the workspace are not on this machine. Stamp is that of
	// session.Live.
	Elsewhere bool
	Stamp     uint64
	MovedAt   time.Time // last output of the session; zero: not known
	// Git runs git in the workspace. If it is nil, or fails, the last count stays.
	Git  git.Runner
	Here bool // Git runs on this machine

	volume git.Volume // of one elsewhere
}

// Count is the result for one workspace.
type Count struct {
	git.Changes
	Base      string    `json:"base,omitempty"` // empty: HEAD
	FetchedAt time.Time `json:"fetched_at"`     // of the base; zero: not known, or it is not fetched
	At        time.Time `json:"at"`
}

const (
	// FileName is the name of a Counter's file in the data directory.
	FileName = "changes.json"
	// maxAge is the age at which a workspace that shows no change is counted again, and
	// agedAtOnce how many of these are in one look.
	maxAge     = 10 * time.Minute
	agedAtOnce = 4
	// share bounds how much of its time a Counter counts a workspace that changes all the
	// time: what took 20 ms is repeated after 200 ms. Of other Counters' counts it does
	// not matter: a person's command shows what is the case.
	share = 10
	// outputDelay is the least time between counts of a workspace because of output.
	outputDelay = 2 * time.Second
	// mostFiles limits the files whose stamps are compared.
	mostFiles = 64
	// timeout bounds the count of one workspace.
	timeout = time.Minute
	// fileLimit bounds what is read of a Counter's file.
	fileLimit = 16 << 20
)

// entry is what is kept of a workspace.
type entry struct {
	Count
	Commit string        `json:"commit"`              // of the base, as it was compared
	Start  string        `json:"start,omitempty"`     // of a workspace elsewhere: the commit that it was made from
	Took   time.Duration `json:"took_ns"`             // by the count
	Refs   uint64        `json:"refs"`                // digest of the stamps of HEAD and the base
	Tree   uint64        `json:"tree"`                // digest of the stamps of the index and of Watch
	Watch  []string      `json:"watch,omitempty"`     // files and directories, relative to the workspace
	Away   bool          `json:"elsewhere,omitempty"` // the workspace is not on this machine
	Racy   bool          `json:"racy,omitempty"`      // something may have changed after the count without another stamp
	own    bool          // counted by this Counter
}

// Counter counts changes, and remembers the counts. It can be used from many goroutines.
type Counter struct {
	path string
	now  func() time.Time

	mu    sync.Mutex
	read  bool
	known map[string]entry // by the path of the workspace
}

// NewCounter returns a counter that keeps its counts in the data directory, if that exists.
func NewCounter(dataDir string) *Counter {
	return &Counter{path: filepath.Join(dataDir, FileName), now: time.Now}
}

// Known returns the last count of the workspace of a checkout, or nil if there is none.
func (c *Counter) Known(co session.Checkout) *Count {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	if e, ok := c.known[co.Path]; ok && co.Git {
		return &e.Count
	}
	return nil
}

// load reads the file. c.mu is held.
func (c *Counter) load() {
	if !c.read {
		c.read, c.known = true, c.file()
	}
}

// file returns what the file has. What is damaged is counted again.
func (c *Counter) file() map[string]entry {
	all := map[string]entry{}
	b, _, err := rundir.ReadFile(c.path, fileLimit)
	if err != nil || json.Unmarshal(b, &all) != nil {
		return map[string]entry{}
	}
	return all
}

// Refresh counts the changes of those workspaces in which something may have changed, and
// of all if always is true. It returns how many numbers have changed, when it has counted
// or ctx ends.
func (c *Counter) Refresh(ctx context.Context, always bool, all ...Workspace) (differ int) {
	c.mu.Lock()
	c.load()
	old := make([]*entry, len(all))
	for i, w := range all {
		if e, ok := c.known[w.Checkout.Path]; ok {
			old[i] = &e
		}
	}
	c.mu.Unlock()
	counted := c.count(ctx, always, all, old)
	if len(counted) == 0 {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for path, e := range counted {
		if was, ok := c.known[path]; !ok || was.Changes != e.Changes || was.Base != e.Base {
			differ++
		}
		c.known[path] = e
	}
	c.save()
	return differ
}

// save writes the file, with the counts of other processes since it was read, and without
// workspaces that no longer exist. c.mu is held. If it cannot be written, the next command counts
// again.
func (c *Counter) save() {
	for path, e := range c.file() {
		if e.At.After(c.known[path].At) {
			c.known[path] = e
		}
	}
	for path, e := range c.known {
		if _, err := os.Lstat(path); err != nil && !e.Away {
			delete(c.known, path)
		}
	}
	if b, err := json.Marshal(c.known); err == nil {
		_ = rundir.WriteFile(c.path, b, false)
	}
}

// count returns the new entries of the workspaces that were counted.
func (c *Counter) count(ctx context.Context, always bool, all []Workspace, old []*entry) map[string]entry {
	counted := map[string]entry{}
	bases := basesOf(all)
	aged := agedAtOnce
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, w := range all {
		from, ok := bases[w.Repo]
		if !ok || !w.Checkout.Git || w.Checkout.Err != nil || w.Git == nil {
			continue
		}
		base := from.Base(w.Branch, w.Declared)
		now := c.now()
		s := look(w, base, old[i], now)
		if !always && old[i] != nil {
			switch old[i].reason(s, base.Name, w.MovedAt, now) {
			case unchanged:
				continue
			case tooOld:
				if aged--; aged < 0 {
					continue
				}
			}
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if e, err := c.one(ctx, w, base, s, old[i]); err == nil {
				mu.Lock()
				counted[w.Checkout.Path] = e
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return counted
}

// basesOf returns the bases of the repositories of workspaces.
func basesOf(all []Workspace) map[string]git.Bases {
	bases := map[string]git.Bases{}
	for _, w := range all {
		if _, read := bases[w.Repo]; !read && w.Repo != "" {
			if b, err := git.BasesOf(w.Repo); err == nil {
				bases[w.Repo] = b
			}
		}
	}
	return bases
}

// one counts one workspace.
func (c *Counter) one(ctx context.Context, w Workspace, base git.Base, s stamps, old *entry) (entry, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := c.now()
	e := entry{Refs: s.refs, own: true}
	n, within, files, err := w.count(ctx, base, s, old)
	if err != nil {
		return e, err
	}
	e.Count, e.Commit = Count{n, base.Name, base.FetchedAt(w.Checkout.GitDir), began}, within.Commit
	e.Took = c.now().Sub(began)
	if e.Away = w.Elsewhere; e.Away {
		e.Start = within.Start
	} else {
		e.Watch = watched(w.Checkout.Path, files)
	}
	// Stamps from after the count: what changed during it is counted again, because it
	// is not settled.
	after := look(w, base, &e, began)
	e.Tree, e.Racy = after.tree, after.refs != s.refs || !after.settled
	return e, nil
}

// count counts the changes and commits of a workspace. It returns the base as it was compared, and the
// files that differ, if they are on this machine.
func (w Workspace) count(ctx context.Context, base git.Base, s stamps, old *entry) (n git.Changes, within git.Base, files []string, err error) {
	if w.Elsewhere {
		start := ""
		if old != nil {
			start = old.Start
		}
		n, within, err = w.countElsewhere(ctx, base, start)
		return n, within, nil, err
	}
	within, ahead, behind := base, 0, 0
	var uncounted error
	var wg sync.WaitGroup
	if old != nil && old.Refs == s.refs && !old.Racy && old.Base == base.Name {
		within.Commit, ahead, behind = old.Commit, old.Ahead, old.Behind
	} else {
		if within, err = w.within(ctx, base); err != nil {
			return n, within, nil, err
		}
		wg.Go(func() { ahead, behind, uncounted = w.apart(ctx, base, within) })
	}
	n, files, err = git.CountChanges(ctx, w.Git, within)
	wg.Wait()
	n.Ahead, n.Behind = ahead, behind
	return n, within, files, errors.Join(err, uncounted)
}

// watched returns the files and directories whose stamps show most changes: the files that
// differ, the directories that they are in, the top and its directories.
func watched(top string, files []string) []string {
	all, seen := []string{"."}, map[string]bool{".": true, ".git": true}
	add := func(name string) {
		if filepath.IsLocal(name) && !seen[name] {
			seen[name] = true
			all = append(all, name)
		}
	}
	for _, name := range files[:min(len(files), mostFiles)] {
		name = filepath.Clean(filepath.FromSlash(name))
		add(name)
		add(filepath.Dir(name))
	}
	for _, name := range stamp.Directories(top) {
		add(name)
	}
	return all
}

// stamps are the digests of the stamps that a count depends on.
type stamps struct {
	refs, tree uint64
	settled    bool // a change after the time of the look changes them
}

// look returns the stamps of a workspace now. Of one elsewhere, the runtime has read those of its files.
func look(w Workspace, base git.Base, old *entry, at time.Time) (s stamps) {
	co := w.Checkout
	s.refs, s.settled = stamp.Digest(at, append([]string{
		filepath.Join(co.GitDir, "HEAD"), filepath.Join(co.Repo, "packed-refs"), filepath.Join(co.Repo, "refs", "heads", filepath.FromSlash(co.Branch)),
	}, base.Files...)...)
	if w.Elsewhere {
		s.tree, s.settled = w.Stamp, s.settled && w.Stamp != 0
		return s
	}
	files := []string{filepath.Join(co.GitDir, "index")}
	if old != nil {
		for _, name := range old.Watch {
			files = append(files, strings.TrimSuffix(co.Path+string(filepath.Separator)+name, string(filepath.Separator)+"."))
		}
	}
	tree, settled := stamp.Digest(at, files...)
	s.tree, s.settled = tree, s.settled && settled
	return s
}

// verdict is whether a workspace is to be counted again.
type verdict int

const (
	unchanged verdict = iota
	changed
	tooOld
)

// reason decides whether a workspace with the stamps is to be counted again.
func (e *entry) reason(s stamps, base string, movedAt, now time.Time) verdict {
	age := now.Sub(e.At)
	differs := e.Refs != s.refs || e.Tree != s.tree || e.Racy || e.Base != base
	// Runtimes give the time of the last output in seconds.
	moved := !movedAt.IsZero() && movedAt.Add(time.Second).After(e.At)
	switch {
	case age < 0: // the clock was set back
		return changed
	case e.own && age < share*e.Took:
		return unchanged
	case differs, moved && age > outputDelay:
		return changed
	case age > maxAge:
		return tooOld
	}
	return unchanged
}
