package hub

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// TestOrphansAreReportedOnce checks that the first look reports the running sessions that
// are not in the state, and no other drift. Later looks report neither.
func TestOrphansAreReportedOnce(t *testing.T) {
	o := observer{feed: &feed{stream: newStream()}, log: slog.New(slog.DiscardHandler)}
	s := Snapshot{Plan: plan.Plan{Drift: []plan.Drift{
		{Address: session.Single("api"), Kind: plan.Orphaned, Detail: "not in the state"},
		{Address: session.Single("web"), Kind: plan.Exited},
	}}}
	want := []string{"discovered session.api orphaned not in the state"}
	for _, o.began = range []bool{false, true} {
		o.report(&s, nil)
		var got []string
		for _, e := range o.feed.after(0).events {
			got = append(got, string(e.Kind)+" "+string(e.Address)+" "+e.New+" "+e.Detail)
		}
		if !slices.Equal(got, want) {
			t.Errorf("with the first look over %v: reported %q, want %q", o.began, got, want)
		}
	}
}
