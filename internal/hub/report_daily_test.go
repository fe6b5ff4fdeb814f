package hub_test

import (
	"slices"
	"testing"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/session"
)

// A report is made at its time on each day, of a snapshot that is fresh, also when the hub is
// restarted, and when it notified of something else meanwhile.
func TestDailyReport(t *testing.T) {
	in(t, func(r *room) {
		begin := time.Now()
		at := begin.Local().Add(2 * time.Hour).Format("15:04")
		var sent, since []time.Duration // after the begin
		reports := func(c *hub.Config) {
			c.ReportAt = []string{at}
			c.Report = func(s *hub.Snapshot, of string, from time.Time) {
				r.mu.Lock()
				defer r.mu.Unlock()
				if of != at || len(s.Sessions) != 1 || time.Since(s.At) > time.Second {
					t.Errorf("the report of %s is of %d sessions at %s", of, len(s.Sessions), s.At)
				}
				sent, since = append(sent, time.Since(begin).Round(time.Minute)), append(since, from.Sub(begin).Round(time.Minute))
			}
		}
		r.apply(r.spec("api", func(s *session.Spec) { s.Health.Interval = session.Duration(25 * time.Minute) }))
		_, stop := r.hub(reports)
		time.Sleep(2*time.Hour + 5*time.Minute)
		r.rt.Kill(place("api"))
		time.Sleep(30 * time.Minute)
		if n := len(r.events("api", history.RunEnded, history.StatusChanged)); n == 0 {
			t.Fatal("nothing has happened that the hub notifies of")
		}
		stop()
		_, stop = r.hub(reports)
		time.Sleep(24 * time.Hour)
		stop()
		time.Sleep(25 * time.Hour) // longer than a report is made up for
		_, _ = r.hub(reports)
		time.Sleep(time.Hour)
		r.mu.Lock()
		defer r.mu.Unlock()
		if want := []time.Duration{2 * time.Hour, 26 * time.Hour}; !slices.Equal(sent, want) {
			t.Errorf("sent after %v, want %v", sent, want)
		}
		if want := []time.Duration{-22 * time.Hour, 2 * time.Hour}; !slices.Equal(since, want) {
			t.Errorf("since %v, want %v", since, want)
		}
	})
}
