package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// link makes jobs wait for each other. Starts wait for their dependencies, for the end of what is
// in their way, and for the end of finished sessions, whose places they may take; ends wait for the
// end of their dependents.
func link(jobs []*job) {
	at := make(map[session.Address]*job, len(jobs))
	ending := map[string][]*job{} // by what they hold
	var done []*job
	for _, j := range jobs {
		at[j.change.Address] = j
		if j.change.Finishes != nil {
			done = append(done, j)
		}
		if ends(j.change) {
			for _, key := range holds(j.change.Before.Tree) {
				ending[key] = append(ending[key], j)
			}
		}
	}
	for _, j := range jobs {
		c := j.change
		switch {
		case queues(*c):
			for _, a := range c.After.DependsOn {
				if d := at[a]; d != nil && (starts(d.change) || waits(*d.change) || queues(*d.change)) {
					j.waitFor(d)
				}
			}
		case starts(c):
			for _, a := range c.After.DependsOn {
				if d := at[a]; d != nil && (starts(d.change) || repairs(d.change) || waits(*d.change)) {
					j.waitFor(d)
					d.awaited = d.awaited || starts(d.change)
				}
			}
			for _, d := range done {
				j.waitFor(d)
			}
			for _, key := range holds(session.WorkspaceState{Path: c.After.Workspace.Path, Repo: c.After.Workspace.Repo, Branch: c.After.Branch}) {
				for _, d := range ending[key] {
					j.waitFor(d)
				}
			}
		case ends(c):
			for _, a := range c.Before.Spec.DependsOn {
				if d := at[a]; d != nil && ends(d.change) {
					d.waitFor(j)
				}
			}
		}
	}
}

func (j *job) waitFor(d *job) {
	if d == j || slices.Contains(d.then, j) {
		return
	}
	d.then = append(d.then, j)
	j.waiting++
}

// holds returns what no two sessions can have at once.
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

func starts(c *plan.Change) bool {
	start := []plan.Action{plan.Create, plan.Restart, plan.Replace}
	return slices.Contains(start, c.Action) || slices.Contains(start, c.Then)
}

// repairs reports whether a change settles a live session whose agent may not be ready yet.
func repairs(c *plan.Change) bool {
	return c.Action == plan.Update && c.Before != nil && c.Before.LastError != ""
}

func ends(c *plan.Change) bool {
	return c.Before != nil && (c.Action == plan.Delete || c.Action == plan.Stop || c.Action == plan.Forget)
}

// waits reports whether a change is skipped because what it depends on failed.
func waits(c plan.Change) bool { return c.Action == plan.Hold && c.Skips && c.Approved }

func priority(c *plan.Change) int {
	switch {
	case c.After != nil:
		return c.After.Priority
	case c.Before != nil:
		return c.Before.Spec.Priority
	}
	return 0
}

// share is how many jobs that only use a tmux server count as one, since a server answers many at
// once.
const share = 10

// clusterShare is the weight of a job whose session is in a cluster: this machine only waits
// for it.
const clusterShare = share / 5

// weight returns what a job has of the parallelism, in shares.
func weight(j *job) int {
	in := func(s *session.Spec) bool { return s == nil || s.Runtime.Traits().Scheduled }
	switch {
	case light(j):
		return 1
	case in(j.change.After) && (j.change.Before == nil || in(&j.change.Before.Spec)):
		return clusterShare
	}
	return share
}

// light reports whether a job only queries a server: no workspace is created, set up or removed,
// nothing is typed, and the agent need not become ready.
func light(j *job) bool {
	c, rec := j.change, j.entry.rec
	if c.After != nil && c.After.Runtime.Traits().Server == "" || c.Before != nil && c.Before.Spec.Runtime.Traits().Server == "" {
		return false
	}
	switch c.Action {
	case plan.Stop, plan.Hold:
		return true
	case plan.Delete:
		return !rec.Tree.Created || rec.Spec.Workspace.OnDestroy != session.RemoveClean
	case plan.Create, plan.Restart:
		s := *c.After
		exists := rec.Tree.Ready
		if c.Action == plan.Create {
			exists = s.Workspace.Mode == session.InPlace || s.Workspace.Mode == session.Plain
		}
		typed := (takesPrompt(s) || c.Fallback != nil) && j.agent().Start(session.StartInput{Spec: s, Prompt: "."}).Paste != ""
		return exists && (len(s.Workspace.Setup) == 0 || rec.Tree.Ready) && !typed && !j.awaited && c.Then == ""
	}
	return false
}

const interruption = "interrupted"

// schedule performs the jobs in the order of their ranks, as many at once as the limit
// allows, in shares. It reports whether ctx or drain interrupted it.
func schedule(ctx context.Context, jobs []*job, limit int, stopOnError bool, drain <-chan struct{}) (interrupted bool) {
	var free []*job // by rank
	push := func(j *job) {
		at, _ := slices.BinarySearchFunc(free, j, func(a, b *job) int { return cmp.Compare(a.rank, b.rank) })
		free = slices.Insert(free, at, j)
	}
	for _, j := range jobs {
		switch {
		case j.outcome != "": // it could not be moved
		case waits(*j.change):
			j.skip(j.change.Detail)
		case j.waiting == 0:
			push(j)
		}
	}
	ended, freed := make(chan *job), make(chan int)
	cancelled := ctx.Done()
	why := "" // no job is started any more
	// busy is the weight of the jobs that work; running counts those that only wait for
	// their last write, too.
	for busy, running := 0, 0; ; {
		select {
		case <-drain:
			why, drain = interruption, nil
		case <-cancelled:
			why, cancelled = interruption, nil
		default:
		}
		for why == "" && len(free) > 0 && busy+free[0].weight <= limit {
			j := free[0]
			free, busy, running = free[1:], busy+j.weight, running+1
			j.idle = func() {
				j.idling = true
				freed <- j.weight
			}
			go func() {
				j.perform(ctx)
				ended <- j
			}()
		}
		if running == 0 {
			break
		}
		select {
		case weight := <-freed:
			busy -= weight
		case j := <-ended:
			running--
			if !j.idling {
				busy -= j.weight
			}
			if j.outcome == Failed {
				j.skipDependents()
				if stopOnError && why == "" {
					why = fmt.Sprintf("not started after the failure of %s", j.change.Address)
				}
				continue
			}
			for _, next := range j.then {
				if next.waiting--; next.waiting == 0 && next.outcome == "" {
					push(next)
				}
			}
		case <-drain:
			why, drain = interruption, nil
		case <-cancelled:
			why, cancelled = interruption, nil
		}
	}
	if why == "" {
		why = "its dependencies form a cycle"
	}
	for _, j := range jobs {
		interrupted = interrupted || j.outcome == "" && why == interruption || j.outcome == Failed && ctx.Err() != nil
		if j.outcome == "" {
			j.skip(why)
		}
	}
	return interrupted
}

// skip skips a job and those that wait for it.
func (j *job) skip(why string) {
	j.outcome, j.detail = Skipped, why
	j.run.journal.emit(j.change.Before, j.entry.event(history.Event{Kind: history.ApplySkipped, Detail: why}))
	j.skipDependents()
}

// skipDependents skips the jobs that wait for one that failed or was skipped.
func (j *job) skipDependents() {
	how := "failed"
	if j.outcome == Skipped {
		how = "was skipped"
	}
	for _, next := range j.then {
		if next.outcome != "" {
			continue
		}
		relation := "depends on"
		switch {
		case ends(j.change) && ends(next.change):
			relation = "is needed by"
		case ends(j.change):
			relation = "waits for the end of"
		}
		next.skip(fmt.Sprintf("%s %s, which %s", relation, j.change.Address, how))
	}
}
