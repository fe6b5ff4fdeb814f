package layout

import "path/filepath"

// Data is a project's data directory. Its methods return the paths in it.
type Data struct{ Dir string }

// Of returns the data directory of a workspace that has its default path there:
// DIR/workspaces/NAME/BRANCH. ok is false for any other path.
func Of(workspace string) (d Data, ok bool) {
	in := filepath.Dir(filepath.Dir(workspace))
	d.Dir = filepath.Dir(in)
	ok = filepath.IsAbs(workspace) && filepath.Clean(workspace) == workspace && in == d.Workspaces() && d.Dir != filepath.Dir(d.Dir)
	return d, ok
}

// Runs returns the directory of all runs.
func (d Data) Runs() string { return filepath.Join(d.Dir, "runs") }

// Run returns the directory of a run.
func (d Data) Run(id string) string { return filepath.Join(d.Runs(), id) }

// Sessions returns the directory of sessions' files, by role and id.
func (d Data) Sessions() string { return filepath.Join(d.Dir, "agents") }

// Workspaces returns the directory of the worktrees, by session and branch.
func (d Data) Workspaces() string { return filepath.Join(d.Dir, "workspaces") }

// Containers returns the directory of containers' files, by the session's id.
func (d Data) Containers() string { return filepath.Join(d.Dir, "containers") }

// Container returns what a container has, as its agent sees the data directory.
func (d Data) Container(id string) Data { return Data{filepath.Join(d.Containers(), id)} }

// Copies returns the directory of copies of agents' session files that only containers and pods
// have, by the session's id.
func (d Data) Copies() string { return filepath.Join(d.Dir, "copies") }

// Copy returns the directory of copies of one session.
func (d Data) Copy(id string) string { return filepath.Join(d.Copies(), id) }

// Blobs returns the directory of prompts.
func (d Data) Blobs() string { return filepath.Join(d.Dir, "blobs") }

// Program returns the path of a copy of the program that is at another path.
func (d Data) Program(path string) string { return filepath.Join(d.Programs(), filepath.Base(path)) }

// Programs returns the directory of the shims.
func (d Data) Programs() string { return filepath.Join(d.Dir, "bin") }
