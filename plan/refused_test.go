package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// TestRefusedCredential checks that a refused credential holds the hub's starts of every session that
// has it until one of them is accepted again, and that nothing else does.
func TestRefusedCredential(t *testing.T) {
	a, b := session.Single("a"), session.Single("b")
	of := func(id string) func(*session.Record) {
		return func(r *session.Record) { r.Run.Credential = session.Credential{ID: id, Name: "claude, ~/.claude"} }
	}
	rebooted := func(r *session.Record) { r.Run.BootID = "boot-0" }
	queued := func(r *session.Record) {
		r.Intent, r.Run.ID, r.Run.Number, r.Tree, r.Location = session.Queued, "", 0, session.WorkspaceState{}, session.Location{}
	}
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	no := Access{Refused: ago(time.Minute), Renewal: "log in again"}
	const refused = "hold credential_refused: the provider refused claude, ~/.claude (401), session.a at 2026-11-21T11:59:00Z: log in again, then start a session that uses it"
	const restart = "restart host_rebooted: host rebooted"
	for name, c := range map[string]struct {
		a, b Access
		is   []func(*session.Record)
		want string // of b
	}{
		"a restart":               {no, Access{}, []func(*session.Record){rebooted, of("1")}, refused},
		"a start that waits":      {no, Access{}, []func(*session.Record){queued, of("1")}, refused},
		"its own":                 {Access{}, Access{Refused: ago(time.Minute), Renewal: "log in again"}, []func(*session.Record){rebooted, of("1")}, "hold credential_refused: the provider refused claude, ~/.claude (401), session.b at 2026-11-21T11:59:00Z: log in again, then start a session that uses it"},
		"another credential":      {no, Access{}, []func(*session.Record){rebooted, of("2")}, restart},
		"no credential":           {no, Access{}, []func(*session.Record){rebooted}, restart},
		"accepted before":         {no, Access{Accepted: ago(time.Hour)}, []func(*session.Record){rebooted, of("1")}, refused},
		"accepted since":          {no, Access{Accepted: ago(time.Second)}, []func(*session.Record){rebooted, of("1")}, restart},
		"accepted, and not since": {Access{Refused: ago(time.Minute), Accepted: ago(time.Hour), Renewal: "log in again"}, Access{}, []func(*session.Record){rebooted, of("1")}, refused},
		"of another, accepted":    {no, Access{Accepted: ago(time.Second)}, []func(*session.Record){rebooted, of("2")}, restart},
		"never refused":           {Access{Accepted: ago(time.Minute)}, Access{}, []func(*session.Record){rebooted, of("1")}, restart},
	} {
		s := newStage().record(restartable("a"), of("1")).live("a").
			record(restartable("b"), func(r *session.Record) {
				for _, change := range c.is {
					change(r)
				}
			}).
			byHub(func(h *Hub) { h.Access = map[session.Address]Access{a: c.a, b: c.b} })
		p := Compute(s.in)
		if got := fmt.Sprintf("%s %s: %s", p.Changes[1].Action, p.Changes[1].Reason, p.Changes[1].Detail); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
		if next := p.Next(); p.Changes[1].Action == Hold && !next.IsZero() {
			t.Errorf("%s: it is looked again at %s", name, next)
		}
	}
}
