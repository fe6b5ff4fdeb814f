package hub_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/session"
)

// In an episode a fault is reported once. A pause repeats no report, and what goes wrong
// after the session was resumed is reported again.
func TestEpisodes(t *testing.T) {
	in(t, func(r *room) {
		spec := r.spec("api")
		r.apply(spec)
		h, _ := r.hub()
		time.Sleep(time.Minute)
		if err := os.RemoveAll(spec.Workspace.Path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		want := []string{"escalated workspace_gone"}
		if got := r.events("api", history.Escalated); !cmp.Equal(got, want) {
			t.Fatalf("escalated %q, want %q", got, want)
		}
		do := func(d session.Desired) {
			t.Helper()
			if _, _, err := h.Do(r.t.Context(), "ada", engine.Override{Addresses: []session.Address{session.Single("api")}, Desired: d}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		do(session.Paused)
		if s, _ := r.rt.State(place("api")); !s.Live.InputOff {
			t.Fatalf("it is not paused: %q", r.events("api"))
		}
		if got := r.events("api", history.Escalated); !cmp.Equal(got, want) {
			t.Errorf("after a pause: escalated %q, want %q", got, want)
		}
		if err := os.Mkdir(spec.Workspace.Path, 0o755); err != nil {
			t.Fatal(err)
		}
		do(session.Running)
		if err := os.RemoveAll(spec.Workspace.Path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		want = append(want, want[0])
		if got := r.events("api", history.Escalated); !cmp.Equal(got, want) {
			t.Errorf("after a resume: escalated %q, want %q", got, want)
		}
	})
}
