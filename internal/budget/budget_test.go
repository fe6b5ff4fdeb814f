package budget_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/internal/budget"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
)

var now = time.Date(2026, 3, 4, 15, 0, 0, 0, time.UTC) // a Wednesday

func used(tokens int64) usage.Session {
	return usage.Session{Slices: map[usage.Slice]usage.Sum{
		{Start: now.Truncate(usage.SliceLength), Run: "r"}: {Answers: 1, Tokens: session.Tokens{Output: tokens}},
	}}
}

func subject(name string, tokens int64) budget.Subject {
	return budget.Subject{ID: name, Address: session.Single(name), Agent: "claude", Run: "r", Recorded: true, Known: true, Used: used(tokens)}
}

// again is a subject whose budgets started over an hour ago, with what it used since.
func again(name string, tokens int64) budget.Subject {
	x := subject(name, tokens)
	x.From = now.Add(-time.Hour)
	x.Used.Slices = map[usage.Slice]usage.Sum{{Start: now.Truncate(usage.SliceLength), Run: "r", From: x.From}: {Answers: 1, Tokens: session.Tokens{Output: tokens}}}
	return x
}

func TestMeans(t *testing.T) {
	pool := session.Indexed("pool", 1)
	for _, c := range []struct {
		b    budget.Budget
		want bool
	}{
		{budget.Budget{}, true},
		{budget.Budget{Sessions: []session.Address{session.Single("pool")}}, true},
		{budget.Budget{Sessions: []session.Address{pool}}, true},
		{budget.Budget{Sessions: []session.Address{session.Indexed("pool", 2)}}, false},
		{budget.Budget{Agent: "claude"}, true},
		{budget.Budget{Agent: "codex"}, false},
		{budget.Budget{Agent: "claude", Except: []session.Address{pool}}, false},
	} {
		if got := c.b.Means(pool, "claude"); got != c.want {
			t.Errorf("%+v: %v", c.b, got)
		}
	}
}

func TestPeriod(t *testing.T) {
	at := func(s string) time.Time {
		t.Helper()
		x, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, c := range []struct {
		per, zone, now, begin, end string
	}{
		{budget.PerDay, "UTC", "2026-03-04T15:00:00Z", "2026-03-04T00:00:00Z", "2026-03-05T00:00:00Z"},
		{budget.PerWeek, "UTC", "2026-03-04T15:00:00Z", "2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z"},
		{budget.PerWeek, "UTC", "2026-03-08T23:59:59Z", "2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z"},
		{budget.PerWeek, "UTC", "2026-03-09T00:00:00Z", "2026-03-09T00:00:00Z", "2026-03-16T00:00:00Z"},
		{budget.PerDay, "Asia/Tokyo", "2026-03-04T15:00:00Z", "2026-03-04T15:00:00Z", "2026-03-05T15:00:00Z"},
		{budget.PerDay, "Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"}, // 23 hours
		// Clocks go from midnight to 1:00, and from 1:00 to midnight.
		{budget.PerDay, "America/Santiago", "2026-09-06T03:30:00Z", "2026-09-05T04:00:00Z", "2026-09-06T04:00:00Z"},
		{budget.PerDay, "America/Santiago", "2026-09-06T04:30:00Z", "2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"},
		{budget.PerWeek, "Atlantic/Azores", "2026-03-29T12:00:00Z", "2026-03-23T01:00:00Z", "2026-03-30T00:00:00Z"},
		{budget.PerDay, "Atlantic/Azores", "2026-10-25T00:30:00Z", "2026-10-25T00:00:00Z", "2026-10-26T01:00:00Z"},
		{budget.PerDay, "Atlantic/Azores", "2026-10-25T12:00:00Z", "2026-10-25T00:00:00Z", "2026-10-26T01:00:00Z"},
		{budget.PerDay, "Asia/Kathmandu", "2026-03-04T15:00:00Z", "2026-03-03T18:15:00Z", "2026-03-04T18:15:00Z"},
	} {
		b := budget.Budget{Per: c.per, Zone: c.zone}
		begin, end := b.Period(at(c.now))
		if !begin.Equal(at(c.begin)) || !end.Equal(at(c.end)) {
			t.Errorf("%+v: %s to %s", c, begin.UTC(), end.UTC())
		}
		if !begin.Truncate(usage.SliceLength).Equal(begin) {
			t.Errorf("%+v: it begins within a slice", c)
		}
	}
	for _, per := range []string{budget.PerRun, budget.Total} {
		if begin, end := (budget.Budget{Per: per}).Period(now); !begin.IsZero() || !end.IsZero() {
			t.Errorf("per %s: %s to %s", per, begin, end)
		}
	}
}

func TestShare(t *testing.T) {
	sum := usage.Sum{Tokens: session.Tokens{Input: 1000, Output: 250}, Cost: 1.5, Unpriced: 50, Worked: time.Hour}
	b := budget.Budget{Tokens: 5000, Cost: 2, Time: session.Duration(4 * time.Hour)}
	if got := b.Share(sum); got != 0.75 {
		t.Errorf("%v", got)
	}
	if got, want := b.Text(sum), "1,250 of 5,000 tokens, $1.50 of $2.00 (without 50 tokens that have no price), 1h of 4h of work"; got != want {
		t.Errorf("%s", got)
	}
}

func TestHolds(t *testing.T) {
	day := budget.Budget{Name: "day", Tokens: 100, Per: budget.PerDay, Zone: "UTC", WarnAt: 0.8, OnExceeded: budget.Pause}
	end := time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)
	hold := session.OverBudget{Budget: "day", Desired: session.Paused, Since: now, Until: end, Detail: "120 of 100 tokens"}
	change := func(b budget.Budget, f func(*budget.Budget)) budget.Budget { f(&b); return b }
	for name, c := range map[string]struct {
		budgets  []budget.Budget
		sessions []budget.Subject
		want     map[session.Address]session.OverBudget
	}{
		"together": {[]budget.Budget{day}, []budget.Subject{subject("a", 50), subject("b", 70)},
			map[session.Address]session.OverBudget{"session.a": hold, "session.b": hold}},
		"each": {[]budget.Budget{change(day, func(b *budget.Budget) { b.Each = true })}, []budget.Subject{subject("a", 50), subject("b", 120)},
			map[session.Address]session.OverBudget{"session.b": hold}},
		"a removed session counts": {[]budget.Budget{day}, []budget.Subject{subject("a", 50), {ID: "b", Address: "session.b", Known: true, Used: used(70)}},
			map[session.Address]session.OverBudget{"session.a": hold}},
		"of another run": {[]budget.Budget{change(day, func(b *budget.Budget) { b.Per = budget.PerRun })}, []budget.Subject{func() budget.Subject {
			x := subject("a", 500)
			x.Run = "next"
			return x
		}()}, map[session.Address]session.OverBudget{}},
		"it is only told": {[]budget.Budget{change(day, func(b *budget.Budget) { b.OnExceeded = budget.Notify })}, []budget.Subject{subject("a", 500)},
			map[session.Address]session.OverBudget{}},
		"exactly all of it": {[]budget.Budget{day}, []budget.Subject{subject("a", 100)},
			map[session.Address]session.OverBudget{"session.a": {Budget: "day", Desired: session.Paused, Since: now, Until: end, Detail: "100 of 100 tokens"}}},
		"nearly": {[]budget.Budget{day}, []budget.Subject{subject("a", 99)}, map[session.Address]session.OverBudget{}},
		"stop comes before pause": {[]budget.Budget{day, change(day, func(b *budget.Budget) { b.Name, b.OnExceeded, b.Per = "stop", budget.Stop, budget.Total })}, []budget.Subject{subject("a", 120)},
			map[session.Address]session.OverBudget{"session.a": {Budget: "stop", Desired: session.Stopped, Since: now, Detail: "120 of 100 tokens"}}},
		"the longer one": {[]budget.Budget{day, change(day, func(b *budget.Budget) { b.Name, b.Per = "total", budget.Total })}, []budget.Subject{subject("a", 120)},
			map[session.Address]session.OverBudget{"session.a": {Budget: "total", Desired: session.Paused, Since: now, Detail: "120 of 100 tokens"}}},
		"what is recorded stays": {[]budget.Budget{day}, []budget.Subject{func() budget.Subject {
			x, was := subject("a", 150), hold
			x.Held = &was
			return x
		}()}, map[session.Address]session.OverBudget{"session.a": hold}},
		"while nothing is known": {[]budget.Budget{day}, []budget.Subject{func() budget.Subject {
			x, was := subject("a", 0), hold
			x.Held, x.Known = &was, false
			return x
		}(), subject("b", 0)}, map[session.Address]session.OverBudget{"session.a": hold}},
		"it was lifted": {[]budget.Budget{day}, []budget.Subject{func() budget.Subject {
			x, was := subject("a", 50), hold
			x.Held = &was
			return x
		}()}, map[session.Address]session.OverBudget{}},
		"one that started over": {[]budget.Budget{day}, []budget.Subject{again("a", 99), subject("b", 120)},
			map[session.Address]session.OverBudget{"session.b": {Budget: "day", Desired: session.Paused, Since: now, Until: end, Detail: "219 of 100 tokens"}}},
		"one that started over and used as much again": {[]budget.Budget{day}, []budget.Subject{again("a", 100), subject("b", 20)},
			map[session.Address]session.OverBudget{"session.a": hold, "session.b": hold}},
		"one that started over counts for the others": {[]budget.Budget{day}, []budget.Subject{func() budget.Subject {
			x := again("a", 10)
			x.Used.Slices[usage.Slice{Start: now.Truncate(usage.SliceLength), Run: "r"}] = usage.Sum{Answers: 1, Tokens: session.Tokens{Output: 90}}
			return x
		}(), subject("b", 20)}, map[session.Address]session.OverBudget{"session.b": hold}},
		"one that started over the day before": {[]budget.Budget{day}, []budget.Subject{func() budget.Subject {
			x := subject("a", 0)
			x.From = now.Add(-24 * time.Hour)
			return x
		}(), subject("b", 120)}, map[session.Address]session.OverBudget{"session.a": hold, "session.b": hold}},
		"work that is not recorded yet": {[]budget.Budget{change(day, func(b *budget.Budget) { b.Tokens, b.Time = 0, session.Duration(time.Second) })}, []budget.Subject{func() budget.Subject {
			x := subject("a", 0)
			x.Open = 2 * time.Second
			return x
		}()}, map[session.Address]session.OverBudget{"session.a": {Budget: "day", Desired: session.Paused, Since: now, Until: end, Detail: "2s of 1s of work"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := budget.Holds(budget.Standings(c.budgets, c.sessions, now), c.sessions, now)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWarns(t *testing.T) {
	b := budget.Budget{Name: "b", Tokens: 100, Per: budget.Total, WarnAt: 0.8, OnExceeded: budget.Pause}
	for tokens, want := range map[int64][2]bool{79: {false, false}, 80: {true, false}, 99: {true, false}, 100: {false, true}} {
		s := budget.Standings([]budget.Budget{b}, []budget.Subject{subject("a", tokens), subject("b", 0)}, now)[0]
		if got := [2]bool{s.Warns(), s.Exceeded()}; got != want || s.Top != "session.a" {
			t.Errorf("%d tokens: %v, most by %s", tokens, got, s.Top)
		}
	}
}
