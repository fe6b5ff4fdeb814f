package hub_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// Whoever subscribes gets every event once and in order, also after a hub's end.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		r.apply(r.spec("api"))
		r.rt.Faults.Slow(sessiontest.OpStop, time.Second) // events of one moment are not told apart after a hub's end
		h, stop := r.hub()
		if _, err := h.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := make(chan hub.Event, 1000)
		var listeners sync.WaitGroup
		events, err := h.Events(t.Context(), "") // from here on nothing is missed
		if err != nil {
			t.Fatal(err)
		}
		listeners.Go(func() {
			for e := range events {
				k, _ := h.Snapshot().Of(e.Address)
				if e.Kind == history.OverrideSet && k.Record.Override == nil {
					t.Error("the snapshot lacks what an event says")
				}
				got <- e
			}
		})
		next := func(kind history.Kind) hub.Event {
			t.Helper()
			for {
				if e := <-got; e.Kind == kind {
					return e
				}
			}
		}
		hand := engine.Override{Addresses: []session.Address{session.Single("api")}, Desired: session.Stopped}
		if _, _, err := h.Do(t.Context(), "ada", hand); err != nil {
			t.Fatal(err)
		}
		set := next(history.OverrideSet)
		end := next(history.ApplyComplete)
		if set.By != "ada" || set.ID == end.ID || end.Time.Before(set.Time) {
			t.Errorf("%+v, then %+v", set, end)
		}
		again := func(h *hub.Hub, id string) []string {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			var kinds []string
			events, err := h.Events(ctx, id)
			if err != nil {
				return []string{err.Error()}
			}
			for e := range events {
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
		if kinds := again(h, "nonsense"); len(kinds) != 1 || !strings.Contains(kinds[0], "is not the id of an event") {
			t.Errorf("after nonsense: %q", kinds)
		}
	})
}

// What is done in somebody's name is in the history with it, and what cannot be done
// says why.
func TestHands(t *testing.T) {
	r := newRoom(t)
	r.apply(r.spec("api"))
	h, _ := r.hub()
	if _, err := h.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	api := session.Single("api")
	if _, err := h.Send(t.Context(), "ada", api, session.Input{Key: "Escape"}); err != nil {
		t.Errorf("send: %v", err)
	}
	if s, _ := r.rt.State(place("api")); len(s.Sent) != 1 || s.Sent[0].Key != "Escape" {
		t.Errorf("typed: %+v", s.Sent)
	}
	sent := r.history("api")
	if e := sent[len(sent)-1]; e.Kind != history.Sent || e.By != "ada" || e.Detail != "key Escape" {
		t.Errorf("its history ends with %+v", e)
	}
	var unknown *engine.UnknownError
	if _, err := h.Send(t.Context(), "ada", session.Single("nobody"), session.Input{Text: "x"}); !errors.As(err, &unknown) {
		t.Errorf("to one that is not there: %v", err)
	}
	if _, _, err := h.Do(t.Context(), "ada", engine.Override{Addresses: []session.Address{session.Single("nobody")}, Desired: session.Stopped}); !errors.As(err, &unknown) {
		t.Errorf("stop of one that is not there: %v", err)
	}
	r.rt.Kill(place("api"))
	if _, err := h.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Send(t.Context(), "ada", api, session.Input{Text: "x"}); !errors.Is(err, session.ErrGone) {
		t.Errorf("to one that is dead: %v", err)
	}
}
