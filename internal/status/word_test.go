package status

import (
	"slices"
	"testing"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

func TestText(t *testing.T) {
	running := func(a session.Activity, since time.Duration) api.Session {
		x := api.Session{Address: "session.api", State: session.StateRunning, Activity: a}
		if since > 0 {
			x.Since = new(ago(since))
		}
		return x
	}
	with := func(x api.Session, change func(*api.Session)) api.Session { change(&x); return x }
	verified := func(x api.Session, v api.Verified) api.Session { x.Verified = &v; return x }
	is := func(s session.State, a session.Activity) api.Session { return api.Session{State: s, Activity: a} }
	exit := func(code int, signal string) func(*api.Session) {
		return func(x *api.Session) { x.Exit = &session.Exit{Cause: "self", Code: code, Signal: signal} }
	}
	until := func(t time.Time) func(*api.Session) { return func(x *api.Session) { x.Until = &t } }
	interrupted := func(x *api.Session) { x.Interrupted = true }
	place := func(n int) func(*api.Session) { return func(x *api.Session) { x.Queue = &n } }
	missing := slices.Collect(Words())
	for want, x := range map[string]api.Session{
		"asks":                     running(session.Blocked, time.Minute),
		"limit":                    running(session.BlockedAPI, time.Minute),
		"limit until 14:00":        with(running(session.BlockedAPI, 0), until(time.Date(2026, 3, 14, 14, 0, 0, 0, time.UTC))),
		"limit until Mar 16 02:30": with(running(session.BlockedAPI, 0), until(time.Date(2026, 3, 16, 2, 30, 0, 0, time.UTC))),
		"working 3m":               running(session.Working, 3*time.Minute),
		"working":                  running(session.Working, 0),
		"idle 16m":                 running(session.Idle, 16*time.Minute),
		"idle":                     running(session.Idle, 0),
		"idle 21s":                 with(running(session.Idle, 8*time.Minute), func(x *api.Session) { x.StartedAt = new(ago(21 * time.Second)) }),
		"interrupted 8m":           with(running(session.Idle, 8*time.Minute), interrupted),
		"red 3/3":                  verified(with(running(session.Idle, time.Hour), interrupted), api.Verified{At: ago(time.Minute), Round: 3, Rounds: 3, Held: true}),
		"verified 16m":             verified(running(session.Idle, 16*time.Minute), api.Verified{OK: true, At: ago(10 * time.Minute)}),
		"idle 1m":                  verified(running(session.Idle, time.Minute), api.Verified{OK: true, At: ago(10 * time.Minute)}),
		"working 1m":               verified(running(session.Working, time.Minute), api.Verified{At: ago(time.Second)}),
		"red 2/3":                  verified(running(session.Idle, time.Hour), api.Verified{At: ago(time.Minute), Round: 2, Rounds: 3}),
		"red 1/3":                  verified(running(session.Idle, time.Minute), api.Verified{At: ago(time.Hour), Round: 1, Rounds: 3, Held: true}),
		"red":                      verified(running(session.Idle, time.Hour), api.Verified{At: ago(time.Minute)}),
		"running":                  running(session.NoActivity, time.Minute),
		"done":                     is(session.StateStopped, session.Done),
		"failed (3)":               with(is(session.StateStale, session.Failed), exit(3, "")),
		"exited":                   is(session.StateStale, session.Exited),
		"exited (1)":               with(is(session.StateStale, session.Exited), exit(1, "")),
		"exited (SIGKILL)":         with(is(session.StateStale, session.Exited), exit(137, "SIGKILL")),
		"error":                    is(session.StateError, session.Exited),
		"timed out":                with(is(session.StateStopped, session.Exited), func(x *api.Session) { x.Needs = &api.Need{Reason: string(follow.NeedsTime)} }),
		"stopped":                  is(session.StateStopped, session.Exited),
		"paused 12m":               with(is(session.StatePaused, session.Working), func(x *api.Session) { x.Since = new(ago(12 * time.Minute)) }),
		"paused":                   is(session.StatePaused, session.Idle),
		"starting":                 is(session.StateStarting, session.Booting),
		"starting 4s":              with(is(session.StateStarting, session.Booting), func(x *api.Session) { x.Since = new(ago(4 * time.Second)) }),
		"unknown":                  is(session.StateUnknown, session.NoActivity),
		"pending":                  is(session.StatePending, session.NoActivity),
		"queued 1st":               with(is(session.StatePending, session.NoActivity), place(1)),
		"queued 3rd":               with(is(session.StatePending, session.NoActivity), place(3)),
		"queued 12th":              with(is(session.StatePending, session.NoActivity), place(12)),
		"queued 22nd":              with(is(session.StatePending, session.NoActivity), place(22)),
		"stuck":                    with(is(session.StatePending, session.NoActivity), func(x *api.Session) { x.Needs = &api.Need{Reason: string(follow.NeedsStart)} }),
		"unhealthy":                with(running(session.Working, time.Minute), func(x *api.Session) { x.Unhealthy = &api.Unhealthy{} }),
		"wrong branch":             with(running(session.Blocked, 0), func(x *api.Session) { x.BranchReason = plan.ReasonBranchMismatch }),
	} {
		if got := Text(x, at); got != want {
			t.Errorf("%s, %s is %q, want %q", x.State, x.Activity, got, want)
		}
		if !slices.Contains(slices.Collect(Words()), Word(x)) {
			t.Errorf("%q is not in the table", Word(x))
		}
		missing = slices.DeleteFunc(missing, func(word string) bool { return word == Word(x) })
	}
	if len(missing) > 0 {
		t.Errorf("no session is %q", missing)
	}
	if got := Text(running(session.Unobserved, time.Minute), at); got != "running" {
		t.Errorf("an agent that cannot be observed yet is %q", got)
	}
	if got := Text(is(session.StateStarting, session.Blocked), at); got != "asks" {
		t.Errorf("a question before it was ready is %q", got)
	}
}

func TestSort(t *testing.T) {
	needs := func(a session.Address, r follow.Reason, priority int, since time.Duration) api.Session {
		return api.Session{Address: a, State: session.StateRunning, Priority: priority, Needs: &api.Need{Reason: string(r), Since: ago(since)}}
	}
	is := func(a session.Address, s session.State, act session.Activity) api.Session {
		return api.Session{Address: a, State: s, Activity: act, Status: session.StatusOf(s, act)}
	}
	second, first := 2, 1
	queued := func(a session.Address, place *int) api.Session {
		x := is(a, session.StatePending, "")
		x.Queue = place
		return x
	}
	all := []api.Session{
		is("session.shot", session.StateStopped, session.Done),
		queued("session.aa", &second), queued("session.bb", &first), is("session.ab", session.StatePending, ""),
		is("session.still", session.StatePaused, session.Idle),
		is(session.Indexed("pool", 10), session.StateRunning, session.Working), is(session.Indexed("pool", 9), session.StateRunning, session.Idle),
		needs("session.rests", follow.NeedsWork, 9, time.Hour),
		needs("session.limited", follow.NeedsQuota, 9, time.Hour),
		needs("session.stale", follow.NeedsAgent, 0, time.Minute), needs("session.off", follow.NeedsBranch, 0, 2*time.Minute),
		needs("session.asks", follow.NeedsAnswer, 0, time.Hour), needs("session.begs", follow.NeedsAnswer, 5, time.Minute),
	}
	var got []string
	Sort(all)
	for _, x := range all {
		got = append(got, x.Address.Short())
	}
	want := []string{"begs", "asks", "off", "stale", "limited", "rests", "pool[9]", "pool[10]", "still", "bb", "aa", "ab", "shot"}
	if !slices.Equal(got, want) {
		t.Errorf("order:\ngot  %q\nwant %q", got, want)
	}
}

// A document tells since when a session does what it does, and whether it needs somebody.
func TestSinceAndNeeds(t *testing.T) {
	yes, no := true, false
	alive := plan.Diagnosis{State: session.StateRunning, Alive: &yes}
	given := func(d time.Duration) *session.Record {
		r := record("session.api", "agents/api")
		if r.Run.DeliveredAt = ago(d); d < 0 {
			r.Run.DeliveredAt = time.Time{}
		}
		return r
	}
	look := func(a session.Activity) activity.Look {
		return activity.Look{Detection: session.Detection{Activity: a}}
	}
	still := func(d time.Duration) *session.Live { return &session.Live{Liveness: session.Alive, MovedAt: ago(d)} }
	typed := look(session.Working)
	typed.Transcript = &session.Transcript{PromptAt: ago(2 * time.Minute), TurnAt: ago(4 * time.Minute)}
	unknown := look(session.Working)
	unknown.Transcript = &session.Transcript{TurnAt: ago(4 * time.Minute)}
	turned := look(session.Idle)
	turned.TurnAt = ago(16 * time.Minute)
	for name, c := range map[string]struct {
		Input
		look activity.Look
		want string // the text, and the need
	}{
		"works on its prompt":         {Input{Record: given(3 * time.Minute), Diagnosis: alive, Live: still(0)}, look(session.Working), "working 3m"},
		"works on what was typed":     {Input{Record: given(time.Hour), Diagnosis: alive, Live: still(0)}, typed, "working 2m"},
		"works on nothing known":      {Input{Record: given(time.Hour), Diagnosis: alive, Live: still(0)}, unknown, "working"},
		"its turn has ended":          {Input{Record: given(time.Hour), Diagnosis: alive, Live: still(time.Second)}, turned, "idle 16m turn_ended 16m"},
		"it rests":                    {Input{Record: given(time.Hour), Diagnosis: alive, Live: still(5 * time.Minute)}, look(session.Idle), "idle 5m turn_ended 5m"},
		"it has not begun":            {Input{Record: given(time.Second), Diagnosis: alive, Live: still(time.Minute)}, look(session.Idle), "idle 1s"},
		"it was given nothing":        {Input{Record: given(-1), Diagnosis: alive, Live: still(time.Minute)}, look(session.Idle), "idle 1m"},
		"it asks, and one look shows": {Input{Record: given(time.Hour), Diagnosis: alive, Live: still(0)}, look(session.Blocked), "asks blocked 0s"},
		"it asks for long":            {Input{Record: given(time.Hour), Diagnosis: alive, Live: still(7 * time.Minute)}, look(session.Blocked), "asks blocked 7m"},
		"it has exited": {Input{Record: given(time.Hour), Diagnosis: plan.Diagnosis{State: session.StateStale, Activity: session.Exited, Alive: &no},
			Live: &session.Live{Exit: &session.Exit{Cause: "self", Code: 2, At: ago(time.Minute)}}}, look(session.Exited), "exited (2) stale 1m"},
	} {
		c.Input.Look, c.Input.At = &c.look, at
		x := Of(c.Input)
		got := Text(x, at)
		if n := x.Needs; n != nil {
			got += " " + n.Reason + " " + plaintext.Age(at.Sub(n.Since))
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestNeedText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason follow.Reason
		past   time.Duration
		want   string
	}{
		{follow.NeedsAnswer, 3 * time.Minute, "asks for 3m"},
		{follow.NeedsBranch, 14 * time.Minute, "on another branch for 14m"},
		{follow.NeedsWork, 6 * time.Hour, "finished its turn 6h ago"},
		{follow.NeedsResume, 14 * time.Minute, "interrupted 14m ago"},
		{follow.NeedsAgent, 0, "exited just now"},
		{follow.NeedsStart, time.Minute, "stuck for 1m"},
	} {
		if got := NeedText(api.Need{Reason: string(c.reason), Since: ago(c.past)}, at); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}
