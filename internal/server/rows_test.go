package server

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// merge returns sessions after a document, as the page does it (model/fleet.mjs).
func merge(sessions []api.Session, d api.StatusDocument) []api.Session {
	if d.Since == "" {
		return d.Sessions
	}
	all := slices.DeleteFunc(slices.Clone(sessions), func(x api.Session) bool {
		return slices.Contains(d.Removed, x.Address) ||
			slices.ContainsFunc(d.Sessions, func(y api.Session) bool { return y.Address == x.Address })
	})
	for i, x := range d.Sessions {
		all = slices.Insert(all, d.Indexes[i], x)
	}
	return all
}

// TestMergedRows checks that readers that ask at any time, whatever of the answers they get, have the
// sessions in their order, also when the hub was another one meanwhile.
func TestMergedRows(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	r := newRows()
	type reader struct {
		ranked   bool
		version  string
		sessions []api.Session
	}
	readers := []reader{{ranked: true}, {ranked: true}, {}}
	states := []session.State{session.StateRunning, session.StateStale, session.StatePaused, session.StateError, session.StateStopped}
	fleet := map[int]status.Input{}
	at := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	partial := 0
	for round := range 300 {
		at = at.Add(time.Second)
		for range random.IntN(4) {
			i := random.IntN(20)
			if random.IntN(4) == 0 {
				delete(fleet, i)
				continue
			}
			fleet[i] = status.Input{
				At: at, Queue: random.IntN(3),
				Record:    &session.Record{Address: session.Indexed("s", i), ID: fmt.Sprint("s-", i), Spec: session.Spec{Priority: random.IntN(3)}},
				Diagnosis: plan.Diagnosis{State: states[random.IntN(len(states))]},
			}
		}
		s := &hub.Snapshot{At: at}
		for i := range 20 {
			if k, there := fleet[i]; there {
				s.Sessions = append(s.Sessions, k)
			}
		}
		if round == 150 {
			r = newRows()
			r.life = "another"
		}
		for i := range readers {
			x := &readers[i]
			if random.IntN(3) == 0 {
				continue // it does not ask this time
			}
			d := r.document(s, x.ranked, x.version)
			if random.IntN(4) == 0 {
				continue // the answer is lost
			}
			if d.Since != "" && d.Since != x.version {
				t.Fatalf("round %d: changes since %s, and %s was asked for", round, d.Since, x.version)
			}
			if d.Since != "" && len(d.Sessions) < len(s.Sessions) {
				partial++
			}
			x.sessions, x.version = merge(x.sessions, d), d.Version
			whole := r.document(s, x.ranked, "")
			if diff := cmp.Diff(whole.Sessions, x.sessions); diff != "" || whole.Version != x.version {
				t.Fatalf("round %d, version %s, not %s: (-all +merged)\n%s", round, x.version, whole.Version, diff)
			}
			if whole.Since != "" || !cmp.Equal(d.Counts, whole.Counts) {
				t.Fatalf("round %d: the counts are %v, not %v", round, d.Counts, whole.Counts)
			}
		}
	}
	if partial < 300 {
		t.Errorf("%d answers have only what has changed", partial)
	}
}

// TestVersions checks which versions are known, and that nothing new is no new version.
func TestVersions(t *testing.T) {
	t.Parallel()
	r := newRows()
	at := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	of := func(most int) *hub.Snapshot {
		at = at.Add(time.Second)
		s := &hub.Snapshot{At: at}
		for i := range most {
			s.Sessions = append(s.Sessions, status.Input{Record: &session.Record{Address: session.Indexed("s", i)}})
		}
		return s
	}
	first := r.document(of(mostGone+3), false, "")
	again := r.document(of(mostGone+3), false, first.Version)
	if again.Version != first.Version || again.Since != first.Version || len(again.Sessions) != 0 || again.Sessions == nil {
		t.Errorf("nothing has changed, and version %s has %d sessions since %q", again.Version, len(again.Sessions), again.Since)
	}
	newest := of(mostGone + 2)
	older := *newest
	older.At, older.Sessions = newest.At.Add(-time.Millisecond), older.Sessions[:1]
	removed := r.document(newest, false, first.Version)
	if !slices.Equal(removed.Removed, []session.Address{session.Indexed("s", mostGone+2)}) || len(removed.Sessions) != 0 {
		t.Errorf("one was removed: %v, %d sessions", removed.Removed, len(removed.Sessions))
	}
	if late := r.document(&older, false, removed.Version); late.Version != removed.Version || len(late.Removed) > 0 {
		t.Errorf("a snapshot from before is version %s, with %d removed", late.Version, len(late.Removed))
	}
	for _, unknown := range []string{"", "nonsense", "a.b.c", r.life, r.life + ".0", r.life + ".-1", r.life + ".99", "other.1", "." + first.Version} {
		if d := r.document(newest, false, unknown); d.Since != "" || len(d.Sessions) != mostGone+2 {
			t.Errorf("of version %q only what has changed is said: %d sessions", unknown, len(d.Sessions))
		}
	}
	few := r.document(of(1), false, removed.Version)
	if few.Since != "" || len(few.Sessions) != 1 {
		t.Errorf("too many were removed to remember: %d sessions, %d removed, since %q", len(few.Sessions), len(few.Removed), few.Since)
	}
	if d := r.document(of(1), false, few.Version); d.Since != few.Version {
		t.Errorf("the version after that is not known")
	}
}
