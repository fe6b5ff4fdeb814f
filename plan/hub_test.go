package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// byHub makes the stage's plan the hub's: what is on record is what is wanted.
func (s *stage) byHub(change ...func(*Hub)) *stage {
	s.in.Wanted = nil
	for _, r := range s.in.Records {
		s.want(r.Spec)
	}
	s.in.ByHand, s.in.Hub = true, &Hub{}
	for _, c := range change {
		c(s.in.Hub)
	}
	return s
}

// restartable is a session with the manifest's default policy.
func restartable(name string, change ...func(*session.Spec)) session.Spec {
	return spec(name, append([]func(*session.Spec){func(s *session.Spec) {
		s.Restart = session.Restart{Policy: "on-failure", Attempts: 5, Window: session.Duration(15 * time.Minute), EscalateAfter: 3,
			Backoff: session.Backoff{Initial: session.Duration(5 * time.Second), Factor: 2, Max: session.Duration(5 * time.Minute), ResetAfter: session.Duration(10 * time.Minute)}}
	}}, change...)...)
}

func died(ago time.Duration) func(*session.Live) {
	return func(l *session.Live) {
		l.Liveness = session.Dead
		l.Exit = &session.Exit{Cause: "self", Code: 1, At: now.Add(-ago)}
	}
}

func TestHub(t *testing.T) {
	a := session.Single("a")
	never := func(s *session.Spec) { s.Restart.Policy = "never" }
	tries := func(n int) func(*Hub) {
		return func(h *Hub) {
			c := health.Count{}
			for i := range n {
				c.Tries = append(c.Tries, now.Add(-time.Duration(n-i)*time.Minute))
			}
			h.Restarts = map[session.Address]health.Count{a: c}
		}
	}
	for name, c := range map[string]struct {
		stage *stage
		hub   func(*Hub)
		want  string
	}{
		"dead, and waited for": {newStage().record(restartable("a")).live("a", died(6*time.Second)), nil, "restart failed: agent exited (exit status 1), 1 of 5"},
		"dead again":           {newStage().record(restartable("a")).live("a", died(14*time.Minute)), tries(2), "restart failed: agent exited (exit status 1), 3 of 5"},
		"dead for a moment":    {newStage().record(restartable("a")).live("a", died(time.Second)), nil, "hold backing_off: backing off, next try 2026-11-21T12:00:04Z (1 of 5)"},
		"gone":                 {newStage().record(restartable("a")), nil, "hold backing_off: backing off, next try 2026-11-21T12:00:05Z (1 of 5)"},
		"left":                 {newStage().record(restartable("a")).live("a", exitedWith("self", 0, "")), nil, "hold restart_policy: agent exited (exit status 0); the restart policy does not restart it"},
		"never":                {newStage().record(restartable("a", never)).live("a", died(time.Hour)), nil, "hold restart_policy: agent exited (exit status 1); the restart policy does not restart it"},
		"spent":                {newStage().record(restartable("a")).live("a", died(0)), tries(5), "hold budget_spent: agent exited (exit status 1); not restarted: 5 attempts within 15m are used up"},
		"a limit":              {newStage().record(restartable("a")).live("a", died(time.Hour)), func(h *Hub) { h.Limits = map[session.Address]Limit{a: {Until: now.Add(time.Minute)}} }, "hold blocked_api: its agent exited at a limit of the model's provider"},
		"a limit that is over": {newStage().record(restartable("a")).live("a", died(0)), func(h *Hub) { h.Limits = map[session.Address]Limit{a: {Until: now}} }, "restart limit_over: agent exited (exit status 1)"},
		"its turn after a limit comes later": {newStage().record(restartable("a")).live("a", died(0)), func(h *Hub) {
			h.Limits, h.Waiting = map[session.Address]Limit{a: {Until: now}}, map[session.Address]session.Address{a: session.Single("b")}
		}, "hold blocked_api: its limit has ended; it is started after session.b has resumed"},
		"a secret":              {newStage().record(restartable("a")).live("a", died(time.Hour)), func(h *Hub) { h.Lacking = map[session.Address]string{a: "secret K"} }, "hold secret_unavailable: secret K"},
		"a secret, backing off": {newStage().record(restartable("a")).live("a", died(0)), func(h *Hub) { h.Lacking = map[session.Address]string{a: "secret K"} }, "hold backing_off: backing off, next try 2026-11-21T12:00:05Z (1 of 5)"},
		"rebooted":              {newStage().record(restartable("a"), func(r *session.Record) { r.Run.BootID = "boot-0" }), tries(5), "restart host_rebooted: host rebooted"},
		"stopped by hand": {newStage().record(restartable("a"), func(r *session.Record) {
			r.Override = &session.Override{Desired: session.Stopped, By: "ada", At: now.In(time.FixedZone("", 3600))}
		}), nil, "none desired_stopped: stopped by ada at 2026-11-21T12:00:00Z"},
		"a start that was begun": {newStage().record(restartable("a", func(s *session.Spec) { s.Desired = session.Stopped }), func(r *session.Record) {
			r.Override = &session.Override{Desired: session.Running, By: "ada", At: now}
		}), nil, "hold backing_off: backing off, next try 2026-11-21T12:00:05Z (1 of 5)"},
		"finished":               {newStage().record(restartable("a", func(s *session.Spec) { s.Agent.OneShot = true; s.Restart.Policy = "always" })).live("a", exitedWith("self", 0, "")), nil, "none finished: finished"},
		"well":                   {newStage().record(restartable("a")).live("a"), nil, "none in_sync: running"},
		"sick":                   {newStage().record(restartable("a")).live("a"), sick(a, "run-a"), "hold backing_off: backing off, next try 2026-11-21T12:00:05Z (1 of 5)"},
		"sick, of another run":   {newStage().record(restartable("a")).live("a"), sick(a, "run-z"), "none in_sync: running"},
		"sick, and never":        {newStage().record(restartable("a", never)).live("a"), sick(a, "run-a"), "hold restart_policy: hung; the restart policy does not restart it"},
		"a removal":              {newStage().record(restartable("a"), func(r *session.Record) { r.Intent = session.Removing }), nil, "hold interrupted: its removal was interrupted; apply"},
		"an interrupted restart": {newStage().record(restartable("a"), func(r *session.Record) { r.Intent = session.Restarting }).live("a"), nil, "update interrupted: interrupted restart is completed"},
	} {
		s := c.stage.byHub()
		if c.hub != nil {
			c.hub(s.in.Hub)
		}
		p := Compute(s.in)
		got := fmt.Sprintf("%s %s: %s", p.Changes[0].Action, p.Changes[0].Reason, withCode(p.Changes[0].Detail, p.Changes[0].Remedy))
		if try := p.Changes[0].Try(); try != "" {
			got += ", " + try
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
		if spent := p.Changes[0].Reason == ReasonBudgetSpent; spent && p.Changes[0].State != session.StateError {
			t.Errorf("%s: its state is %s", name, p.Changes[0].State)
		}
	}
}

func sick(a session.Address, run string) func(*Hub) {
	return func(h *Hub) { h.Sick = map[session.Address]Sick{a: {Run: run, Detail: "hung"}} }
}

// A few at a time are started, what they depend on first and when it is ready.
func TestAFewAtATime(t *testing.T) {
	s := newStage()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.record(restartable(name), func(r *session.Record) { r.Run.BootID = "boot-0" })
	}
	p := Compute(s.byHub(func(h *Hub) { h.AtOnce = 2 }).in)
	if got := p.Summary(); got.Restart != 2 || got.Hold != 3 {
		t.Errorf("%d are restarted and %d held, want 2 and 3", got.Restart, got.Hold)
	}
	if got := p.Next(); !got.Equal(now.Add(startSpacing)) {
		t.Errorf("it is looked again at %s", got)
	}
	s = newStage().record(restartable("a"), func(r *session.Record) { r.Run.StartedAt = now.Add(-time.Second) }).live("a").
		record(restartable("b"), func(r *session.Record) { r.Run.BootID = "boot-0" })
	if p = Compute(s.byHub(func(h *Hub) { h.AtOnce = 1 }).in); p.Changes[1].Action != Hold {
		t.Errorf("beside one that was just started: %s", p.Changes[1].Action)
	}
	s = newStage().record(restartable("a")).live("a").
		record(restartable("b", func(s *session.Spec) { s.DependsOn = []session.Address{session.Single("a")} }), func(r *session.Record) { r.Run.BootID = "boot-0" })
	s.byHub().in.Doing = map[session.Address]session.Doing{session.Single("a"): {Run: s.in.Records[0].Run.ID, Activity: session.NoActivity, Starting: true}}
	p = Compute(s.in)
	if got := p.Changes[1]; got.Reason != ReasonDependency || !strings.Contains(got.Detail, "not ready") {
		t.Errorf("what it depends on boots: %s %s", got.Reason, got.Detail)
	}
}

// What crashes again and again keeps nobody from being started.
func TestCrashLoopsGoLast(t *testing.T) {
	s := newStage().record(restartable("a")).live("a", died(time.Hour)).record(restartable("b")).live("b", died(time.Hour))
	p := Compute(s.byHub(func(h *Hub) {
		h.AtOnce = 1
		h.Restarts = map[session.Address]health.Count{session.Single("a"): {Tries: []time.Time{now.Add(-5 * time.Minute), now.Add(-4 * time.Minute)}}}
	}).in)
	if a, b := p.Changes[0], p.Changes[1]; a.Reason != ReasonQueued || b.Action != Restart {
		t.Errorf("the one that crashes is %s (%s), the other %s", a.Action, a.Reason, b.Action)
	}
}

// Whatever the world is, the hub makes, replaces and takes away nothing, starts
// nothing that finished or was stopped by hand, and touches no workspace that is on
// another branch.
func TestHubNeverChangesAnIntent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyStage(t).byHub(func(h *Hub) {
			h.AtOnce = rapid.IntRange(0, 3).Draw(t, "at once")
			h.Sick = map[session.Address]Sick{session.Single("a"): {Run: "run-a", Detail: "hung"}}
		})
		for i := range s.in.Records {
			r := restartable("x").Restart
			r.Policy = rapid.SampledFrom([]string{"never", "on-failure", "always"}).Draw(t, "policy")
			s.in.Records[i].Spec.Restart, s.in.Wanted[i].Restart = r, r
		}
		p := Compute(s.in)
		for _, c := range p.Changes {
			switch c.Action {
			case None, Hold, Restart, Pause, Resume, Stop, Update:
			case Create:
				if c.Before == nil || c.Before.Intent != session.Creating {
					t.Fatalf("%s is created", c.Address)
				}
			default:
				t.Fatalf("the hub does %s to %s", c.Action, c.Address)
			}
			if !starts(c) {
				continue
			}
			if Desired(*c.Before) == session.Stopped {
				t.Fatalf("%s is started and was stopped", c.Address)
			}
			if c.State == session.StateStopped && c.Before.Spec.Agent.OneShot && c.Reason != ReasonResume {
				t.Fatalf("%s is started (%s) and was over", c.Address, c.Reason)
			}
			if c.Before.Spec.Restart.Policy == "never" && c.Reason != ReasonRebooted && c.Reason != ReasonResume {
				t.Fatalf("%s is started (%s) and its policy is never", c.Address, c.Reason)
			}
		}
	})
}

func TestMoments(t *testing.T) {
	e := func(k history.Kind, by, action, reason string) history.Event {
		return history.Event{Time: now, Kind: k, By: by, Action: action, Reason: reason, New: "2026-11-21T12:00:05.5Z"}
	}
	for _, c := range []struct {
		event history.Event
		want  string
	}{
		{e(history.ApplyStart, "ada", "restart", "requested"), "[7]"},
		{e(history.ApplyStart, "ada", "pause", ""), "[]"},
		{e(history.ApplyStart, history.ByHub, "restart", "stale"), "[0]"},
		{e(history.ApplyStart, history.ByHub, "restart", "host_rebooted"), "[]"},
		{e(history.ApplyStart, history.ByHub, "update", "interrupted"), "[]"},
		{e(history.ApplyStart, history.ByHub, "create", "not_recorded"), "[]"},
		{e(history.ApplyStart, history.ByHub, "restart", "queued"), "[]"},
		{e(history.ApplyStart, history.ByHub, "create", "interrupted"), "[0]"},
		{e(history.Held, "ada", "", "dependency_not_ready"), "[7]"},
		{e(history.Held, history.ByHub, "", "backing_off"), "[5]"},
		{e(history.Held, history.ByHub, "", "restart_policy"), "[]"},
	} {
		var got []int
		for _, m := range Moments([]history.Event{c.event}) {
			got = append(got, map[health.What]int{health.Tried: 0, health.Held: 5, health.Cleared: 7}[m.What])
			if m.What == health.Held && !m.Until.Equal(now.Add(5500*time.Millisecond)) {
				t.Errorf("held until %s", m.Until)
			}
		}
		if s := fmt.Sprint(got); s != c.want {
			t.Errorf("%s %s %s by %s: %s, want %s", c.event.Kind, c.event.Action, c.event.Reason, c.event.By, s, c.want)
		}
	}
}
