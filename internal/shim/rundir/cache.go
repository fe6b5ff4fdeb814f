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

// ReadLiveness is ReadFacts without Spec and Socket, for looks at many runs at once: it does a
// third of the work.
func ReadLiveness(runDir string) (Facts, error) {
	f, _, err := glance(runDir)
	return f, err
}

// glance also returns the stamp of the run's file; zero: the facts are not those of the file alone.
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

// ended reports whether a file exists where a run's exit is written.
func ended(runDir string) bool {
	var stat syscall.Stat_t
	return !errors.Is(syscall.Lstat(filepath.Join(runDir, ExitFile), &stat), os.ErrNotExist)
}

// Cache is ReadLiveness for repeated looks, such as a hub's: it reads a run's file again only when
// the file has changed. The zero value is ready to use, and methods may be called concurrently.
type Cache struct {
	mu    sync.Mutex
	known map[string]cached
	ahead time.Duration // added to the clock, for tests: recent changes count as settled
}

type cached struct {
	file  stamp.Stamp
	facts Facts
}

// cacheLimit bounds the remembered runs, some of which nobody reads any more. A full cache is
// emptied.
const cacheLimit = 20_000

// Glance is ReadLiveness with the cache.
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
