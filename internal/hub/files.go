package hub

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// Files wakes the hub when watched files are written, such as the state. It watches their
// folders, since files are also replaced.
type Files struct {
	mu      sync.Mutex
	watcher *fsnotify.Watcher // nil: not running
	wanted  map[string]bool   // files
	folders map[string]bool   // watched
}

// Watch sets the files to watch.
func (f *Files) Watch(w Watched) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wanted = make(map[string]bool, len(w.Files))
	for _, path := range w.Files {
		f.wanted[path] = true
	}
	f.sync()
}

// sync watches the folders of the wanted files. If the system's watches are used up, the
// rest is left to the sweep. The caller holds the lock.
func (f *Files) sync() {
	if f.watcher == nil {
		return
	}
	wanted := map[string]bool{}
	for path := range f.wanted {
		dir := filepath.Dir(path)
		wanted[dir] = true
		if !f.folders[dir] && f.watcher.Add(dir) == nil {
			f.folders[dir] = true
		}
	}
	for dir := range f.folders {
		if !wanted[dir] {
			_ = f.watcher.Remove(dir) // the folder may be gone
			delete(f.folders, dir)
		}
	}
}

// Run calls wake for each write until ctx ends.
func (f *Files) Run(ctx context.Context, wake func()) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch files: %w", err)
	}
	f.mu.Lock()
	f.watcher, f.folders = w, map[string]bool{}
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
		case e, ok := <-w.Events:
			if !ok {
				return nil
			}
			if f.counts(e) {
				wake()
			}
		case err, ok := <-w.Errors:
			if !ok {
				return nil
			}
			if err != nil { // events may have been lost
				wake()
			}
		}
	}
}

// counts reports whether an event is a write to a wanted file.
func (f *Files) counts(e fsnotify.Event) bool {
	if !e.Has(fsnotify.Write) && !e.Has(fsnotify.Create) && !e.Has(fsnotify.Rename) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wanted[e.Name]
}
