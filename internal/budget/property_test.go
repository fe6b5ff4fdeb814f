package budget_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/budget"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
)

// world is some sessions that use tokens, money or time, and a hub that looks every two
// seconds while it is there. Beside the sums by which the hub decides it keeps every use.
type world struct {
	r        *rand.Rand
	b        budget.Budget
	limit    int64 // of b, in units
	unit     usage.Sum
	wall     time.Time
	sessions []*worker
	spent    []spent
}

type worker struct {
	budget.Subject
	over int // seconds for which it has worked past its budget, with a hub
}

type spent struct {
	of    *worker
	at    time.Time
	run   string
	from  time.Time
	units int64
}

// units are what can be limited. Sums of the cost are exact.
var units = []usage.Sum{{Tokens: session.Tokens{Output: 1}}, {Cost: 1. / 128}, {Worked: 25 * time.Millisecond}}

// used returns what the sessions that share a budget with x used of it, by every use. If x
// started over, it is what x used.
func (w *world) used(x *worker) (sum int64) {
	begin, _ := w.b.Period(w.wall)
	alone := w.b.Each || !x.From.IsZero() && !x.From.Before(begin)
	for _, s := range w.spent {
		switch {
		case alone && s.of != x, w.b.Per == budget.PerRun && s.run != s.of.Run:
			continue
		case s.of.From.IsZero() || s.of.From.Before(begin): // by its time
			if s.at.Truncate(usage.SliceLength).Before(begin) {
				continue
			}
		case s.from.Equal(s.of.From): // whatever the clock was set to
		case alone:
			continue
		case s.at.Truncate(usage.SliceLength).Before(begin):
			continue
		}
		sum += s.units
	}
	return sum
}

func (w *world) work(x *worker) {
	n := w.r.Int64N(40)
	w.spent = append(w.spent, spent{x, w.wall, x.Run, x.From, n})
	k := usage.Slice{Start: w.wall.Truncate(usage.SliceLength), Run: x.Run, From: x.From}
	x.Used.Slices[k] = x.Used.Slices[k].Plus(usage.Sum{Answers: 1, Tokens: session.Tokens{Output: n * w.unit.Tokens.Output},
		Cost: float64(n) * w.unit.Cost, Worked: time.Duration(n) * w.unit.Worked})
}

// look is one look of a hub, which knows nothing but what is recorded.
func (w *world) look(t *testing.T) {
	var all []budget.Subject
	for _, x := range w.sessions {
		all = append(all, x.Subject)
	}
	holds := budget.Holds(budget.Standings([]budget.Budget{w.b}, all, w.wall), all, w.wall)
	for _, x := range w.sessions {
		o, held := holds[x.Address]
		if exceeded := w.used(x) >= w.limit; held != exceeded {
			t.Fatalf("%s: held %v with %d of %d, of %+v", x.Address, held, w.used(x), w.limit, w.b)
		}
		if x.Held = nil; held {
			x.Held = &o
		}
	}
}

// A session never works more than 5 s past its budget, and is never held before it, in any
// order of use, restarts, clocks that are set, people who ignore budgets and hubs that are
// killed.
func TestNeverLateNeverEarly(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			pick := func(of ...string) string { return of[r.IntN(len(of))] }
			limit, unit := 500+r.Int64N(20000), units[r.IntN(len(units))]
			w := &world{r: r, limit: limit, unit: unit, wall: now.Add(time.Duration(r.IntN(86400)) * time.Second), b: budget.Budget{
				Name: "b", Tokens: limit * unit.Tokens.Output, Cost: float64(limit) * unit.Cost, Time: session.Duration(time.Duration(limit) * unit.Worked), Each: r.IntN(2) == 0, WarnAt: 0.8,
				Per: pick(budget.PerRun, budget.PerDay, budget.PerWeek, budget.Total), OnExceeded: pick(budget.Pause, budget.Stop),
				Zone: pick("UTC", "Europe/Berlin", "Asia/Kathmandu")}}
			for i := range 1 + r.IntN(3) {
				x := subject(fmt.Sprint("s", i), 0)
				x.Used.Slices = map[usage.Slice]usage.Sum{}
				w.sessions = append(w.sessions, &worker{Subject: x})
			}
			hub, runs := true, 0
			for second := range 3000 {
				w.wall = w.wall.Add(time.Second)
				switch r.IntN(400) {
				case 0:
					w.wall = w.wall.Add(time.Duration(r.IntN(200000)-50000) * time.Second)
				case 1:
					hub = !hub
				case 2:
					runs++
					w.sessions[r.IntN(len(w.sessions))].Run = fmt.Sprint("r", runs)
				case 3:
					if x := w.sessions[r.IntN(len(w.sessions))]; x.Held != nil {
						x.Held, x.From = nil, w.wall
					}
				}
				for _, x := range w.sessions {
					if x.Held == nil {
						w.work(x)
					}
					if x.Held != nil || !hub || w.used(x) < w.limit {
						x.over = 0
					} else if x.over++; x.over > 5 {
						t.Fatalf("second %d: %s works %d s past its budget", second, x.Address, x.over)
					}
				}
				if hub && second%2 == 0 {
					w.look(t)
				}
			}
		})
	}
}
