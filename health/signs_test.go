package health

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/agentform/agentform/internal/test/seed"
	"github.com/agentform/agentform/session"
)

func TestCheck(t *testing.T) {
	p := session.Health{StartPeriod: session.Duration(30 * time.Second), Failures: 3, HungAfter: session.Duration(15 * time.Minute)}
	old := 24 * time.Hour
	for name, c := range map[string]struct {
		signs Signs
		want  Sickness
		ends  bool
	}{
		"well":                            {Signs{Liveness: session.Alive, Activity: session.Idle, Age: old, Quiet: old}, Well, false},
		"at work, and quiet for a while":  {Signs{Liveness: session.Alive, Activity: session.Working, Age: old, Quiet: 14 * time.Minute}, Well, false},
		"hung":                            {Signs{Liveness: session.Alive, Activity: session.Working, Age: old, Quiet: 15 * time.Minute}, Hung, true},
		"hung, and paused":                {Signs{Liveness: session.Alive, Activity: session.Working, Age: old, Quiet: old, Frozen: true}, Well, false},
		"hung, and just begun":            {Signs{Liveness: session.Alive, Activity: session.Working, Age: time.Second, Quiet: old}, Well, false},
		"waits for a person":              {Signs{Liveness: session.Alive, Activity: session.Blocked, Age: old, Quiet: old}, Well, false},
		"two failures":                    {Signs{Liveness: session.Alive, Age: old, Quiet: old, Failures: 2, Failing: time.Minute}, Well, false},
		"failures, and nothing moves":     {Signs{Liveness: session.Alive, Activity: session.NoActivity, Age: old, Quiet: old, Failures: 3, Failing: time.Minute}, Heartbeat, true},
		"failures, and it prints":         {Signs{Liveness: session.Alive, Activity: session.NoActivity, Age: old, Quiet: time.Second, Failures: 3, Failing: time.Minute}, Heartbeat, false},
		"failures, and it rests":          {Signs{Liveness: session.Alive, Activity: session.Idle, Age: old, Quiet: old, Failures: 9, Failing: time.Minute}, Heartbeat, false},
		"failures, and a limit":           {Signs{Liveness: session.Alive, Activity: session.BlockedAPI, Age: old, Quiet: old, Failures: 9, Failing: time.Minute}, Heartbeat, false},
		"dead":                            {Signs{Liveness: session.Dead, Age: old, Quiet: old, Failures: 9}, Well, false},
		"not known for a while":           {Signs{Liveness: session.Unknown, Age: old, UnknownFor: time.Minute}, Well, false},
		"not known for long":              {Signs{Liveness: session.Unknown, Age: old, UnknownFor: old}, Contradict, false},
		"its session file is not found":   {Signs{Liveness: session.Alive, Activity: session.Idle, Age: old, Overdue: true}, Overdue, false},
		"failures while it is just begun": {Signs{Liveness: session.Alive, Age: time.Second, Quiet: old, Failures: 9, Failing: time.Second}, Well, false},
	} {
		got := Check(p, c.signs)
		if got.Sickness != c.want || got.Ends != c.ends {
			t.Errorf("%s: %+v, want %q, ends %v", name, got, c.want, c.ends)
		}
		if (got.Detail == "") != (got.Sickness == Well) {
			t.Errorf("%s: told with %q", name, got.Detail)
		}
	}
	p.HungAfter = 0
	if got := Check(p, Signs{Liveness: session.Alive, Activity: session.Working, Age: old, Quiet: old}); got.Sickness != Well {
		t.Errorf("without hung_after: %+v", got)
	}
}

// No single signal ends anything: not a heartbeat that fails for ever, not silence,
// not an agent that says that it works.
func TestOneSignalEndsNothing(t *testing.T) {
	p := session.Health{Failures: 1, HungAfter: session.Duration(time.Minute)}
	rapid.Check(t, func(t *rapid.T) {
		s := Signs{
			Liveness: rapid.SampledFrom([]session.Liveness{session.Alive, session.Dead, session.Unknown}).Draw(t, "liveness"),
			Activity: rapid.SampledFrom([]session.Activity{session.Working, session.Idle, session.Blocked, session.BlockedAPI, session.NoActivity, session.Booting, session.Unobserved}).Draw(t, "activity"),
			Frozen:   rapid.Bool().Draw(t, "frozen"), Overdue: rapid.Bool().Draw(t, "overdue"),
			Age:        time.Duration(rapid.IntRange(0, 1000).Draw(t, "age")) * time.Second,
			Quiet:      time.Duration(rapid.IntRange(0, 1000).Draw(t, "quiet")) * time.Second,
			UnknownFor: time.Duration(rapid.IntRange(0, 1000).Draw(t, "unknown for")) * time.Second,
			Failures:   rapid.IntRange(0, 5).Draw(t, "failures"),
			Failing:    time.Duration(rapid.IntRange(0, 1000).Draw(t, "failing")) * time.Second,
		}
		if !Check(p, s).Ends {
			return
		}
		hung := s.Activity == session.Working && s.Quiet >= time.Minute
		mute := s.Failures > 0 && s.Quiet >= s.Failing && s.Activity != session.Idle && s.Activity != session.Blocked && s.Activity != session.BlockedAPI
		if s.Liveness != session.Alive || s.Frozen || !hung && !mute {
			t.Fatalf("ended by %+v", s)
		}
	})
}

func TestBeat(t *testing.T) {
	var p Pulse
	p = p.Beat(Probe{Detail: "no"}, at(1)).Beat(Probe{Detail: "not at all"}, at(2))
	if p.Failures != 2 || !p.First.Equal(at(1)) || p.Failure != "not at all" {
		t.Errorf("two failures: %+v", p)
	}
	if p = p.Beat(Probe{OK: true}, at(3)); p != (Pulse{}) {
		t.Errorf("well again: %+v", p)
	}
}
