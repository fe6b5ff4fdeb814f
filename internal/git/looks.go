package git

import (
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/stamp"
	"github.com/agentform/agentform/session"
)

// Looks is a look for who looks again and again, as a hub does: what two looks told
// alike is taken to be so until a file has changed that they read. A checkout whose
// HEAD is on no branch or on one that is a symbolic ref, in which something is under
// way, or whose refs are not files is looked at every time, and so is what is not there. Of a repository that was moved,
// with a link left in its place, the old path is told until something else changes.
// Make it with NewLooks; it may be used from many goroutines.
type Looks struct {
	look func(string) session.Checkout
	stat func(string) (stamp.Stamp, error) // of the folder
	now  func() time.Time

	mu    sync.Mutex
	known map[string]looked
}

// looked is what a look told, and what it read was before.
type looked struct {
	checkout session.Checkout
	files    files
	holds    bool // as long as the files are as they were
}

// mostLooked bounds what is remembered: then it begins anew.
const mostLooked = 20_000

// NewLooks remembers what Look tells.
func NewLooks() *Looks { return &Looks{look: Look, stat: stamp.Stat, now: time.Now} }

// NewCloneLooks remembers what LookClone tells.
func NewCloneLooks() *Looks { return &Looks{look: LookClone, stat: stamp.Lstat, now: time.Now} }

// Look is as the function that is remembered.
func (l *Looks) Look(path string) session.Checkout {
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

// files are those that a look reads: the folder, its .git, HEAD, and of a linked
// worktree commondir, locked and the repository; at last where the branch is: its own
// file, or the file of all that are packed. One that is not there has none.
type files [7]stamp.Stamp

// files stamps what a look read that told this.
func (l *Looks) files(path string, co session.Checkout) (f files) {
	f[0], _ = l.stat(path)
	if !co.Git {
		return f // whatever is made in it changes the folder
	}
	f[0] = f[0].Place()
	f[1], _ = stamp.Lstat(filepath.Join(path, ".git"))
	f[2], _ = stamp.Lstat(filepath.Join(co.GitDir, "HEAD"))
	var err error
	if f[6], err = stamp.Lstat(filepath.Join(co.Repo, headsPrefix+co.Branch)); err != nil {
		f[6], _ = stamp.Lstat(filepath.Join(co.Repo, "packed-refs"))
	}
	if co.GitDir == filepath.Join(path, ".git") {
		f[1] = f[1].Place() // a folder, to which git's work makes no difference
		return f
	}
	f[3], _ = stamp.Lstat(filepath.Join(co.GitDir, "commondir"))
	f[4], _ = stamp.Lstat(filepath.Join(co.GitDir, "locked"))
	f[5], _ = stamp.Stat(co.Repo)
	f[5] = f[5].Place()
	return f
}

// settled reports whether all that happens to the files after a moment can be seen.
func (f files) settled(at time.Time) bool {
	for _, s := range f {
		if !s.Settled(at) {
			return false
		}
	}
	return true
}

// lasts reports whether nothing but the files tells when a look would tell otherwise.
func lasts(co session.Checkout) bool {
	if !co.Exists || co.Err != nil || co.Busy != "" || co.Partial || co.Git && co.Branch == "" {
		return false
	}
	if !co.Git {
		return true
	}
	if ref, err := readSmall(filepath.Join(co.Repo, headsPrefix+co.Branch)); err == nil && strings.HasPrefix(ref, "ref:") {
		return false // where it leads may go, and the file stays
	}
	head, err := readSmall(filepath.Join(co.GitDir, "HEAD"))
	return err != nil || !strings.HasSuffix(head, headsPrefix+".invalid") // an old git's link is as good as a file
}
