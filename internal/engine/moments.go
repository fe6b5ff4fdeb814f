package engine

import (
	"maps"
	"slices"
	"sync"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// mostMoments bounds what is remembered of one history: more starts than that fit into
// no restart budget.
const mostMoments = 4096

// pasts reads what of the sessions' histories counts for their restarts. Each history
// is read on from where it was read last, so that a hub does not read it as a whole
// whenever it looks. The zero value is ready, and may be used from many goroutines.
type pasts struct {
	mu sync.Mutex
	of map[string]*past // by the session's directory
}

type past struct {
	tail    *history.Tail
	moments []health.Moment
}

// moments returns the moments of a session's history, the oldest first. What cannot be
// read counts as not there.
func (p *pasts) moments(folder string) []health.Moment {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := p.of[folder]
	if x == nil {
		if p.of == nil {
			p.of = map[string]*past{}
		}
		x = &past{tail: history.TailOf(folder)}
		p.of[folder] = x
	}
	events, _ := x.tail.More()
	x.moments = append(x.moments, plan.Moments(events)...)
	if over := len(x.moments) - mostMoments; over > 0 {
		x.moments = slices.Clone(x.moments[over:])
	}
	return slices.Clip(x.moments) // the caller may add to them
}

// keep forgets the histories of all sessions but those.
func (p *pasts) keep(records []session.Record, folder func(session.Record) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.of) == 0 {
		return
	}
	known := make(map[string]bool, len(records))
	for _, r := range records {
		known[folder(r)] = true
	}
	maps.DeleteFunc(p.of, func(f string, _ *past) bool { return !known[f] })
}
