package apply

import (
	"container/heap"
	"context"
	"fmt"

	"github.com/agentform/agentform/history"
)

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
	ended, freed := make(chan *job), make(chan struct{})
	cancelled := ctx.Done()
	why := "" // nothing new starts
	// busy are at work outside; running are those and the ones that only wait for
	// their last record to be on disk.
	for busy, running := 0, 0; ; {
		select {
		case <-drain:
			why, drain = "interrupted", nil
		case <-cancelled:
			why, cancelled = "interrupted", nil
		default:
		}
		for why == "" && busy < max(1, r.Parallelism) && free.Len() > 0 {
			j := heap.Pop(&free).(*job)
			busy, running = busy+1, running+1
			j.idle = func() {
				j.idling = true
				freed <- struct{}{}
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
		case <-freed:
			busy--
		case j := <-ended:
			running--
			if !j.idling {
				busy--
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
