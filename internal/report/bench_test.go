package report

import (
	"fmt"
	"testing"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// BenchmarkOf makes a report of 200 sessions with 4,000 events each, as many as a history
// has of the usual length before it is shortened.
func BenchmarkOf(b *testing.B) {
	in := Input{Since: since, Until: until, Supervisor: api.HubRuns}
	for i := range 200 {
		var events []history.Event
		for n := range 4000 {
			events = append(events, became(float64(n)/300, []session.Status{session.StatusBlocked, session.StatusRunning}[n%2], "run make?"))
		}
		in.Sessions = append(in.Sessions, known(fmt.Sprint(i), events...))
	}
	for b.Loop() {
		if r := Of(in); len(r.Sessions) != 200 || r.Sessions[0].Waits[0].Times != 2000 {
			b.Fatal(len(r.Sessions))
		}
	}
}
