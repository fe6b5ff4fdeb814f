package hub

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/budget"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

const (
	// workRecorded is how much work of an agent is recorded at once: a hub that is killed
	// loses at most that.
	workRecorded = 4 * time.Second
	// workLook is when the hub looks again at an agent whose work a budget counts.
	workLook = 2 * time.Second
	// workGap is the longest time between two looks that is counted as work. A machine
	// that slept, or a clock that was set, makes a longer one.
	workGap = 30 * time.Second
)

// budgets holds sessions that used more than their budgets allow.
type budgets struct {
	list     []budget.Budget
	spending *spending
	log      *slog.Logger
	whole    bool // all that was recorded of sessions is known

	mu sync.Mutex
	// exceeded is when a session was first seen to be over a budget that stops it.
	exceeded map[session.Address]time.Time
	spans    map[string]*span // the work of sessions, by id
}

// span is a time in which an agent works, as far as it is not recorded.
type span struct {
	rec   session.Record
	begin time.Time
	seen  time.Time // the last look
	works bool      // by the last look
}

// load reads what sessions used before, also those that were removed.
func (b *budgets) load() {
	if len(b.list) == 0 || b.spending.store == nil {
		return
	}
	_, err := b.spending.store.All()
	if err != nil {
		b.log.Warn("usage cannot be read: budgets may hold sessions too late", "error", err)
	}
	b.whole = err == nil
}

// subjects returns what recorded and removed sessions used.
func (b *budgets) subjects(records []session.Record) []budget.Subject {
	if b.spending.store == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	used := b.spending.store.AllKnown()
	all := budget.Subjects(records, used)
	for i := range all {
		s := &all[i]
		_, known := used[s.ID]
		s.Known = known || b.whole
		if w := b.spans[s.ID]; w != nil && w.works && w.rec.Run.ID == s.Run && w.rec.BudgetsFrom.Equal(s.From) {
			s.Open = w.seen.Sub(w.begin)
		}
	}
	return all
}

// input adds to the input of a plan what the budgets hold. working are the sessions whose
// agents work: they end their turn before they are stopped.
func (b *budgets) input(in engine.HubInput, working map[session.Address]bool) engine.HubInput {
	in.OverBudget = func(records []session.Record, at time.Time) map[session.Address]session.OverBudget {
		if len(b.list) == 0 {
			return nil
		}
		subjects := b.subjects(records)
		holds := budget.Holds(budget.Standings(b.list, subjects, at), subjects, at)
		b.awaitTurns(holds, records, working, at)
		return holds
	}
	return in
}

// awaitTurns removes the holds of sessions that may end their turn first.
func (b *budgets) awaitTurns(holds map[session.Address]session.OverBudget, records []session.Record, working map[session.Address]bool, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.exceeded, func(a session.Address, _ time.Time) bool { return holds[a].Desired != session.Stopped })
	for _, r := range records {
		if holds[r.Address].Desired != session.Stopped || r.OverBudget != nil && r.OverBudget.Desired == session.Stopped {
			continue
		}
		since, known := b.exceeded[r.Address]
		if !known {
			since, b.exceeded[r.Address] = at, at
		}
		if working[r.Address] && at.Sub(since) < engine.TurnLimit(0)(r.Spec) {
			delete(holds, r.Address)
		}
	}
}

// working returns the sessions whose agents work, if a budget may stop them.
func (b *budgets) working(st state.State, memories map[session.Address]*memory) map[session.Address]bool {
	all := map[session.Address]bool{}
	if !slices.ContainsFunc(b.list, func(x budget.Budget) bool { return x.OnExceeded == budget.Stop }) {
		return all
	}
	for _, r := range st.Sessions {
		if m := memories[r.Address]; m != nil && m.run == r.Run.ID && m.works() {
			all[r.Address] = true
		}
	}
	return all
}

// works reports whether the agent works, as far as the last look shows.
func (m *memory) works() bool {
	return m.liveness == session.Alive && m.known.Record != nil && m.activity.Activity == session.Working
}

// see notes whether an agent works. What it did between two looks is known by the times of
// its turns, where they are known, else not counted.
func (b *budgets) see(r session.Record, m *memory, frozen bool, given time.Time, s *Snapshot) {
	counts, timed := false, false
	for _, x := range b.list {
		if x.Means(r.Address, r.Spec.Agent.Name) {
			counts, timed = true, timed || x.Time > 0
		}
	}
	works := counts && m.works() && !frozen
	if works {
		s.lookAgain(workLook)
	}
	if !timed || b.spending.store == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.spans[r.ID]
	if w == nil || w.rec.Run.ID != r.Run.ID || s.At.Before(w.seen) || s.At.Sub(w.seen) > workGap {
		b.end(w)
		w = &span{seen: s.At}
		b.spans[r.ID] = w
	}
	w.rec = r
	switch {
	case works && !w.works:
		if w.begin = s.At; given.After(w.seen) && given.Before(s.At) {
			w.begin = given
		}
	case works && s.At.Sub(w.begin) >= workRecorded:
		w.seen = s.At
		b.end(w)
		w.begin = s.At
	case !works && w.works:
		if at := m.activity.TurnAt; at.After(w.seen) && at.Before(s.At) {
			w.seen = at
		}
		b.end(w)
	}
	w.works, w.seen = works, s.At
}

// end records the work of a span.
func (b *budgets) end(w *span) {
	if w != nil && w.works && w.seen.After(w.begin) {
		// By the clock that does not jump, ending now.
		b.spending.worked(w.rec, usage.Span{Begin: w.seen.Add(-w.seen.Sub(w.begin)), End: w.seen})
	}
}

// close records all work.
func (b *budgets) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.spans {
		b.end(w)
		w.works = false
	}
}

// report adds to the histories which budgets are nearly used up, and which are, once in a
// period.
func (b *budgets) report(s *Snapshot, o *observer) {
	if len(b.list) == 0 {
		return
	}
	subjects := b.subjects(s.Records())
	s.Budgets = budget.Standings(b.list, subjects, s.At)
	for _, x := range s.Budgets {
		if x.Top == "" {
			continue
		}
		text := x.Budget.Name + ": " + x.Budget.Text(x.Used)
		switch {
		case x.Exceeded():
			b.tell(s, o, x, history.Event{Kind: history.BudgetExceeded, Detail: text})
		case x.Warns():
			b.tell(s, o, x, history.Event{Kind: history.BudgetWarned, Detail: text})
		}
		if text := x.Unpriced(subjects); text != "" {
			b.tell(s, o, x, history.Event{Kind: history.BudgetWarned, Reason: unpriced, Detail: text})
		}
	}
}

// unpriced is the reason of a warning of tokens that a budget cannot count.
const unpriced = "unpriced"

// tell adds an event of a budget to the history of the session that used the most, unless one
// of the period has it already. No warning follows the end of a budget.
func (b *budgets) tell(s *Snapshot, o *observer, x budget.Standing, e history.Event) {
	reported := func(a session.Address) bool {
		k, _ := s.Of(a)
		return slices.ContainsFunc(o.memory[a].Events, func(was history.Event) bool {
			return (was.Kind == e.Kind || was.Kind == history.BudgetExceeded) && was.Reason == e.Reason && was.New == x.Budget.Name && !was.Time.Before(x.Begin) &&
				(!was.Time.Before(k.Record.BudgetsFrom) || slices.Contains(x.Allowed, a)) && (x.Budget.Per != budget.PerRun || was.Run == k.Record.Run.ID)
		})
	}
	if slices.ContainsFunc(x.Sessions, reported) {
		return
	}
	k, _ := s.Of(x.Top)
	m := o.memory[x.Top]
	t := reporter{observer: o, m: m, record: *k.Record, at: s.At}
	e.New = x.Budget.Name
	t.say(e)
	o.feed.publish(x.Top, m, false)
}
