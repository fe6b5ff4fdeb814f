package docker

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Moved makes the containers of a data directory that was moved reachable from its new
// place. A container has what it shares with this machine at the old paths, for as long
// as it exists: they are kept with it, and the links to its runs lead to the new place.
func Moved(dataDir string) error {
	links, err := os.ReadDir(filepath.Join(dataDir, "runs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	r := &Runtime{config: Config{DataDir: dataDir}}
	for _, e := range links {
		link := r.runDir(e.Name())
		to, err := os.Readlink(link)
		if err != nil {
			continue // a run that is in no container
		}
		id := filepath.Base(filepath.Dir(filepath.Dir(to)))
		f := r.shared(id)
		folder := filepath.Join(f.runs, e.Name())
		old, ok := strings.CutSuffix(to, filepath.Join("/containers", id, "runs", e.Name()))
		if _, err := os.Lstat(folder); !ok || err != nil || to == folder {
			continue
		}
		if k, err := f.kept(); err == nil && k.Runs == "" {
			k.Runs = filepath.Join(old, "runs")
			if err := f.keep(k); err != nil {
				return err
			}
		}
		if err := errors.Join(os.Remove(link), os.Symlink(folder, link)); err != nil {
			return err
		}
	}
	return nil
}

// runIn returns the directory of a session's run as its container has it.
func (r *Runtime) runIn(id, run string) string {
	if k, err := r.shared(id).kept(); err == nil && k.Runs != "" {
		return filepath.Join(k.Runs, run)
	}
	return r.runDir(run)
}

// moved reports whether a session's container was made before its project was moved. It
// cannot be started again: what it shares is no longer where it was.
func (r *Runtime) moved(id string) bool {
	k, err := r.shared(id).kept()
	return err == nil && k.Runs != ""
}
