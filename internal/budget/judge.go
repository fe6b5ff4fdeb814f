package budget

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
)

// Subject is a session with its usage.
type Subject struct {
	ID      string
	Address session.Address
	Agent   string
	Run     string // the last one
	// Recorded is false of a session that was removed.
	Recorded bool
	// From is when its budgets last started over; zero: never.
	From time.Time
	Used usage.Session
	Open time.Duration // work of the current run that is not recorded yet
	// Known means that Used is complete.
	Known bool
	Held  *session.OverBudget // as recorded
}

// Standing is what was used of a budget, by one session or by several together.
type Standing struct {
	Budget     Budget
	Session    session.Address // of a budget for each session; empty: all together
	Begin, End time.Time       // of the period; zero: it has none
	// Used has what sessions used before they started over, unless all on record did.
	Used  usage.Sum
	Known bool // false: more may have been used
	// Top is the session on record that used the most; empty: none is on record.
	Top session.Address
	// Sessions are those on record that it counts.
	Sessions []session.Address
	// Allowed are those of them that may use as much again, whatever the others used: they
	// started over in the period. What they used before counts for the others.
	Allowed []session.Address
}

// Exceeded reports whether the budget is used up.
func (s Standing) Exceeded() bool { return s.Budget.Share(s.Used) >= 1 }

// Warns reports whether the budget is nearly used up.
func (s Standing) Warns() bool { return !s.Exceeded() && s.Budget.Share(s.Used) >= s.Budget.WarnAt }

// Standings returns the usage of each budget, ordered by budget and address. A budget that applies
// to no session has no standing.
func Standings(budgets []Budget, sessions []Subject, now time.Time) []Standing {
	var all []Standing
	for _, b := range budgets {
		begin, end := b.Period(now)
		together := Standing{Budget: b, Begin: begin, End: end, Known: true}
		var most, whole usage.Sum
		found, others := false, false
		for _, x := range sessions {
			if !b.Means(x.Address, x.Agent) || !x.Recorded && (b.Each || b.Per == PerRun) {
				continue
			}
			run := ""
			if b.Per == PerRun {
				run = x.Run
			}
			own, used := x.Used.Since(begin, x.From, run), x.Used.Within(begin, x.From, run)
			if x.Recorded {
				own.Worked += x.Open
				used.Worked += x.Open
			}
			if b.Each {
				all = append(all, Standing{b, x.Address, begin, end, own, x.Known, x.Address, []session.Address{x.Address}, nil})
				continue
			}
			found = true
			together.Used, whole = together.Used.Plus(own), whole.Plus(used)
			together.Known = together.Known && x.Known
			if x.Recorded {
				if together.Top == "" || b.Share(used) > b.Share(most) {
					together.Top, most = x.Address, used
				}
				together.Sessions = append(together.Sessions, x.Address)
				again := !x.From.IsZero() && !x.From.Before(begin)
				others = others || !again
				if again && b.Share(own) < 1 && (x.Known || x.Held == nil) {
					together.Allowed = append(together.Allowed, x.Address)
				}
			}
		}
		if others {
			together.Used = whole
		}
		if found {
			all = append(all, together)
		}
	}
	return all
}

// Unpriced returns which tokens the cost of a standing omits, since their models have no price;
// empty: none.
func (s Standing) Unpriced(subjects []Subject) string {
	if s.Budget.Cost <= 0 || s.Used.Unpriced == 0 {
		return ""
	}
	models := map[string]bool{}
	for _, x := range subjects {
		if !s.Budget.Means(x.Address, x.Agent) || s.Session != "" && s.Session != x.Address {
			continue
		}
		for slice, sum := range x.Used.Slices {
			if sum.Unpriced > 0 && !slice.Start.Before(s.Begin.Truncate(usage.SliceLength)) {
				models[slice.Model] = true
			}
		}
	}
	return fmt.Sprintf("%s: %s tokens of %s have no price, so that its cost leaves them out and holds nothing for them; give a price in a price block",
		s.Budget.Name, plaintext.Thousands(s.Used.Unpriced), plaintext.List(slices.Sorted(maps.Keys(models)), "and"))
}

// Holds returns the sessions to be held, and the budget of each. A recorded hold is unchanged while
// its reason lasts, and while the usage is unknown.
func Holds(standings []Standing, sessions []Subject, now time.Time) map[session.Address]session.OverBudget {
	held := map[session.Address]*session.OverBudget{}
	for _, x := range sessions {
		if x.Recorded && x.Held != nil {
			held[x.Address] = x.Held
		}
	}
	all := map[session.Address]session.OverBudget{}
	for _, s := range standings {
		if s.Budget.OnExceeded == Notify {
			continue
		}
		o := session.OverBudget{Budget: s.Budget.Name, Desired: session.Paused, Since: now.UTC(), Until: s.End.UTC(), Detail: s.Budget.Text(s.Used)}
		if s.Budget.OnExceeded == Stop {
			o.Desired = session.Stopped
		}
		if s.End.IsZero() {
			o.Until = time.Time{}
		}
		for _, a := range s.Sessions {
			was := held[a]
			same := was != nil && was.Budget == o.Budget
			switch {
			case slices.Contains(s.Allowed, a), !s.Exceeded() && (s.Known || !same):
				continue
			case same && (!s.Exceeded() || was.Desired == o.Desired && was.Until.Equal(o.Until)):
				stricter(all, a, *was)
			default:
				stricter(all, a, o)
			}
		}
	}
	return all
}

// stricter keeps of two holds the one that stops, else the one that lasts longer.
func stricter(all map[session.Address]session.OverBudget, a session.Address, o session.OverBudget) {
	was, is := all[a]
	stops := func(x session.OverBudget) bool { return x.Desired == session.Stopped }
	later := func(x, y time.Time) bool { return !y.IsZero() && (x.IsZero() || x.After(y)) }
	if !is || stops(o) && !stops(was) || stops(o) == stops(was) && later(o.Until, was.Until) {
		all[a] = o
	}
}

// Subjects returns the recorded sessions, and the removed ones with usage, by id. All of their
// usage is known.
func Subjects(records []session.Record, used map[string]usage.Session) []Subject {
	all := make([]Subject, 0, len(used)+len(records))
	recorded := make(map[string]bool, len(records))
	for _, r := range records {
		recorded[r.ID] = true
		all = append(all, Subject{ID: r.ID, Address: r.Address, Agent: r.Spec.Agent.Name, Run: r.Run.ID, Recorded: true,
			From: r.BudgetsFrom, Used: used[r.ID], Known: true, Held: r.OverBudget})
	}
	for id, x := range used {
		if !recorded[id] {
			all = append(all, Subject{ID: id, Address: x.Address, Used: x, Known: true})
		}
	}
	return all
}
