package git

import (
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/stamp"
	"github.com/agentform/agentform/session"
)

// LookCache caches the results of looks, for a hub: after two equal ones it returns the same
// until a file changes that they read; see lasts. If a repository was moved and replaced by
// a link, it returns the old path until something else changes.
type LookCache struct {
	look func(string) session.Checkout
	stat func(string) (stamp.Stamp, error) // of the directory
	now  func() time.Time

	mu    sync.Mutex
	known map[string]looked
}

type looked struct {
	checkout session.Checkout
	files    files
	holds    bool // while the files do not change
}

const mostLooked = 20_000

// NewLookCache returns a cache for Look.
func NewLookCache() *LookCache { return &LookCache{look: Look, stat: stamp.Stat, now: time.Now} }

// NewCloneLookCache returns a cache for LookClone.
func NewCloneLookCache() *LookCache {
	return &LookCache{look: LookClone, stat: stamp.Lstat, now: time.Now}
}

// Look inspects a path, unless nothing has changed.
func (l *LookCache) Look(path string) session.Checkout {
	l.mu.Lock()
	before, known := l.known[path]
	l.mu.Unlock()
	began := l.now()
	var now files
	if known {
		now = l.files(path, before.checkout)
		if before.holds && now == before.files {
			return before.checkout
		}
	}
	co := l.look(path)
	x := looked{checkout: co, files: now,
		holds: known && lasts(co) && co == before.checkout && now.settled(began)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil || len(l.known) >= mostLooked {
		l.known = map[string]looked{}
	}
	l.known[path] = x
	return co
}

// files are the stamps of what a look reads: the directory, its .git, HEAD, of a linked worktree
// commondir, locked and the repository, and the file of the branch or packed-refs.
type files [7]stamp.Stamp

func (l *LookCache) files(path string, co session.Checkout) (f files) {
	f[0], _ = l.stat(path)
	if !co.Git {
		return f // a new file changes the directory
	}
	f[0] = f[0].Place()
	f[1], _ = stamp.Lstat(filepath.Join(path, ".git"))
	f[2], _ = stamp.Lstat(filepath.Join(co.GitDir, "HEAD"))
	var err error
	if f[6], err = stamp.Lstat(filepath.Join(co.Repo, headsPrefix+co.Branch)); err != nil {
		f[6], _ = stamp.Lstat(filepath.Join(co.Repo, "packed-refs"))
	}
	if co.GitDir == filepath.Join(path, ".git") {
		f[1] = f[1].Place() // a directory, which git changes all the time
		return f
	}
	f[3], _ = stamp.Lstat(filepath.Join(co.GitDir, "commondir"))
	f[4], _ = stamp.Lstat(filepath.Join(co.GitDir, "locked"))
	f[5], _ = stamp.Stat(co.Repo)
	f[5] = f[5].Place()
	return f
}

// settled reports whether changes of the files after a time are visible.
func (f files) settled(at time.Time) bool {
	for _, s := range f {
		if !s.Settled(at) {
			return false
		}
	}
	return true
}

// lasts reports whether the result of a look depends on the files alone.
func lasts(co session.Checkout) bool {
	if !co.Exists || co.Err != nil || co.Busy != "" || co.Partial || co.Git && co.Branch == "" {
		return false
	}
	if !co.Git {
		return true
	}
	if ref, err := readSmall(filepath.Join(co.Repo, headsPrefix+co.Branch)); err == nil && strings.HasPrefix(ref, "ref:") {
		return false // its target may change, not the file
	}
	head, err := readSmall(filepath.Join(co.GitDir, "HEAD"))
	return err != nil || !strings.HasSuffix(head, headsPrefix+".invalid") // the link of an old git is fine
}
