package hub_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// working is a scripted runtime whose agents work when they are sent a text, except some.
type working struct {
	*sessiontest.Scripted

	mu    sync.Mutex
	sent  []string
	shows map[string]string // after a text, if not that it works
}

func (w *working) Send(ctx context.Context, p session.Location, in session.Input) error {
	if err := w.Scripted.Send(ctx, p, in); err != nil {
		return err
	}
	if in.Text != "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sent = append(w.sent, fmt.Sprintf("%s %q", p.Name, in.Text))
		screen := w.shows[p.Name]
		if screen == "" {
			screen = "❯ " + in.Text + "\n\n✻ Working… (esc to interrupt)\n\n❯ "
		}
		w.Edit(p.Name, func(st *sessiontest.State) { st.Live.Screen, st.Live.MovedAt = screen, time.Now() })
	}
	return nil
}

func (w *working) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent)
}

// TestResumeStaggered checks that agents at a spent quota are sent "continue" when it has reset,
// one after the other, each once whatever hub sees it, and that no other is.
func TestResumeStaggered(t *testing.T) {
	in(t, func(r *room) {
		end := time.Now().Add(3 * time.Hour)
		rt := &working{Scripted: r.rt, shows: map[string]string{}}
		with := onRuntime(rt)
		staggered := func(s *session.Spec) { s.Limits.Resume = session.ResumeStaggered }
		limit := resetsAt(end)
		var specs []session.Spec
		for name, screen := range map[string]string{"a": limit, "b": limit, "c": limit, "draft": limit + "mine", "asks": limit + "\nDo you want to proceed?\n❯ 1. Yes\n  2. No\n", "left": limit} {
			r.rt.Script(place(name), sessiontest.Step{Screen: "❯ "}, sessiontest.Step{After: time.Minute, Screen: screen})
			s := r.spec(name, subscribed("/home/ada/.claude"))
			if name != "left" {
				staggered(&s)
			}
			specs = append(specs, s)
		}
		r.apply(specs...)
		_, stop := r.hub(with)
		time.Sleep(3*time.Hour - time.Second)
		if got := rt.told(); len(got) != 0 {
			t.Fatalf("before it has reset: %q", got)
		}
		time.Sleep(45 * time.Second)
		stop() // another hub sees what was told
		_, stop = r.hub(with)
		defer stop()
		if d := cmp.Diff([]string{place("a") + ` "continue"`}, rt.told()); d != "" {
			t.Error(d)
		}
		rec := r.record("a")
		if rec.Run.ContinuedAt.Before(end) {
			t.Errorf("recorded: %s", rec.Run.ContinuedAt)
		}
		time.Sleep(time.Hour)
		if d := cmp.Diff([]string{place("a") + ` "continue"`, place("b") + ` "continue"`, place("c") + ` "continue"`}, rt.told()); d != "" {
			t.Error(d)
		}
		if got := r.events("b", history.Sent); !slices.Equal(got, []string{"sent limit_over"}) {
			t.Errorf("events of b: %q", got)
		}
	})
}

// TestResumeStopsAtTheNextLimit checks that none is sent "continue" after the first agent has met
// another limit.
func TestResumeStopsAtTheNextLimit(t *testing.T) {
	in(t, func(r *room) {
		end := time.Now().Add(3 * time.Hour)
		rt := &working{Scripted: r.rt, shows: map[string]string{place("a"): "❯ continue\n\n" + resetsAt(end.Add(5*time.Hour))}}
		var specs []session.Spec
		for _, name := range []string{"a", "b"} {
			r.rt.Script(place(name), sessiontest.Step{Screen: "❯ "}, sessiontest.Step{After: time.Minute, Screen: resetsAt(end)})
			specs = append(specs, r.spec(name, subscribed("/home/ada/.claude"), func(s *session.Spec) { s.Limits.Resume = session.ResumeStaggered }))
		}
		r.apply(specs...)
		_, stop := r.hub(onRuntime(rt))
		defer stop()
		time.Sleep(7 * time.Hour)
		if d := cmp.Diff([]string{place("a") + ` "continue"`}, rt.told()); d != "" {
			t.Error(d)
		}
	})
}

// TestResumeAfterAnExit checks that an agent that exited at its limit is started when that ends, as it
// has said, and sent "continue" once whatever hub sees it.
func TestResumeAfterAnExit(t *testing.T) {
	in(t, func(r *room) {
		end := time.Now().Add(3 * time.Hour)
		rt := &working{Scripted: r.rt, shows: map[string]string{}}
		dir := filepath.Join(r.dir, "login")
		with := onRuntime(rt)
		r.rt.Script(place("a"), sessiontest.Step{Screen: "❯ \n  ? for shortcuts"})
		r.apply(r.spec("a", subscribed(dir), func(s *session.Spec) { s.Limits.Resume, s.Restart.Resume = session.ResumeStaggered, true }))
		_, stop := r.hub(with)
		time.Sleep(time.Minute)
		r.wroteEnd(dir, "a", "rate_limit", "You've hit your limit · resets "+strings.ToLower(end.Format("3:04PM")))
		time.Sleep(time.Minute)
		r.rt.Kill(place("a"))
		time.Sleep(time.Until(end) - time.Second)
		if n := r.launches("a"); n != 1 {
			t.Fatalf("it was started %d times before: %q", n, r.events("a"))
		}
		time.Sleep(40 * time.Second)
		stop() // another hub sees what was started
		_, stop = r.hub(with)
		defer stop()
		time.Sleep(10 * time.Minute)
		if d := cmp.Diff([]string{place("a") + ` "continue"`}, rt.told()); d != "" || r.launches("a") != 2 {
			t.Errorf("%s%d starts: %q", d, r.launches("a"), r.events("a"))
		}
	})
}
