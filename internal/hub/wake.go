package hub

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Waker makes the hub look before its next sweep. It may miss events.
type Waker interface {
	// Watch sets what to watch. It returns immediately.
	Watch(Watched)
	// Run calls wake, from any goroutine, until ctx ends. The error ends the watch.
	Run(ctx context.Context, wake func()) error
}

// Watched is what wakers watch.
type Watched struct {
	// Agents are the processes of the agents that live on this host.
	Agents []session.Process
	// Files are the state, the HEADs of the workspaces, what the hooks of the runs
	// report, and the exits of runs in containers and of those that may be ending.
	Files []string
}

func watched(s *Snapshot, statePath, dataDir string) Watched {
	w := Watched{Files: []string{statePath, state.JournalOf(statePath)}}
	for _, k := range s.Sessions {
		if co := k.Checkout; co != nil && co.GitDir != "" {
			w.Files = append(w.Files, filepath.Join(co.GitDir, "HEAD"))
		}
		l := k.Live
		if l == nil || l.Liveness != session.Alive && l.Liveness != session.Unknown {
			continue
		}
		run, alive := layout.Data{Dir: dataDir}.Run(l.Mark.Run), l.Liveness == session.Alive
		if alive {
			w.Files = append(w.Files, filepath.Join(run, "signals.jsonl"))
		}
		if !alive || !l.Location.Traits().HostProcesses { // a shim may still end what the agent left behind
			w.Files = append(w.Files, filepath.Join(run, "exit"))
		} else if l.Agent.PID > 0 {
			w.Agents = append(w.Agents, l.Agent)
		}
	}
	return w
}

// subscriptions wakes the hub when a runtime reports an event.
type subscriptions struct {
	engine     *engine.Engine
	log        *slog.Logger
	work       *sync.WaitGroup
	wake       func()
	subscribed map[string]bool // runtimes by key, also those that report nothing
}

// retryInterval is the wait before a runtime that stopped reporting is subscribed to
// again: a daemon restarts within seconds.
const retryInterval = 5 * time.Second

// update subscribes, once, to each runtime that holds sessions and reports events.
func (x *subscriptions) update(ctx context.Context, s *Snapshot) {
	for _, k := range s.Sessions {
		spec := k.Record.Spec.Runtime
		if x.subscribed[spec.Key()] {
			continue
		}
		rt, err := x.engine.Opened(s.Lineage, spec)
		if err != nil {
			continue // the look reported it, and the next one tries again
		}
		x.subscribed[spec.Key()] = true
		if n, can := rt.(session.EventSource); can {
			x.work.Go(func() { x.follow(ctx, n, spec) })
		}
	}
}

// follow wakes the hub for each event, and when it subscribes again.
func (x *subscriptions) follow(ctx context.Context, n session.EventSource, spec session.RuntimeSpec) {
	for {
		err := n.Events(ctx, x.wake)
		if ctx.Err() == nil {
			x.log.Warn("a runtime reports no events: changes are seen by polling", "runtime", spec.Key(), "error", err)
		}
		if !sleep.For(ctx, retryInterval) {
			return
		}
		x.wake()
	}
}

// Files wakes the hub when watched files are written, such as the state. It watches their
// directories, since files are also replaced.
type Files struct {
	mu      sync.Mutex
	watcher *fsnotify.Watcher // nil: not running
	wake    func()
	wanted  map[string]bool // files
	folders map[string]bool // watched
}

func (f *Files) Watch(w Watched) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wanted = make(map[string]bool, len(w.Files))
	for _, path := range w.Files {
		f.wanted[path] = true
	}
	f.sync()
}

// sync watches the directories of the wanted files, and wakes the hub for new ones: the files
// may have been written since it looked. If the system's watches are used up, the sweep
// sees the rest. The caller holds the lock.
func (f *Files) sync() {
	if f.watcher == nil {
		return
	}
	wanted, began := map[string]bool{}, false
	for path := range f.wanted {
		dir := filepath.Dir(path)
		wanted[dir] = true
		if !f.folders[dir] && f.watcher.Add(dir) == nil {
			f.folders[dir], began = true, true
		}
	}
	if began {
		f.wake()
	}
	for dir := range f.folders {
		if !wanted[dir] {
			_ = f.watcher.Remove(dir) // the directory may be gone
			delete(f.folders, dir)
		}
	}
}

func (f *Files) Run(ctx context.Context, wake func()) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch files: %w", err)
	}
	f.mu.Lock()
	f.watcher, f.wake, f.folders = w, wake, map[string]bool{}
	f.sync()
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.watcher = nil
		_ = w.Close()
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-w.Events:
			f.mu.Lock()
			wanted := f.wanted[e.Name]
			f.mu.Unlock()
			if wanted && e.Has(fsnotify.Write|fsnotify.Create|fsnotify.Rename) {
				wake()
			}
		case err := <-w.Errors:
			if err != nil { // events may have been lost
				wake()
			}
		}
	}
}
