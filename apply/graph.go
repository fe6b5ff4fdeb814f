package apply

import (
	"slices"

	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// link lays down what has to wait for what. A session that starts waits for
// what it depends on, and for the end of what is in its way; a session that ends
// waits for the end of what depends on it.
func (r *run) link() {
	at := make(map[session.Address]*job, len(r.jobs))
	ending := map[string][]*job{} // by what they hold
	for _, j := range r.jobs {
		at[j.change.Address] = j
		if j.ends() {
			for _, key := range holds(j.change.Before.Tree) {
				ending[key] = append(ending[key], j)
			}
		}
	}
	for _, j := range r.jobs {
		switch {
		case queues(*j.change):
			for _, a := range j.change.After.DependsOn {
				if d := at[a]; d != nil && (d.starts() || waits(*d.change) || queues(*d.change)) {
					j.waitFor(d)
				}
			}
		case j.starts():
			for _, a := range j.change.After.DependsOn {
				if d := at[a]; d != nil && (d.starts() || d.mends() || waits(*d.change)) {
					j.waitFor(d)
					d.awaited = d.awaited || d.starts()
				}
			}
			for _, key := range holds(session.WorkspaceState{Path: j.change.After.Workspace.Path, Repo: j.change.After.Workspace.Repo, Branch: j.change.After.Branch}) {
				for _, d := range ending[key] {
					j.waitFor(d)
				}
			}
		case j.ends():
			for _, a := range j.change.Before.Spec.DependsOn {
				if d := at[a]; d != nil && d.ends() {
					d.waitFor(j)
				}
			}
		}
	}
}

// holds is what no two sessions can have at once: a folder, and a branch of a
// repository.
func holds(t session.WorkspaceState) []string {
	var keys []string
	if t.Path != "" {
		keys = append(keys, "path "+t.Path)
	}
	if t.Repo != "" && t.Branch != "" {
		keys = append(keys, "branch "+t.Repo+" "+t.Branch)
	}
	return keys
}

// starts reports whether the job brings a session to life.
func (j *job) starts() bool {
	start := []plan.Action{plan.Create, plan.Restart, plan.Replace}
	return slices.Contains(start, j.change.Action) || slices.Contains(start, j.change.Then)
}

// mends reports whether the job settles a session that lives and that an earlier
// action failed on: it may not be ready yet.
func (j *job) mends() bool {
	return j.change.Action == plan.Update && j.change.Before != nil && j.change.Before.Trouble != ""
}

// ends reports whether the job takes a session away for good or for now.
func (j *job) ends() bool {
	switch j.change.Action {
	case plan.Delete, plan.Stop, plan.Forget:
		return j.change.Before != nil
	}
	return false
}

func (j *job) waitFor(d *job) {
	if d == j || slices.Contains(d.then, j) {
		return
	}
	d.then = append(d.then, j)
	j.waiting++
}
