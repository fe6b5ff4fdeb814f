package apply

import (
	"container/heap"
	"context"
	"fmt"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// share is how many sessions that only ask tmux count as one: tmux takes what many
// ask in one go, so they cost the machine little and each other nothing, and one by
// one they would wait for each other's answers.
const share = 10

// weight is how much of what may be done at once the job takes, in shares.
func (j *job) weight() int {
	if j.takes == 0 {
		j.takes = share
		if j.run.Parallelism > 1 && j.light() {
			j.takes = 1
		}
	}
	return j.takes
}

// light reports whether a job does nothing but ask tmux: no workspace is made, set up
// or removed, nothing is typed, and nobody waits for the agent to be ready.
func (j *job) light() bool {
	for _, s := range []*session.Spec{j.change.After, j.wasWanted()} {
		if s != nil && s.Runtime.Traits().Server == "" {
			return false
		}
	}
	switch j.change.Action {
	case plan.Stop, plan.Hold:
		return true
	case plan.Delete:
		return !j.rec.Tree.Created || j.rec.Spec.Workspace.OnDestroy != session.RemoveClean
	case plan.Create, plan.Restart:
		s := *j.change.After
		typed := takesPrompt(s) && j.agent().Start(session.StartInput{Spec: s, Prompt: "."}).Paste != ""
		made := s.Workspace.Mode == session.InPlace || s.Workspace.Mode == session.Plain
		if j.change.Action == plan.Restart {
			made = j.rec.Tree.Ready
		}
		return made && (len(s.Workspace.Setup) == 0 || j.rec.Tree.Ready) && !typed && !j.awaited && j.change.Then == ""
	}
	return false
}

// wasWanted is the recorded spec; nil: the session is not on record.
func (j *job) wasWanted() *session.Spec {
	if j.change.Before == nil {
		return nil
	}
	return &j.change.Before.Spec
}

// schedule carries the jobs out: those that wait for nothing, the first in rank
// first, as many at once as may be.
func (r *run) schedule(ctx context.Context, drain <-chan struct{}) {
	var free ranks
	for _, j := range r.jobs {
		switch {
		case j.outcome != "": // it could not be moved
		case waits(*j.change):
			r.skip(j, j.change.Detail)
		case j.waiting == 0:
			heap.Push(&free, j)
		}
	}
	ended, freed := make(chan *job), make(chan int)
	cancelled := ctx.Done()
	why := "" // nothing new starts
	// busy is the weight of those at work outside; running are those and the ones that
	// only wait for their last record to be on disk.
	limit := share * max(1, r.Parallelism)
	for busy, running := 0, 0; ; {
		select {
		case <-drain:
			why, drain = "interrupted", nil
		case <-cancelled:
			why, cancelled = "interrupted", nil
		default:
		}
		for why == "" && free.Len() > 0 && busy+free[0].weight() <= limit {
			j := heap.Pop(&free).(*job)
			busy, running = busy+j.weight(), running+1
			j.idle = func() {
				j.idling = true
				freed <- j.weight()
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
				busy -= j.weight()
			}
			if j.outcome == Failed {
				r.skipAfter(j)
				if r.StopOnError && why == "" {
					why = fmt.Sprintf("not begun after the failure of %s", j.change.Address)
				}
				continue
			}
			for _, next := range j.then {
				if next.waiting--; next.waiting == 0 && next.outcome == "" {
					heap.Push(&free, next)
				}
			}
		case <-drain:
			why, drain = "interrupted", nil
		case <-cancelled:
			why, cancelled = "interrupted", nil
		}
	}
	if why == "" {
		why = "its dependencies wait for each other"
	}
	for _, j := range r.jobs {
		if j.outcome == "" {
			r.skip(j, why)
			r.interrupted = r.interrupted || why == "interrupted"
		}
		r.interrupted = r.interrupted || j.outcome == Failed && ctx.Err() != nil
	}
}

// skipAfter skips all that waits for a job that failed or was skipped, naming
// it.
func (r *run) skipAfter(d *job) {
	for _, j := range d.then {
		if j.outcome != "" {
			continue
		}
		how := "failed"
		if d.outcome == Skipped {
			how = "was skipped"
		}
		relation := "depends on"
		switch {
		case d.ends() && j.ends():
			relation = "is needed by"
		case d.ends():
			relation = "waits for the end of"
		}
		r.skip(j, fmt.Sprintf("%s %s, which %s", relation, d.change.Address, how))
	}
}

func (r *run) skip(j *job, why string) {
	j.outcome, j.detail = Skipped, why
	r.emit(j.event(history.Event{Kind: history.ApplySkipped, Detail: why}), j.change.Before)
	r.skipAfter(j)
}

// ranks is a heap of jobs, the first in rank on top.
type ranks []*job

func (h ranks) Len() int           { return len(h) }
func (h ranks) Less(a, b int) bool { return h[a].rank < h[b].rank }
func (h ranks) Swap(a, b int)      { h[a], h[b] = h[b], h[a] }
func (h *ranks) Push(j any)        { *h = append(*h, j.(*job)) }
func (h *ranks) Pop() any {
	old := *h
	j := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return j
}
