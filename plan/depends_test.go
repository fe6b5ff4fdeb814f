package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/session"
)

// What a session waits for in one that it depends on, and what it starts after.
func TestDependencies(t *testing.T) {
	a, b := session.Single("a"), session.Single("b")
	oneShot := func(s *session.Spec) { s.Agent.OneShot = true }
	after := func(until session.Await) session.Spec {
		return restartable("b", func(s *session.Spec) {
			s.DependsOn, s.Until = []session.Address{a}, map[session.Address]session.Await{a: until}
		})
	}
	left := func(code int) func(*session.Live) {
		return func(l *session.Live) {
			l.Liveness, l.Exit = session.Dead, &session.Exit{Cause: "self", Code: code}
		}
	}
	does := func(activity session.Activity, turn bool) map[session.Address]session.Doing {
		return map[session.Address]session.Doing{a: {Run: "run-a", Activity: activity, Turn: turn, Since: now.Add(-3 * time.Minute)}}
	}
	shot := func() *stage { return newStage().record(restartable("a", oneShot)).want(restartable("a", oneShot)) }
	elsewhere := func(change ...func(*session.Spec)) session.Spec {
		return restartable("a", append(change, func(s *session.Spec) {
			s.Runtime = session.RuntimeSpec{Kind: "docker", Docker: &session.DockerConfig{Image: "a:1"}}
		})...)
	}
	unreached := func(s *stage) *stage { s.in.World.Runtimes["docker"] = errors.New("it hangs"); return s }
	talks := func() *stage { return newStage().record(restartable("a")).want(restartable("a")).live("a") }
	verified := func(ok bool, at time.Time) *stage {
		return newStage().record(restartable("a"), func(r *session.Record) {
			r.Run.DeliveredAt, r.Verified = now.Add(-time.Hour), &session.Verified{OK: ok, At: at}
		}).want(restartable("a")).live("a")
	}
	for name, c := range map[string]struct {
		stage *stage
		until session.Await
		doing map[session.Address]session.Doing
		want  string // of b: its action, or what it is held for
	}{
		"a one-shot that is to be made":     {newStage().want(restartable("a", oneShot)), session.AwaitDone, nil, "waiting for session.a (to finish)"},
		"a one-shot at work":                {shot().live("a"), session.AwaitDone, does(session.Working, false), "waiting for session.a (working 3m, to finish)"},
		"a one-shot that has finished":      {shot().live("a", left(0)), session.AwaitDone, nil, "create"},
		"a one-shot that is run again":      {shot().live("a", left(1)), session.AwaitDone, nil, "waiting for session.a (to finish)"},
		"an interactive one to be made":     {newStage().want(restartable("a")), session.AwaitReady, nil, "create"},
		"an interactive one that boots":     {talks(), session.AwaitReady, does(session.Booting, false), "waiting for session.a (not ready yet)"},
		"an interactive one that is ready":  {talks(), session.AwaitReady, does(session.Working, false), "create"},
		"one that may be there":             {unreached(newStage().want(elsewhere())), session.AwaitReady, nil, "waiting for session.a (unknown)"},
		"one that was ready":                {unreached(newStage().record(elsewhere(), func(r *session.Record) { r.Run.ReadyAt = now }).want(elsewhere())), session.AwaitReady, nil, "create"},
		"a turn that is still to begin":     {newStage().want(restartable("a")), session.AwaitTurn, nil, "waiting for session.a (to end its first turn)"},
		"a turn under way":                  {talks(), session.AwaitTurn, does(session.Working, false), "waiting for session.a (working 3m, to end its first turn)"},
		"a turn that is paused":             {newStage().record(restartable("a")).want(restartable("a")).live("a", func(l *session.Live) { l.Frozen = true }), session.AwaitTurn, does(session.Working, false), "waiting for session.a (paused)"},
		"a turn that has ended":             {talks(), session.AwaitTurn, does(session.Idle, true), "create"},
		"work that is not verified":         {talks(), session.AwaitVerified, does(session.Idle, true), "waiting for session.a (idle, to be verified)"},
		"work that is red":                  {verified(false, now), session.AwaitVerified, does(session.Idle, true), "waiting for session.a (idle, to be verified)"},
		"work that is verified":             {verified(true, now), session.AwaitVerified, does(session.Working, true), "create"},
		"verified before its prompt":        {verified(true, now.Add(-2*time.Hour)), session.AwaitVerified, does(session.Idle, true), "waiting for session.a (idle, to be verified)"},
		"a later turn under way":            {talks(), session.AwaitTurn, does(session.Working, true), "create"},
		"a turn that ended at a limit":      {talks(), session.AwaitTurn, does(session.BlockedAPI, true), "waiting for session.a (blocked api 3m, to end its first turn)"},
		"a turn of an earlier run":          {talks(), session.AwaitTurn, map[session.Address]session.Doing{a: {Run: "run-0", Turn: true}}, "waiting for session.a (running, to end its first turn)"},
		"a record of an older agentform":    {shot().live("a"), session.AwaitReady, nil, "create"},
		"one that has an error of its own":  {newStage().want(restartable("a", oneShot)).checkout("/elsewhere", spec("a").Branch), session.AwaitDone, nil, "depends on session.a, which has an error: branch is checked out elsewhere"},
		"one that was stopped by its time":  {shot().live("a", func(l *session.Live) { l.Liveness, l.Exit = session.Dead, &session.Exit{Cause: "timeout"} }), session.AwaitDone, nil, "depends on session.a, which was stopped at its timeout"},
		"one that somebody stopped by hand": {newStage().record(restartable("a", func(s *session.Spec) { s.Desired = session.Stopped })).want(restartable("a", func(s *session.Spec) { s.Desired = session.Stopped })), session.AwaitTurn, nil, "depends on session.a, which is stopped"},
	} {
		c.stage.want(after(c.until)).in.Doing = c.doing
		p := Compute(c.stage.in)
		got := change(t, p, b)
		said := string(got.Action)
		if got.Action == Hold {
			said = got.Detail
		}
		if said != c.want {
			t.Errorf("%s: %q, want %q", name, said, c.want)
		}
		if lost := strings.HasPrefix(c.want, "depends on"); got.Skips != lost || got.Action == Hold && got.Holds != Create {
			t.Errorf("%s: skips is %v, and it holds %q", name, got.Skips, got.Holds)
		}
	}
}

// The hub starts what was approved and waited, when it can, whatever the restart
// policy says, and skips by name what can never start.
func TestTheHubStartsWhatWasApproved(t *testing.T) {
	a, b := session.Single("a"), session.Single("b")
	never := func(s *session.Spec) { s.Restart.Policy = "never" }
	shot := restartable("a", never, func(s *session.Spec) { s.Agent.OneShot = true })
	waits := restartable("b", never, func(s *session.Spec) {
		s.DependsOn, s.Until = []session.Address{a}, map[session.Address]session.Await{a: session.AwaitDone}
	})
	queued := func(r *session.Record) {
		r.Intent, r.Run, r.Location, r.Tree = session.Queued, session.Run{}, session.Location{}, session.WorkspaceState{}
	}
	for name, c := range map[string]struct {
		exit *session.Exit
		hub  func(*Hub)
		max  int
		want string
	}{
		"it is at work":    {nil, nil, 0, "hold dependency_not_ready waiting for session.a (running, to finish)"},
		"it has finished":  {&session.Exit{Cause: "self"}, nil, 0, "create not_recorded "},
		"it has failed":    {&session.Exit{Cause: "self", Code: 3}, nil, 0, "hold dependency_failed depends on session.a, which failed (exit status 3)"},
		"no place is free": {&session.Exit{Cause: "self"}, nil, 1, "hold queued queued: 1 of 1 sessions running (max_running)"},
		"it failed before": {&session.Exit{Cause: "self"}, func(h *Hub) {
			h.Restarts = map[session.Address]health.Count{b: {Tries: []time.Time{now.Add(-time.Second)}}}
		}, 0, "hold backing_off backing off, next try 2026-11-21T12:00:09Z (2 of 5)"},
		"a secret is absent": {&session.Exit{Cause: "self"}, func(h *Hub) { h.Lacking = map[session.Address]string{b: "no TOKEN"} }, 0, "hold secret_unavailable no TOKEN"},
	} {
		s := newStage().record(shot).record(waits, queued).record(restartable("c")).live("c")
		s.live("a", func(l *session.Live) {
			if c.exit != nil {
				l.Liveness, l.Exit = session.Dead, c.exit
			}
		})
		if c.hub == nil {
			c.hub = func(*Hub) {}
		}
		s.byHub(c.hub).in.Options.MaxRunning = c.max
		got := change(t, Compute(s.in), b)
		if said := string(got.Action) + " " + string(got.Reason) + " " + got.Detail; said != c.want {
			t.Errorf("%s: %q, want %q", name, said, c.want)
		}
	}
	s := newStage().record(waits, queued, func(r *session.Record) { r.Override = &session.Override{Desired: session.Stopped} })
	if got := change(t, Compute(s.byHub().in), b); got.Action != None || got.State != session.StateStopped {
		t.Errorf("stopped by hand: %s %s", got.Action, got.State)
	}
}

// A session that goes on with its conversation has waited before. One that starts
// over waits again.
func TestOnlyAFreshStartWaitsForWork(t *testing.T) {
	a := session.Single("a")
	after := func(prompt string) session.Spec {
		return restartable("b", func(s *session.Spec) {
			s.DependsOn, s.Until = []session.Address{a}, map[session.Address]session.Await{a: session.AwaitTurn}
			s.Prompt = session.PromptOf(prompt)
		})
	}
	for prompt, want := range map[string]Action{"one": Restart, "two": Hold} {
		s := newStage().all(restartable("a")).record(after("one")).want(after(prompt)).live("b", exitedWith("self", 1, ""))
		if got := change(t, Compute(s.in), session.Single("b")); got.Action != want {
			t.Errorf("with prompt %q: %s (%s), want %s", prompt, got.Action, got.Detail, want)
		}
	}
}

func change(t *testing.T, p Plan, a session.Address) Change {
	t.Helper()
	for _, c := range p.Changes {
		if c.Address == a {
			return c
		}
	}
	t.Fatalf("there is no change of %s", a)
	return Change{}
}
