package usage_test

import (
	"testing"
	"time"

	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
)

func TestWork(t *testing.T) {
	dir := t.TempDir()
	price := func(string, session.Tokens, int64) (float64, bool) { return 0, false }
	store := usage.New(dir, price)
	at := time.Date(2026, 3, 1, 11, 50, 0, 0, time.UTC)
	over := at.Add(30 * time.Minute)
	of := usage.Subject{ID: "a", Address: "session.a", Agent: "claude", Run: "r1"}
	work := func(from, to time.Time) {
		t.Helper()
		if err := store.Work(of, usage.Span{Begin: from, End: to}); err != nil {
			t.Fatal(err)
		}
	}
	work(at, at.Add(20*time.Minute))
	of.From = over
	work(over.Add(-time.Minute), over.Add(2*time.Minute)) // the clock was set back
	of.Run = "r2"
	work(over.Add(time.Hour), over.Add(time.Hour+time.Second))

	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, s := range []*usage.Store{store, usage.New(dir, price)} {
		if _, err := s.All(); err != nil {
			t.Fatal(err)
		}
		x := s.AllKnown()["a"]
		for _, c := range []struct {
			quarter, over time.Time
			run           string
			want          time.Duration
		}{
			{want: 23*time.Minute + time.Second},
			{quarter: noon, want: 13*time.Minute + time.Second},
			{run: "r1", want: 23 * time.Minute},
			{run: "r2", want: time.Second},
			{over: over, want: 3*time.Minute + time.Second},
			{over: over, run: "r1", want: 3 * time.Minute},
			{quarter: noon.Add(time.Hour), over: over, want: time.Second}, // the period started later
			{over: over.Add(time.Hour), want: 0},
		} {
			if got := x.Since(c.quarter, c.over, c.run).Worked; got != c.want {
				t.Errorf("since %v, %v, run %q: %s, want %s", c.quarter, c.over, c.run, got, c.want)
			}
		}
	}
}
