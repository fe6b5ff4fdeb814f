package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/stamp"
)

// ReadLiveness is ReadFacts for a look at many runs at once: it reads only who runs and
// how it ended, a third of the work, and leaves Spec and Socket empty.
func ReadLiveness(runDir string) (Facts, error) {
	f, _, err := glance(runDir)
	return f, err
}

// glance returns besides what the run's file was when it was read; zero: the run does
// not go on by what it says.
func glance(runDir string) (Facts, stamp.Stamp, error) {
	b, was, err := ReadFile(filepath.Join(runDir, RunFile), factLimit)
	var r running
	if err != nil || json.Unmarshal(b, &r) != nil || r.Agent.PID <= 0 || r.Shim.PID < 0 {
		f, err := readFacts(runDir, false)
		return f, stamp.Stamp{}, err
	}
	f := Facts{Claimed: true, Shim: r.Shim, Agent: r.Agent, BootID: r.BootID, StartedAt: r.StartedAt}
	if !ended(runDir) {
		return f, was, nil
	}
	if f.Exit, err = readExit(runDir); err != nil {
		err = fmt.Errorf("read run: %w", err)
	}
	return f, stamp.Stamp{}, err
}

// ended reports whether something stands where a run's exit is written.
func ended(runDir string) bool {
	var stat syscall.Stat_t
	return !errors.Is(syscall.Lstat(filepath.Join(runDir, ExitFile), &stat), os.ErrNotExist)
}

// Cache is Glance for who looks again and again, as a hub does: what a run's file
// says is read again only when it has been written. The zero value is ready, and may
// be used from many goroutines.
type Cache struct {
	mu    sync.Mutex
	known map[string]cached
	ahead time.Duration // of the clock, for tests: what has changed just now has settled
}

type cached struct {
	file  stamp.Stamp
	facts Facts
}

// cacheLimit bounds what is remembered, of runs that nobody looks at any more among
// others: then it begins anew.
const cacheLimit = 20_000

// Glance is as the function of that name.
func (g *Cache) Glance(runDir string) (Facts, error) {
	g.mu.Lock()
	before, known := g.known[runDir]
	g.mu.Unlock()
	if known {
		if now, err := stamp.Lstat(filepath.Join(runDir, RunFile)); err == nil && now == before.file && !ended(runDir) {
			return before.facts, nil
		}
	}
	began := time.Now().Add(g.ahead)
	f, file, err := glance(runDir)
	g.mu.Lock()
	defer g.mu.Unlock()
	if file == (stamp.Stamp{}) || !file.Settled(began) {
		delete(g.known, runDir)
		return f, err
	}
	if g.known == nil || len(g.known) >= cacheLimit {
		g.known = map[string]cached{}
	}
	g.known[runDir] = cached{file, f}
	return f, err
}
