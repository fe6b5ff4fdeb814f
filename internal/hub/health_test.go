package hub_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

// probed is the scripted runtime with shims that can be asked.
type probed struct {
	*sessiontest.Scripted
	r *room
}

func (p probed) Probe(_ context.Context, place session.Location, _ string, argv []string, _ time.Duration) (string, error) {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	p.r.asked[place.Name]++
	return p.r.failing[place.Name], nil
}

func (p probed) Unread(_ context.Context, place session.Location, _ string) (int, error) {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	p.r.asked[place.Name]++
	if p.r.failing[place.Name] != "" {
		return 3, nil
	}
	return 0, nil
}

// Events tells once that something happened, fails once, and then waits.
func (p probed) Events(ctx context.Context, happened func()) error {
	p.r.mu.Lock()
	p.r.listened++
	n := p.r.listened
	p.r.mu.Unlock()
	if n == 1 {
		return errors.New("the daemon is away")
	}
	happened()
	<-ctx.Done()
	return ctx.Err()
}

// A runtime that tells what happens is listened to once, and again after it could
// not tell.
func TestRuntimeThatTells(t *testing.T) {
	in(t, func(r *room) {
		slow := func(s *session.Spec) { s.Health.Interval = session.Duration(time.Hour) }
		r.apply(r.spec("api", slow), r.spec("web", slow))
		h, _ := r.hub(r.withProber)
		time.Sleep(time.Second)
		first := h.Snapshot().At
		r.rt.Kill(place("api"))
		time.Sleep(time.Minute)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.listened != 2 {
			t.Errorf("it was listened to %d times, want 2", r.listened)
		}
		if !h.Snapshot().At.After(first) {
			t.Error("nobody looked")
		}
	})
}

// withProber lets the hub's runtime be one whose sessions can be probed.
func (r *room) withProber(c *hub.Config) {
	onRuntime(probed{r.rt, r})(c)
}

func (r *room) fail(name, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing[place(name)] = why
}

// A heartbeat that fails ends only an agent that gives no other sign of life.
func TestHeartbeats(t *testing.T) {
	in(t, func(r *room) {
		beat := func(change ...func(*session.Spec)) func(*session.Spec) {
			return func(s *session.Spec) {
				s.Health.Heartbeat = &session.Heartbeat{Command: []string{"true"}}
				s.Agent.Patterns.Working, s.Agent.Ready, s.Agent.StatusBarLines = []string{"busy"}, "^> ?$", 3
				for _, c := range change {
					c(s)
				}
			}
		}
		escalate := func(s *session.Spec) { s.Health.OnUnhealthy = "escalate" }
		ignore := func(s *session.Spec) { s.Health.OnUnhealthy = "ignore" }
		r.rt.Script(place("mute"), sessiontest.Step{After: time.Second, Screen: "hello"})
		r.rt.Script(place("rests"), sessiontest.Step{After: time.Second, Screen: "> "})
		var moves []sessiontest.Step
		for i := range 900 {
			moves = append(moves, sessiontest.Step{After: time.Duration(i) * 5 * time.Second, Screen: fmt.Sprintf("line %d", i)})
		}
		r.rt.Script(place("prints"), moves...)
		r.apply(r.spec("mute", beat()), r.spec("rests", beat()), r.spec("prints", beat()), r.spec("told", beat(escalate)), r.spec("ignored", beat(ignore)), r.spec("well", beat()))
		_, _ = r.hub(r.withProber)
		time.Sleep(time.Minute)
		for _, name := range []string{"mute", "rests", "prints", "told", "ignored"} {
			r.fail(name, "exit status 1")
		}
		time.Sleep(2 * time.Minute)
		for name, want := range map[string]int{"mute": 2, "rests": 1, "prints": 1, "told": 1, "ignored": 1, "well": 1} {
			if got := r.launches(name); got != want && !(name == "mute" && got > 1) {
				t.Errorf("%s was started %d times, want %d: %q", name, got, want, r.events(name))
			}
		}
		for _, name := range []string{"rests", "prints", "told"} {
			if got, want := r.events(name, history.Unhealthy, history.Escalated), []string{"unhealthy heartbeat", "escalated unhealthy"}; !cmp.Equal(got, want) {
				t.Errorf("%s: told %q, want %q", name, got, want)
			}
		}
		if got := r.events("ignored", history.Unhealthy, history.Escalated); !cmp.Equal(got, []string{"unhealthy heartbeat"}) {
			t.Errorf("ignored: told %q", got)
		}
		if got := r.events("well", history.Unhealthy); len(got) != 0 {
			t.Errorf("well: told %q", got)
		}
		r.fail("rests", "")
		time.Sleep(time.Minute)
		if got := r.events("rests", history.Healthy); len(got) != 1 {
			t.Errorf("that it is well again was told %d times", len(got))
		}
	})
}

// stuck is a runtime whose probes take for as long as they may.
type stuck struct {
	probed
	begun *atomic.Int64
}

func (s stuck) Probe(ctx context.Context, _ session.Location, _ string, _ []string, _ time.Duration) (string, error) {
	s.begun.Add(1)
	<-ctx.Done()
	return "", ctx.Err()
}

// A hub that ends takes no heartbeat that was still to be taken.
func TestHeartbeatsEndWithTheHub(t *testing.T) {
	in(t, func(r *room) {
		var specs []session.Spec
		for i := range 12 {
			specs = append(specs, r.spec(fmt.Sprint("s", i), func(s *session.Spec) { s.Health.Heartbeat = &session.Heartbeat{Command: []string{"true"}} }))
		}
		r.apply(specs...)
		var begun atomic.Int64
		_, stop := r.hub(onRuntime(stuck{probed{r.rt, r}, &begun}))
		time.Sleep(time.Minute)
		at := begun.Load()
		stop()
		if n := begun.Load(); at == 0 || n != at {
			t.Errorf("%d heartbeats were begun, and %d when the hub had ended", at, n)
		}
	})
}

// A key is typed only where an agent rests before an empty composer, and fails it
// when it is not read.
func TestHeartbeatByKey(t *testing.T) {
	in(t, func(r *room) {
		key := func(s *session.Spec) {
			s.Health.Heartbeat = &session.Heartbeat{Key: "F12"}
			s.Agent.Ready, s.Agent.StatusBarLines = "^> ?$", 3
			s.Agent.Patterns.Blocked = []string{"allow it"}
		}
		r.rt.Script(place("rests"), sessiontest.Step{After: time.Second, Screen: "> "})
		r.rt.Script(place("asks"), sessiontest.Step{After: time.Second, Screen: "allow it?"})
		r.rt.Script(place("draft"), sessiontest.Step{After: time.Second, Screen: "> half a sen"})
		r.apply(r.spec("rests", key), r.spec("asks", key), r.spec("draft", key))
		r.fail("rests", "it hangs")
		_, _ = r.hub(r.withProber)
		time.Sleep(3 * time.Minute)
		for name, want := range map[string]bool{"rests": true, "asks": false, "draft": false} {
			s, _ := r.rt.State(place(name))
			if got := len(s.Sent) > 0; got != want {
				t.Errorf("%s: typed %v, want %v: %+v", name, got, want, s.Sent)
			}
		}
		if got := r.events("rests", history.Unhealthy); !cmp.Equal(got, []string{"unhealthy heartbeat"}) {
			t.Errorf("told %q", got)
		}
		if r.launches("rests") != 1 {
			t.Error("it was ended by a heartbeat alone")
		}
	})
}

// What the hub found to be wrong is what everybody sees of the session, by the hub and
// by whoever reads its history when there is no hub any more.
func TestWhatIsWrongIsShown(t *testing.T) {
	in(t, func(r *room) {
		r.apply(r.spec("api", func(s *session.Spec) {
			s.Health.Heartbeat = &session.Heartbeat{Command: []string{"test", "-e", "ALIVE"}}
			s.Health.Failures = 2
			s.Health.OnUnhealthy = "escalate"
		}))
		h, stop := r.hub(r.withProber)
		shown := func() api.Session {
			k, _ := h.Snapshot().Of(session.Single("api"))
			return status.Of(k)
		}
		fails := func(why string) {
			r.mu.Lock()
			r.failing[place("api")] = why
			r.mu.Unlock()
			time.Sleep(2 * time.Minute)
		}
		fails("exit status 1")
		x := shown()
		if x.Health != "unhealthy" || x.Unhealthy == nil || x.Unhealthy.Reason != "heartbeat" || !strings.Contains(x.Detail, "unhealthy: its heartbeat failed") {
			t.Errorf("shown: %s, %+v, %q", x.Health, x.Unhealthy, x.Detail)
		}
		since := x.Unhealthy
		if found, escalated := activity.Illness(r.record("api"), r.history("api")); found == nil || !escalated {
			t.Errorf("read from the history: %+v", found)
		}
		fails("")
		x = shown()
		if found, _ := activity.Illness(r.record("api"), r.history("api")); x.Health != "healthy" || x.Unhealthy != nil || found != nil {
			t.Errorf("well again it is shown as %s, %+v", x.Health, x.Unhealthy)
		}
		fails("exit status 1")
		// However much else happens, it stays known, also to the next hub.
		for i := range 900 {
			e := history.Event{Time: r.now(), Kind: history.StatusChanged, New: fmt.Sprint(i), Run: r.record("api").Run.ID}
			if err := history.Append(state.Folder(r.dir, r.record("api")), e); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if x := shown(); x.Unhealthy == nil || !x.Unhealthy.Since.After(since.Since) {
			t.Errorf("after 900 events it is shown as %s, %+v", x.Health, x.Unhealthy)
		}
		stop()
		if found, _ := activity.Illness(r.record("api"), r.history("api")); found == nil {
			t.Error("without a hub it is not known any more")
		}
		if got := r.events("api", history.Unhealthy); len(got) != 2 {
			t.Errorf("told %q", got)
		}
	})
}

// A runtime may report the end of a session before it shows it: the look after the report
// says unknown, nothing is reported any more, and the sweep is an hour away. One that stays
// unknown is looked at ever less often.
func TestUnknownIsLookedAtAgain(t *testing.T) {
	in(t, func(r *room) {
		r.apply(r.spec("api", func(s *session.Spec) { s.Health.Interval = session.Duration(time.Hour) }))
		h, _ := r.hub()
		time.Sleep(time.Minute)
		unknown := func(s *sessiontest.State) { s.Live.Liveness = session.Unknown }
		r.rt.Edit(place("api"), unknown)
		h.Wake()
		time.Sleep(time.Second)
		r.rt.Kill(place("api"))
		time.Sleep(7 * time.Second) // the backoff is 5 s
		if r.launches("api") != 2 || !r.alive("api") {
			t.Errorf("it was started %d times: %q", r.launches("api"), r.events("api"))
		}
		time.Sleep(time.Minute)
		r.rt.Edit(place("api"), unknown)
		r.rt.Forget()
		h.Wake()
		time.Sleep(59 * time.Minute)
		if looks := len(r.rt.Calls(sessiontest.OpObserve)); looks > 20 {
			t.Errorf("within an hour it was looked at %d times", looks)
		}
	})
}
