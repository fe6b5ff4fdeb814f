package engine

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// maxMoments bounds what is kept of one history: no restart budget spans more starts.
const maxMoments = 4096

// restartHistories counts restarts from the sessions' histories, each read on from where
// it was read last. The zero value is ready for concurrent use.
type restartHistories struct {
	mu  sync.Mutex
	all map[string]*restartHistory // by the session's folder
}

type restartHistory struct {
	tail    *history.Tail
	moments []health.Moment
}

// moments returns the moments of a session's history. One that cannot be read counts as
// empty.
func (h *restartHistories) moments(folder string) []health.Moment {
	h.mu.Lock()
	defer h.mu.Unlock()
	x := h.all[folder]
	if x == nil {
		if h.all == nil {
			h.all = map[string]*restartHistory{}
		}
		x = &restartHistory{tail: history.TailOf(folder)}
		h.all[folder] = x
	}
	events, _ := x.tail.More()
	x.moments = append(x.moments, plan.Moments(events)...)
	if over := len(x.moments) - maxMoments; over > 0 {
		x.moments = slices.Clone(x.moments[over:])
	}
	return slices.Clip(x.moments) // the caller may append
}

// counts returns how often the hub has started each session that it may have to act on.
// It forgets the histories of sessions that are not on record.
func (h *restartHistories) counts(records []session.Record, w session.World, in HubInput, folder func(session.Record) string) map[session.Address]health.Count {
	lives := byRun(w)
	counts, folders := map[session.Address]health.Count{}, make(map[string]bool, len(records))
	for _, rec := range records {
		folders[folder(rec)] = true
		l := lives[rec.Run.ID]
		_, sick := in.Sick[rec.Address]
		settled := rec.Intent == session.Settled && rec.LastError == ""
		if settled && !sick && (l != nil && l.Liveness == session.Alive || plan.Desired(rec) == session.Stopped) {
			continue
		}
		counts[rec.Address] = countRestarts(rec, l, w, h.moments(folder(rec)))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.all, func(f string, _ *restartHistory) bool { return !folders[f] })
	return counts
}

// byRun returns what is live of the project, by run.
func byRun(w session.World) map[string]*session.Live {
	lives := make(map[string]*session.Live, len(w.Lives))
	for i := range w.Lives {
		if !w.Lives[i].Foreign {
			lives[w.Lives[i].Mark.Run] = &w.Lives[i]
		}
	}
	return lives
}

// annotate adds to a person's plan how often the hub has restarted sessions.
func (h *restartHistories) annotate(p *plan.Plan, w session.World, folder func(session.Record) string) {
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Action != plan.Restart || c.Before == nil || c.Live != nil && c.Live.Liveness == session.Alive {
			continue
		}
		policy := c.Before.Spec.Restart
		if n := countRestarts(*c.Before, c.Live, w, h.moments(folder(*c.Before))).Used(policy, w.At); n > 0 {
			c.Detail += fmt.Sprintf("; the hub has started it again %d of %d times", n, policy.Attempts)
		}
	}
}

// countRestarts counts the hub's restarts of a session from its history and from the exit
// of its run.
func countRestarts(rec session.Record, l *session.Live, w session.World, past []health.Moment) health.Count {
	exit := w.Runs[rec.Run.ID].Exit
	if l != nil {
		exit = l.Exit
	}
	if exit != nil && rec.Run.EndedAt.IsZero() {
		past = append(past, health.Moment{At: exit.At, What: health.Ended, Lasted: exit.Ran.D()})
	}
	c := health.FromHistory(rec.Spec.Restart, past)
	if l != nil && l.Liveness == session.Alive {
		c = c.Current(rec.Spec.Restart, w.At)
	}
	return c
}
