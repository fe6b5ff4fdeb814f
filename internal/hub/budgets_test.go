package hub_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/budget"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
)

func unpriced(string, session.Tokens, int64) (float64, bool) { return 0, false }

// limited returns a hub's configuration with a budget of an hour a day, in UTC.
func limited(store *usage.Store, change ...func(*budget.Budget)) func(*hub.Config) {
	b := budget.Budget{Name: "hour", Time: session.Duration(time.Hour), Per: budget.PerDay, Zone: "UTC", WarnAt: 0.5, OnExceeded: budget.Pause}
	for _, f := range change {
		f(&b)
	}
	return func(c *hub.Config) { c.Usage, c.Budgets = store, []budget.Budget{b} }
}

// worked records that a session worked until now.
func (r *room) worked(store *usage.Store, name string, d time.Duration) {
	r.t.Helper()
	if err := store.Work(usage.Of(r.record(name)), usage.Span{Begin: r.now().Add(-d), End: r.now()}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *room) frozen(name string) bool {
	s, _ := r.rt.State(place(name))
	return s.Live.Frozen
}

var budgetKinds = []history.Kind{history.BudgetWarned, history.BudgetExceeded, history.BudgetHeld, history.BudgetLifted, history.BudgetIgnored}

// A budget of two sessions is warned of, holds both, over a hub that ends, and ends with
// its day.
func TestBudgetOfADay(t *testing.T) {
	in(t, func(r *room) {
		time.Sleep(2 * time.Hour) // of the day
		r.apply(r.spec("api"), r.spec("web"))
		store := usage.New(r.dir, unpriced)
		h, stop := r.hub(limited(store))
		defer func() { stop() }()
		r.worked(store, "api", 40*time.Minute)
		h.Wake()
		time.Sleep(5 * time.Second)
		if r.frozen("api") || r.frozen("web") {
			t.Fatal("it is held before its time")
		}
		r.worked(store, "web", 20*time.Minute)
		h.Wake()
		time.Sleep(5 * time.Second)
		if !r.frozen("api") || !r.frozen("web") {
			t.Fatalf("it is not held: %q", r.events("api", budgetKinds...))
		}
		stop()
		_, stop = r.hub(limited(usage.New(r.dir, unpriced)))
		time.Sleep(time.Minute)
		if !r.frozen("api") || !r.frozen("web") {
			t.Error("another hub has let it go on")
		}
		time.Sleep(22 * time.Hour)
		if r.frozen("api") || r.frozen("web") || r.launches("api") != 1 {
			t.Errorf("it is held over its day, or was started again: %q", r.events("api", budgetKinds...))
		}
		stop()
		want := []string{"budget_warned hour", "budget_exceeded hour", "budget_held paused", "budget_lifted"}
		if got := r.events("api", budgetKinds...); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if got := r.told(); !slices.Equal(got, []string{"budget_warned", "budget_exceeded"}) {
			t.Errorf("told: %q", got)
		}
	})
}

// A session that a budget stopped is started when it is over, although its policy is never
// to restart it; one that a person stopped, or that exited, is not.
func TestBudgetThatStops(t *testing.T) {
	in(t, func(r *room) {
		never := func(s *session.Spec) { s.Restart.Policy = "never" }
		r.apply(r.spec("api", never), r.spec("web", never), r.spec("docs", never))
		store := usage.New(r.dir, unpriced)
		h, stop := r.hub(limited(store, func(b *budget.Budget) { b.OnExceeded = budget.Stop }))
		defer stop()
		time.Sleep(3 * time.Hour) // of the day
		r.rt.Kill(place("docs"))
		r.worked(store, "api", 2*time.Hour)
		h.Wake()
		time.Sleep(5 * time.Second)
		if r.alive("api") || r.alive("web") {
			t.Errorf("they are not stopped: %q", r.events("api"))
		}
		if _, _, err := h.Do(context.Background(), "ada", engine.Override{Addresses: []session.Address{"session.web"}, Desired: session.Stopped}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Hour)
		if !r.alive("api") || r.alive("web") || r.alive("docs") {
			t.Errorf("api lives: %v, web: %v, docs: %v", r.alive("api"), r.alive("web"), r.alive("docs"))
		}
	})
}

// TestSharedBudgetThatIsIgnored checks that of the sessions of a budget only the one starts
// over for which it is ignored, and that the budget is exceeded again only when that one has
// used as much again.
func TestSharedBudgetThatIsIgnored(t *testing.T) {
	in(t, func(r *room) {
		r.apply(r.spec("api"), r.spec("web"))
		store := usage.New(r.dir, unpriced)
		h, stop := r.hub(limited(store, func(b *budget.Budget) { b.Per = budget.Total }))
		defer stop()
		r.worked(store, "api", 40*time.Minute)
		r.worked(store, "web", 20*time.Minute)
		h.Wake()
		time.Sleep(5 * time.Second)
		ignore := engine.Override{Addresses: []session.Address{"session.api"}, Desired: session.Running, IgnoreBudget: true}
		if _, _, err := h.Do(context.Background(), "ada", ignore); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if r.frozen("api") || !r.frozen("web") {
			t.Errorf("api is held: %v, web: %v", r.frozen("api"), r.frozen("web"))
		}
		exceeded := func() int {
			return len(r.events("api", history.BudgetExceeded)) + len(r.events("web", history.BudgetExceeded))
		}
		if n := exceeded(); n != 1 {
			t.Errorf("it was told %d times", n)
		}
		r.worked(store, "api", time.Hour)
		h.Wake()
		time.Sleep(5 * time.Second)
		if !r.frozen("api") || !r.frozen("web") {
			t.Errorf("after as much again api is held: %v, web: %v", r.frozen("api"), r.frozen("web"))
		}
		if n := exceeded(); n != 2 {
			t.Errorf("after as much again it was told %d times", n)
		}
	})
}

// Who ignores a budget lets it start over, and a clock that is set back changes nothing.
func TestBudgetThatIsIgnored(t *testing.T) {
	in(t, func(r *room) {
		r.apply(r.spec("api"))
		store := usage.New(r.dir, unpriced)
		h, stop := r.hub(limited(store, func(b *budget.Budget) { b.Per = budget.Total }))
		defer stop()
		r.worked(store, "api", time.Hour)
		h.Wake()
		time.Sleep(5 * time.Second)
		resume := engine.Override{Addresses: []session.Address{"session.api"}, Desired: session.Running}
		if _, _, err := h.Do(context.Background(), "ada", resume); err == nil || !r.frozen("api") {
			t.Fatalf("it is resumed: %v", err)
		}
		resume.IgnoreBudget = true
		if _, _, err := h.Do(context.Background(), "ada", resume); err != nil || r.frozen("api") {
			t.Fatalf("it is not resumed: %v", err)
		}
		r.jump.Store(int64(-3 * time.Hour))
		r.worked(store, "api", 59*time.Minute)
		h.Wake()
		time.Sleep(time.Minute)
		if r.frozen("api") {
			t.Fatal("it is held before its time")
		}
		r.worked(store, "api", time.Minute)
		h.Wake()
		time.Sleep(5 * time.Second)
		if !r.frozen("api") {
			t.Fatal("it is not held")
		}
	})
}
