package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// TestLimitOfACredential checks that a spent quota holds the hub's starts of every session with the
// same credential until it resets, and that nothing else does.
func TestLimitOfACredential(t *testing.T) {
	a := session.Single("a")
	of := func(id string) func(*session.Record) {
		return func(r *session.Record) { r.Run.Credential = session.Credential{ID: id, Name: "claude, ~/.claude"} }
	}
	rebooted := func(r *session.Record) { r.Run.BootID = "boot-0" }
	queued := func(r *session.Record) {
		r.Intent, r.Run.ID, r.Run.Number, r.Tree, r.Location = session.Queued, "", 0, session.WorkspaceState{}, session.Location{}
	}
	after := func(s *session.Spec) { s.DependsOn = []session.Address{session.Single("b")} }
	hour := Limit{Since: now.Add(-time.Minute), Until: now.Add(time.Hour), Said: true}
	const met = "blocked_api: session.a met a limit of claude, ~/.claude, which resets at 2026-11-21T13:00:00Z"
	for name, c := range map[string]struct {
		limit Limit
		b     []func(*session.Record)
		want  string // of b
	}{
		"a restart":               {hour, []func(*session.Record){rebooted, of("1")}, "hold " + met},
		"a start that waits":      {hour, []func(*session.Record){queued, of("1")}, "hold " + met},
		"another credential":      {hour, []func(*session.Record){rebooted, of("2")}, "restart host_rebooted: host rebooted"},
		"no credential":           {hour, []func(*session.Record){rebooted}, "restart host_rebooted: host rebooted"},
		"it has reset":            {Limit{now.Add(-time.Hour), now, true}, []func(*session.Record){rebooted, of("1")}, "restart host_rebooted: host rebooted"},
		"it resets soon":          {Limit{now, now.Add(9 * time.Minute), true}, []func(*session.Record){rebooted, of("1")}, "restart host_rebooted: host rebooted"},
		"it was long, and is not": {Limit{now.Add(-time.Hour), now.Add(time.Minute), true}, []func(*session.Record){rebooted, of("1")}, "hold blocked_api: session.a met a limit of claude, ~/.claude, which resets at 2026-11-21T12:01:00Z"},
		"nobody knows":            {Limit{Since: now}, []func(*session.Record){rebooted, of("1")}, "restart host_rebooted: host rebooted"},
		"a guess":                 {Limit{Since: now, Until: now.Add(time.Hour)}, []func(*session.Record){rebooted, of("1")}, "restart host_rebooted: host rebooted"},
	} {
		s := newStage().record(restartable("a"), of("1")).live("a").
			record(restartable("b"), func(r *session.Record) {
				for _, change := range c.b {
					change(r)
				}
			}).
			record(restartable("c", after), rebooted, of("3")).
			byHub(func(h *Hub) { h.Limits = map[session.Address]Limit{a: c.limit} })
		p := Compute(s.in)
		got := fmt.Sprintf("%s %s: %s", p.Changes[1].Action, p.Changes[1].Reason, p.Changes[1].Detail)
		if c.want == "" || got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
		isHeld := p.Changes[1].Action == Hold
		if next := p.Next(); isHeld && !next.Equal(c.limit.Until) {
			t.Errorf("%s: it is looked again at %s", name, next)
		}
		if waits := p.Changes[2].Reason == ReasonDependency; waits != isHeld {
			t.Errorf("%s: what depends on it: %s %s", name, p.Changes[2].Reason, p.Changes[2].Detail)
		}
	}
}
