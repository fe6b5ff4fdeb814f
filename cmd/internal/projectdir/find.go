// Package projectdir finds the project that contains a directory.
package projectdir

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// dataDir is the default data directory.
const dataDir = ".agentform"

// Found is the project that contains a directory.
type Found struct {
	Dir       string          // the project's directory
	Workspace bool            // the directory is in a workspace of the project
	Session   session.Address // the session of the workspace; empty: none, or not in the state
}

// Find returns the project that contains dir, an absolute path.
//
// A workspace belongs to the project that created it, even if it has a manifest, as a checkout has
// all files that are checked in. Any other directory belongs to the nearest directory, itself or
// above, with a manifest or a state, or else to itself.
func Find(dir string) Found {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Found{Dir: dir}
	}
	if f, ok := fromDataDir(real); ok {
		return f
	}
	if f, ok := fromCheckout(real); ok {
		return f
	}
	if above, ok := nearest(real); ok && above != real {
		return Found{Dir: above}
	}
	return Found{Dir: dir} // as given, with its links
}

// fromDataDir finds the project of a directory below workspaces/ of a data directory. It recognizes
// a data directory with the default name without a state.
func fromDataDir(dir string) (Found, bool) {
	for data := range parents(dir) {
		below, err := filepath.Rel(layout.Data{Dir: data}.Workspaces(), dir)
		if err != nil || below == "." || !filepath.IsLocal(below) {
			continue
		}
		if filepath.Base(data) != dataDir && !isFile(filepath.Join(data, "state.json")) {
			continue
		}
		r := record(data, dir)
		project, ok := filepath.Dir(data), filepath.Base(data) == dataDir
		if !ok && r.Owner.DataDir == data {
			project, ok = r.Owner.Project, true
		} else if !ok {
			project, ok = nearest(project)
		}
		if ok {
			return Found{Dir: project, Workspace: true, Session: r.Address}, true
		}
	}
	return Found{}, false
}

// fromCheckout finds the project of a directory in a git worktree or clone by the state in the
// repository that the checkout comes from.
func fromCheckout(dir string) (Found, bool) {
	for top := range parents(dir) {
		info, err := os.Lstat(filepath.Join(top, ".git"))
		if err != nil {
			continue
		}
		main := git.Origin(top)
		if info.Mode().IsRegular() {
			common, err := git.CommonDir(top)
			if err != nil {
				return Found{}, false
			}
			main = filepath.Dir(common) // of a bare repository: its parent directory
		}
		below, err := filepath.Rel(top, dir)
		if err != nil || main == "" {
			return Found{}, false
		}
		for project := range parents(filepath.Join(main, below)) {
			if r := record(filepath.Join(project, dataDir), dir); r.ID != "" {
				return Found{Dir: project, Workspace: true, Session: r.Address}, true
			}
			if project == main {
				break
			}
		}
		return Found{}, false
	}
	return Found{}, false
}

// record returns the session whose workspace contains dir. It has no ID if the state in the data
// directory has no such session.
func record(data, dir string) session.Record {
	path := filepath.Join(data, "state.json")
	var s state.State
	if isFile(path) {
		s, _ = state.Read(path) // without it no session is known
	}
	for _, r := range s.Sessions {
		if !r.Tree.Created {
			continue
		}
		if real, err := filepath.EvalSymlinks(r.Tree.Path); err == nil {
			if below, err := filepath.Rel(real, dir); err == nil && filepath.IsLocal(below) {
				return r
			}
		}
	}
	return session.Record{}
}

// nearest returns dir, or the nearest directory above it, with a manifest or a state.
//
// As git does, it ignores files above dir that belong to other users, since anyone could put a
// manifest in a directory such as /tmp. The owner of dir and root are trusted.
func nearest(dir string) (string, bool) {
	home, err := os.Stat(dir)
	if err != nil {
		return "", false
	}
	for d := range parents(dir) {
		names := []string{filepath.Join(dataDir, "state.json")}
		entries, _ := os.ReadDir(d) // unreadable: nothing found in it
		for _, e := range entries {
			if config.IsManifest(e.Name()) {
				names = append(names, e.Name())
			}
		}
		for _, name := range names {
			info, err := os.Stat(filepath.Join(d, name))
			if err == nil && info.Mode().IsRegular() && (d == dir || trusted(uid(info), uid(home), os.Geteuid())) {
				return d, true
			}
		}
	}
	return "", false
}

// trusted reports whether the user me may use a file of owner above a directory of home.
func trusted(owner, home, me int) bool {
	return owner == home || owner == 0 || owner == me
}

func uid(info os.FileInfo) int {
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// parents yields dir, which is clean and absolute, and each directory above it.
func parents(dir string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for yield(dir) {
			above := filepath.Dir(dir)
			if above == dir {
				return
			}
			dir = above
		}
	}
}
