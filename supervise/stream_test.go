package supervise_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/reconcile"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/supervise"
)

// Whoever subscribes gets every event once and in order, also after a hub's end.
func TestEvents(t *testing.T) {
	r := newRoom(t)
	r.apply(r.spec("api"))
	h, stop := r.hub()
	if _, err := h.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := make(chan supervise.Event, 1000)
	var listeners sync.WaitGroup
	listeners.Go(func() {
		for e, err := range h.Events(t.Context(), "") {
			if err != nil {
				t.Error(err)
			}
			got <- e
		}
	})
	next := func(kind history.Kind) supervise.Event {
		t.Helper()
		for {
			select {
			case e := <-got:
				if e.Kind == kind {
					return e
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("no %s", kind)
			}
		}
	}
	time.Sleep(100 * time.Millisecond)
	hand := reconcile.Hand{Addresses: []session.Address{session.Single("api")}, Desired: session.Stopped}
	if _, _, err := h.Do(t.Context(), "ada", hand); err != nil {
		t.Fatal(err)
	}
	set := next(history.OverrideSet)
	end := next(history.ApplyComplete)
	if set.By != "ada" || set.ID == end.ID || end.Time.Before(set.Time) {
		t.Errorf("%+v, then %+v", set, end)
	}
	again := func(h *supervise.Hub, id string) []string {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var kinds []string
		for e, err := range h.Events(ctx, id) {
			if err != nil {
				return []string{err.Error()}
			}
			if kinds = append(kinds, string(e.Kind)); e.Kind == history.ApplyComplete {
				break
			}
		}
		return kinds
	}
	if kinds := again(h, set.ID); !slices.Contains(kinds, "apply_complete") || slices.Contains(kinds, "override_set") {
		t.Errorf("after %s: %q", set.ID, kinds)
	}
	stop()
	listeners.Wait()
	h, _ = r.hub()
	if _, err := h.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if kinds := again(h, set.ID); !slices.Contains(kinds, "apply_complete") || slices.Contains(kinds, "override_set") {
		t.Errorf("another hub, after %s: %q", set.ID, kinds)
	}
	if kinds := again(h, "nonsense"); len(kinds) != 1 || !strings.Contains(kinds[0], "is no id of an event") {
		t.Errorf("after nonsense: %q", kinds)
	}
}
