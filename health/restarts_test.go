package health

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentform/agentform/session"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return noon.Add(d) }

// policy is the manifest's default, without jitter.
func policy(change ...func(*session.Restart)) session.Restart {
	p := session.Restart{Policy: "on-failure", Attempts: 5, Window: session.Duration(15 * time.Minute), EscalateAfter: 3, Resume: true,
		Backoff: session.Backoff{Initial: session.Duration(5 * time.Second), Factor: 2, Max: session.Duration(5 * time.Minute),
			ResetAfter: session.Duration(10 * time.Minute)}}
	for _, c := range change {
		c(&p)
	}
	return p
}

func tried(ds ...time.Duration) []Moment {
	var all []Moment
	for _, d := range ds {
		all = append(all, Moment{At: at(d), What: Tried}, Moment{At: at(d), What: Launched})
	}
	return all
}

func TestJudge(t *testing.T) {
	const s, m = time.Second, time.Minute
	ended := func(d time.Duration) Case { return Case{Ended: at(d)} }
	for name, c := range map[string]struct {
		policy session.Restart
		past   []Moment
		x      Case
		now    time.Duration
		want   string
	}{
		"the first wait":               {policy(), nil, ended(0), 1 * s, "backing off, next try 2026-03-14T12:00:05Z (1 of 5)"},
		"the first try":                {policy(), nil, ended(0), 5 * s, "will be restarted (1 of 5)"},
		"a wait grows":                 {policy(), tried(5*s, 15*s), ended(16 * s), 17 * s, "backing off, next try 2026-03-14T12:00:36Z (3 of 5)"},
		"nobody knows when it ended":   {policy(), nil, Case{}, 7 * s, "backing off, next try 2026-03-14T12:00:12Z (1 of 5)"},
		"what was told stands":         {policy(), []Moment{{At: at(7 * s), What: Held, Until: at(12 * s)}}, Case{}, 13 * s, "will be restarted (1 of 5)"},
		"the last of the budget":       {policy(), tried(1*s, 2*s, 3*s, 4*s), ended(5 * s), 9 * m, "will be restarted (5 of 5)"},
		"the budget is spent":          {policy(), tried(1*s, 2*s, 3*s, 4*s, 5*s), ended(6 * s), 14 * m, "not restarted: 5 attempts within 15m are used up"},
		"the window moves on":          {policy(), tried(1*s, 2*s, 3*s, 4*s, 5*s), ended(6 * s), 16 * m, "will be restarted (1 of 5)"},
		"spent stays spent":            {policy(), append(tried(1*s), Moment{At: at(2 * s), What: Spent}), ended(2 * s), 60 * m, "not restarted: 5 attempts within 15m are used up"},
		"one attempt":                  {policy(func(p *session.Restart) { p.Attempts = 1 }), tried(1 * s), ended(2 * s), 2 * m, "not restarted: 1 attempt within 15m is used up"},
		"a person clears it":           {policy(), append(tried(1*s), Moment{What: Spent}, Moment{What: Cleared}), ended(2 * s), 60 * m, "will be restarted (1 of 5)"},
		"never":                        {policy(func(p *session.Restart) { p.Policy = "never" }), nil, ended(0), 60 * m, "the restart policy does not restart it"},
		"left, on failure":             {policy(), nil, Case{Left: true, Ended: at(0)}, 60 * m, "the restart policy does not restart it"},
		"left, always":                 {policy(func(p *session.Restart) { p.Policy = "always" }), nil, Case{Left: true, Ended: at(0)}, 60 * m, "will be restarted (1 of 5)"},
		"the host was rebooted":        {policy(), tried(1*s, 2*s, 3*s, 4*s, 5*s), Case{Free: true}, 6 * s, "will be restarted (6 of 5)"},
		"no attempts at all":           {policy(func(p *session.Restart) { p.Attempts = 0 }), nil, ended(0), 60 * m, "not restarted: 0 attempts within 15m are used up"},
		"a failed try waits too":       {policy(), append(tried(5*s), Moment{At: at(40 * s), What: Failed}), Case{}, 41 * s, "backing off, next try 2026-03-14T12:00:50Z (2 of 5)"},
		"a fault before it was begun":  {policy(), []Moment{{At: at(5 * s), What: Failed}}, Case{}, 6 * s, "backing off, next try 2026-03-14T12:00:15Z (2 of 5)"},
		"the clock went back":          {policy(), []Moment{{At: at(60 * m), What: Held, Until: at(61 * m)}}, Case{}, 0, "backing off, next try 2026-03-14T12:00:05Z (1 of 5)"},
		"its end is in the future":     {policy(), nil, ended(60 * m), 0, "backing off, next try 2026-03-14T12:00:05Z (1 of 5)"},
		"it stood long enough":         {policy(), append(tried(1*s, 2*s), Moment{At: at(12 * m), What: Ended, Lasted: 11 * m}), Case{}, 12*m + s, "backing off, next try 2026-03-14T12:12:05Z (1 of 5)"},
		"it stood, as far as is known": {policy(), append(tried(1*s, 2*s), Moment{At: at(12 * m), What: Ended}), Case{}, 12*m + s, "backing off, next try 2026-03-14T12:12:05Z (1 of 5)"},
		"it did not stand":             {policy(), append(tried(1*s, 2*s), Moment{At: at(4 * s), What: Ended, Lasted: 2 * s}), Case{}, 5 * s, "backing off, next try 2026-03-14T12:00:24Z (3 of 5)"},
	} {
		if got := FromHistory(c.policy, c.past).Judge(c.policy, c.x, at(c.now)).String(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// The operator is notified once after so many tries, and once when the budget is spent.
func TestEscalates(t *testing.T) {
	p := policy()
	past := tried(1, 2)
	told := ""
	for i := range 5 {
		v := FromHistory(p, past).Judge(p, Case{Ended: at(time.Minute)}, at(2*time.Minute))
		told += fmt.Sprint(v.Escalate, " ")
		if v.Escalate && v.Reason == BudgetGone {
			past = append(past, Moment{What: Spent})
		} else if v.Escalate {
			past = append(past, Moment{What: Escalated})
		}
		past = append(past, tried(time.Duration(3+i))...)
	}
	if want := "false true false true false "; told != want {
		t.Errorf("told %s, want %s", told, want)
	}
}

func TestStands(t *testing.T) {
	p := policy()
	c := FromHistory(p, tried(1, 2, 3))
	if got := c.Current(p, at(time.Minute)); len(got.Tries) != 3 {
		t.Errorf("after a minute %d tries count, want 3", len(got.Tries))
	}
	if got := c.Current(p, at(11*time.Minute)); len(got.Tries) != 0 {
		t.Errorf("after 11 minutes %d tries count, want 0", len(got.Tries))
	}
}

// However a session crashes and the clock jumps, between two tries at least the
// shortest wait passes on the clock that was shown, nobody waits for longer than the
// longest, and in no window are there more tries than the policy has.
func TestBudgetHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policy(func(p *session.Restart) {
			p.Attempts = rapid.IntRange(1, 6).Draw(t, "attempts")
			p.Backoff.Jitter = rapid.Float64Range(0, 1).Draw(t, "jitter")
			p.Backoff.Factor = rapid.Float64Range(1, 3).Draw(t, "factor")
			p.Backoff.ResetAfter = session.Duration(rapid.IntRange(60, 3600).Draw(t, "reset after")) * session.Duration(time.Second)
		})
		now := noon
		var past []Moment
		var tries []time.Time
		for range rapid.IntRange(1, 60).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "seconds")) * time.Second)
			c := FromHistory(p, past)
			v := c.Judge(p, Case{Key: "k"}, now)
			switch v.Reason {
			case None:
				tries = append(tries, now)
				past = append(past, Moment{At: now, What: Tried}, Moment{At: now, What: Launched})
				now = now.Add(time.Second)
				past = append(past, Moment{At: now, What: Ended, Lasted: time.Second})
			case BackingOff:
				if most := Wait(p.Backoff, len(c.Tries)+1, "k"); v.Until.Sub(now) > most {
					t.Fatalf("it waits for %s, at most %s", v.Until.Sub(now), most)
				}
				past = append(past, Moment{At: now, What: Held, Until: v.Until})
			case BudgetGone:
				past = append(past, Moment{At: now, What: Spent})
			}
		}
		for i := range tries {
			if j := i + p.Attempts; j < len(tries) && tries[j].Sub(tries[i]) < p.Window.D() {
				t.Fatalf("%d tries within %s", p.Attempts+1, tries[j].Sub(tries[i]))
			}
		}
	})
}

// A clock that jumps about makes nobody wait for ever.
func TestClockJumps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policy()
		var past []Moment
		now := noon
		for range 30 {
			now = now.Add(time.Duration(rapid.IntRange(-100_000, 100_000).Draw(t, "jump")) * time.Second)
			v := FromHistory(p, past).Judge(p, Case{Ended: noon}, now)
			if v.Reason == None {
				return
			}
			past = append(past, Moment{At: now, What: Held, Until: v.Until})
		}
		v := FromHistory(p, past).Judge(p, Case{Ended: noon}, now.Add(6*time.Second))
		if v.Reason != None {
			t.Fatalf("after the first wait it is still %s", v)
		}
	})
}

func TestWait(t *testing.T) {
	b := policy().Backoff
	for n, want := range map[int]time.Duration{1: 5 * time.Second, 2: 10 * time.Second, 4: 40 * time.Second, 9: 5 * time.Minute, 5000: 5 * time.Minute} {
		if got := Wait(b, n, ""); got != want {
			t.Errorf("the wait before try %d is %s, want %s", n, got, want)
		}
	}
	b.Jitter = 0.5
	differ := map[time.Duration]bool{}
	for i := range 50 {
		w := Wait(b, 1, fmt.Sprint(i))
		if w < 2500*time.Millisecond || w > 7500*time.Millisecond {
			t.Errorf("with a jitter of a half it is %s", w)
		}
		differ[w] = true
	}
	if len(differ) < 30 {
		t.Errorf("50 sessions wait for %d different times", len(differ))
	}
}
