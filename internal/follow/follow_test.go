package follow_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

var begin = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)

// after is a moment, so many seconds after the beginning.
func after(seconds float64) time.Time {
	return begin.Add(time.Duration(seconds * float64(time.Second)))
}

// sight is a session as one look shows it.
type sight struct {
	follow.Sight
	look turn.Look
}

// follower looks at sessions again and again.
type follower struct {
	courses map[session.Address]*turn.Course
	last    []follow.Sight
}

func (f *follower) see(at time.Time, sights ...sight) {
	if f.courses == nil {
		f.courses = map[session.Address]*turn.Course{}
	}
	f.last = nil
	for _, s := range sights {
		c := f.courses[s.Address]
		if c == nil {
			c = &turn.Course{}
			f.courses[s.Address] = c
		}
		s.look.At, s.look.Activity, s.look.Alive, s.look.Given = at, s.Activity, s.Alive, s.Given
		c.See(s.look)
		s.Turn = *c
		f.last = append(f.last, s.Sight)
	}
}

// does is a live session whose agent does that; given says when it was last
// given something, in seconds; negative: never.
func does(a session.Activity, given float64) sight {
	s := sight{look: turn.Look{Run: "one"}, Sight: follow.Sight{State: session.StateRunning, Activity: a, Alive: true, Address: "session.api", Recorded: true}}
	if s.Status = session.StatusOf(s.State, a); a == session.Booting {
		s.State = session.StateStarting
	}
	if given >= 0 {
		s.Given = after(given)
	}
	return s
}

func left(s session.State, a session.Activity) sight {
	return sight{look: turn.Look{Run: "one"}, Sight: follow.Sight{State: s, Activity: a, Address: "session.api", Status: session.StatusOf(s, a), Recorded: true}}
}

// at is a sight at a moment, in seconds.
type at struct {
	seconds float64
	sight
}

func TestVerdict(t *testing.T) {
	const working, idle, blocked = session.Working, session.Idle, session.Blocked
	done, failed := left(session.StateStopped, session.Done), left(session.StateStale, session.Failed)
	still := func(s sight, moved float64) sight { s.look.Moved = after(moved); return s }
	again := func(s sight) sight { s.look.Run = "two"; return s }
	underWay := func(s sight) sight { s.UnderWay = true; return s }
	turned := func(s sight, seconds float64) sight { s.look.TurnAt = after(seconds); return s }
	ready := func(s sight) sight { s.Ready = true; return s }
	shown := func(s sight, moved float64) sight { s.look.Screen, s.look.Moved = true, after(moved); return s }
	prompt := func(s sight) sight { s.look.Prompt = true; return s }
	queued := func(s sight) sight { s.look.Queued = true; return s }
	awaited := func(s sight) sight { s.look.Answer = turn.Awaited; return s }
	answered := func(s sight) sight { s.look.Queued, s.look.Answer = true, turn.Given; return s }
	verified := func(s sight, seconds float64) sight { s.VerifiedAt = after(seconds); return s }
	cut := func(s sight) sight { s.Interrupted = true; return s }
	red := func(s sight, seconds float64) sight { s.RedSince = after(seconds); return s }
	for name, c := range map[string]struct {
		goal  follow.Goal
		looks []at
		want  follow.Verdict
	}{
		"works":                                   {follow.Turn, []at{{1, does(working, 0)}}, follow.Waiting},
		"worked and rests":                        {follow.Turn, []at{{1, does(working, 0)}, {2, does(idle, 0)}, {2.5, does(idle, 0)}}, follow.Reached},
		"rests for a moment":                      {follow.Turn, []at{{1, does(working, 0)}, {2, does(idle, 0)}, {2.4, does(idle, 0)}}, follow.Waiting},
		"rests between two queued messages":       {follow.Turn, []at{{1, does(working, 0)}, {2, does(idle, 0)}, {2.2, does(working, 0)}, {2.6, does(idle, 0)}}, follow.Waiting},
		"has not taken up what was sent":          {follow.Turn, []at{{1, awaited(does(working, 0.5))}, {2, awaited(turned(does(idle, 0.5), 2))}, {31, awaited(turned(does(idle, 0.5), 2))}}, follow.Waiting},
		"it was taken back":                       {follow.Turn, []at{{1, awaited(does(working, 0.5))}, {2, awaited(turned(does(idle, 0.5), 2))}, {32, awaited(turned(does(idle, 0.5), 2))}}, follow.Reached},
		"has answered what was queued":            {follow.Turn, []at{{1, queued(does(working, 0.5))}, {2, answered(turned(does(idle, 0.5), 2))}}, follow.Reached},
		"fails before what was sent":              {follow.Turn, []at{{1, awaited(does(working, 0.5))}, {2, awaited(does(session.Failed, 0.5))}, {9, awaited(does(session.Failed, 0.5))}}, follow.Waiting},
		"has not begun with what was sent":        {follow.Turn, []at{{1, does(working, 0)}, {9, does(idle, 0)}, {20, does(idle, 19)}, {23, does(idle, 19)}}, follow.Waiting},
		"began with what was sent":                {follow.Turn, []at{{20, does(idle, 19)}, {21, does(working, 19)}, {22, does(idle, 19)}, {23, does(idle, 19)}}, follow.Reached},
		"a turn too short to be seen":             {follow.Turn, []at{{20, does(idle, 19)}, {22, does(idle, 19)}, {25.1, does(idle, 19)}}, follow.Reached},
		"its screen goes on moving":               {follow.Turn, []at{{20, does(idle, 19)}, {25.1, still(does(idle, 19), 24)}}, follow.Waiting},
		"rested before the first look":            {follow.Turn, []at{{60, still(does(idle, 1), 10)}}, follow.Reached},
		"rested before, and was given more":       {follow.Turn, []at{{60, still(does(idle, 59), 10)}}, follow.Waiting},
		"works when it is given more":             {follow.Turn, []at{{1, does(working, 0)}, {2, does(working, 2)}, {3, does(idle, 2)}, {4, does(idle, 2)}}, follow.Waiting},
		"was given nothing":                       {follow.Turn, []at{{1, still(does(idle, -1), 0)}, {100, still(does(idle, -1), 0)}}, follow.Waiting},
		"was given nothing that is known, worked": {follow.Turn, []at{{1, does(working, -1)}, {2, does(idle, -1)}, {3, does(idle, -1)}}, follow.Reached},
		"boots, and rests before its prompt":      {follow.Turn, []at{{1, does(session.Booting, 0)}, {3, does(idle, 0)}, {4.5, does(idle, 0)}}, follow.Waiting},
		"says that its turn has ended":            {follow.Turn, []at{{1.1, turned(does(idle, 1), 1.05)}}, follow.Reached},
		"has not told of what was sent":           {follow.Turn, []at{{2.1, turned(does(idle, 2), 1.05)}}, follow.Waiting},
		"told, and works on":                      {follow.Turn, []at{{1.1, turned(does(working, 1), 1.05)}}, follow.Waiting},
		"asks":                                    {follow.Turn, []at{{1, does(working, 0)}, {2, does(blocked, 0)}, {9, does(blocked, 0)}}, follow.Waiting},
		"asked, and answered":                     {follow.Turn, []at{{2, does(blocked, 0)}, {4, does(working, 3)}, {5, does(idle, 3)}, {6, does(idle, 3)}}, follow.Reached},
		"cannot be read":                          {follow.Turn, []at{{1, does(session.NoActivity, 0)}, {60, does(session.NoActivity, 0)}}, follow.Waiting},
		"failed at its turn":                      {follow.Turn, []at{{1, does(working, 0)}, {2, does(session.Failed, 0)}, {3, does(session.Failed, 0)}}, follow.Over},
		"failed at an earlier turn":               {follow.Turn, []at{{1, does(session.Failed, 0)}, {60, does(session.Failed, 59)}}, follow.Waiting},
		"started again":                           {follow.Turn, []at{{1, does(working, 0)}, {2, again(does(idle, 0))}, {3, again(does(idle, 0))}}, follow.Waiting},
		"left":                                    {follow.Turn, []at{{1, does(working, 0)}, {2, left(session.StateStale, session.Exited)}}, follow.Over},
		"left, and somebody is at work on it":     {follow.Turn, []at{{2, underWay(left(session.StateStale, session.Exited))}}, follow.Waiting},
		"is not applied yet":                      {follow.Ready, []at{{2, left(session.StatePending, "")}}, follow.Waiting},
		"one-shot, done":                          {follow.Turn, []at{{2, done}}, follow.Reached},
		"done":                                    {follow.Done, []at{{2, done}}, follow.Reached},
		"done, never blocked":                     {follow.Blocked, []at{{2, done}}, follow.Over},
		"done is past ready":                      {follow.Ready, []at{{2, done}}, follow.Reached},
		"says that it is done":                    {follow.Done, []at{{1, does(working, 0)}, {2, does(session.Done, 0)}, {3, does(session.Done, 0)}}, follow.Reached},
		"idle is not done":                        {follow.Done, []at{{1, does(working, 0)}, {2, does(idle, 0)}, {60, does(idle, 0)}}, follow.Waiting},
		"one-shot, failed":                        {follow.Done, []at{{2, failed}}, follow.Over},
		"blocked":                                 {follow.Blocked, []at{{1, does(blocked, 0)}, {1.5, does(blocked, 0)}}, follow.Reached},
		"just answered":                           {follow.Blocked, []at{{1, does(blocked, 0)}, {9, does(blocked, 8.9)}}, follow.Waiting},
		"ready":                                   {follow.Ready, []at{{1, ready(does(idle, -1))}}, follow.Reached},
		"not ready":                               {follow.Ready, []at{{1, does(idle, -1)}}, follow.Waiting},
		"a phrase says done, and it prints on":    {follow.Done, []at{{1, does(working, 0)}, {2, shown(does(session.Done, 0), 2)}, {8, shown(does(session.Done, 0), 6)}}, follow.Waiting},
		"a phrase says done, and it rests":        {follow.Done, []at{{1, does(working, 0)}, {2, shown(does(session.Done, 0), 2)}, {7.1, shown(does(session.Done, 0), 2)}}, follow.Reached},
		"a phrase says done beside its prompt":    {follow.Turn, []at{{1, does(working, 0)}, {2, prompt(shown(does(session.Done, 0), 2))}, {2.5, prompt(shown(does(session.Done, 0), 2))}}, follow.Reached},
		"a phrase says failed, and it prints on":  {follow.Turn, []at{{1, does(working, 0)}, {2, shown(does(session.Failed, 0), 2)}, {8, shown(does(session.Failed, 0), 6)}}, follow.Waiting},
		"a phrase says failed, and it rests":      {follow.Turn, []at{{1, does(working, 0)}, {2, shown(does(session.Failed, 0), 2)}, {7.1, shown(does(session.Failed, 0), 2)}}, follow.Over},
		"told, and the next message was queued":   {follow.Turn, []at{{2, queued(does(working, 1))}, {3.1, turned(queued(does(idle, 1)), 3)}, {3.3, queued(does(working, 1))}}, follow.Waiting},
		"told, and may be of the one before":      {follow.Turn, []at{{2, queued(does(working, 1))}, {3.1, turned(queued(does(idle, 1)), 3)}}, follow.Waiting},
		"told of the queued message":              {follow.Turn, []at{{2, queued(does(working, 1))}, {3.1, turned(queued(does(idle, 1)), 3)}, {5.2, turned(queued(does(idle, 1)), 3)}}, follow.Reached},
		"its turn has ended":                      {follow.Verified, []at{{1, turned(does(idle, 0), 0.9)}}, follow.Waiting},
		"verified":                                {follow.Verified, []at{{1, verified(turned(does(idle, 0), 0.9), 1)}}, follow.Reached},
		"verified, and given more":                {follow.Verified, []at{{1, verified(does(idle, 0), 0.9)}, {2, verified(does(idle, 1.5), 0.9)}, {8, verified(does(idle, 1.5), 0.9)}}, follow.Waiting},
		"verified, and another turn":              {follow.Verified, []at{{9, verified(turned(does(idle, 0), 8), 0.9)}}, follow.Waiting},
		"verified, and works":                     {follow.Verified, []at{{1, verified(does(working, 0), 0.9)}}, follow.Waiting},
		"verified and finished":                   {follow.Verified, []at{{1, verified(done, 0.9)}}, follow.Reached},
		"done, and not verified":                  {follow.Verified, []at{{1, done}}, follow.Over},
		"needs somebody":                          {follow.Verified, []at{{1, red(turned(does(idle, 0), 0.9), 1)}}, follow.Over},
		"somebody helps":                          {follow.Verified, []at{{1, red(does(working, 0), 0.9)}}, follow.Waiting},
		"done while it needs somebody":            {follow.Done, []at{{1, red(turned(does(idle, 0), 0.9), 1)}}, follow.Waiting},
		"cut off, and it rests":                   {follow.Turn, []at{{1, does(working, 0)}, {2, again(cut(does(idle, 0)))}, {8, again(cut(does(idle, 0)))}}, follow.Over},
		"cut off, and it boots":                   {follow.Turn, []at{{1, does(working, 0)}, {2, again(cut(does(session.Booting, 0)))}}, follow.Waiting},
		"stopped":                                 {follow.Ready, []at{{1, left(session.StateStopped, "")}}, follow.Over},
	} {
		var f follower
		for _, l := range c.looks {
			f.see(after(l.seconds), l.sight)
		}
		if got := f.last[0].Verdict(c.goal); got != c.want {
			t.Errorf("%s: %s is %s, want %s", name, c.goal, got, c.want)
		}
	}
}

func TestNeeds(t *testing.T) {
	named := func(name string, priority int, s sight) sight {
		s.Address, s.Priority = session.Single(name), priority
		return s
	}
	with := func(s sight, change func(*sight)) sight { change(&s); return s }
	sights := func(moment float64) []sight {
		turn := does(session.Idle, 0)
		if moment < 8 {
			turn = does(session.Working, 0)
		}
		ended := func(seconds float64) func(*sight) {
			return func(s *sight) { s.look.Ended = after(seconds) }
		}
		return []sight{
			named("asks", 0, does(session.Blocked, 0)),
			named("cut off", 2, with(turn, func(s *sight) { s.Interrupted = true })),
			named("cut off, landed", 2, with(turn, func(s *sight) { s.Interrupted, s.LandedAt = true, after(8.5) })),
			named("boots", 9, does(session.Booting, 0)),
			named("elsewhere", 0, with(does(session.Working, 0), func(s *sight) { s.OffBranch, s.OffSince = true, after(1) })),
			named("fresh", 9, does(session.Idle, -1)),
			named("halted", 9, with(left(session.StateStale, session.Exited), func(s *sight) { s.Desired = session.Stopped })),
			named("landed", 9, with(turn, func(s *sight) { s.LandedAt = after(8.5) })),
			named("landed before", 4, with(turn, func(s *sight) { s.LandedAt = after(7) })),
			named("limited", 0, does(session.BlockedAPI, 0)),
			named("lost", 0, with(left(session.StateError, session.Exited), ended(-60))),
			named("mending", 9, with(left(session.StateStale, session.Exited), func(s *sight) { s.UnderWay = true })),
			named("paused", 9, with(does(session.Idle, 0), func(s *sight) { s.State = session.StatePaused })),
			named("ready", 5, turn),
			named("red", 0, with(turn, func(s *sight) { s.RedSince = after(-10) })),
			named("pulled", 0, with(turn, func(s *sight) { s.PullSince = after(-10) })),
			named("red, at work", 9, with(does(session.Working, 0), func(s *sight) { s.RedSince = after(-10) })),
			named("shot", 9, left(session.StateStopped, session.Done)),
			named("sick", 0, with(does(session.Working, 0), func(s *sight) { s.UnwellAt = after(-45) })),
			named("stale", 0, with(left(session.StateStale, session.Exited), ended(-30))),
			named("stuck", 5, with(left(session.StatePending, ""), func(s *sight) { s.ActionFailed = true })),
			named("prevented", 4, with(left(session.StatePending, ""), func(s *sight) { s.Stuck = true })),
			named("late", 1, with(left(session.StateStopped, session.Exited), ended(-90))),
			named("unsent", 3, with(does(session.Idle, -1), func(s *sight) { s.ActionFailed, s.Given = true, time.Time{} })),
			named("wanted", 9, with(left(session.StatePending, ""), func(s *sight) { s.Recorded = false })),
			named("works", 9, does(session.Working, 0)),
		}
	}
	var f follower
	for _, moment := range []float64{1, 7, 8, 9} {
		f.see(after(moment), sights(moment)...)
	}
	var got []string
	for _, n := range follow.Needs(f.last) {
		got = append(got, n.Address.Block()+" "+string(n.Reason))
	}
	want := []string{"asks blocked", "stuck error", "prevented stuck", "unsent error", "cut off turn_interrupted", "late timeout", "lost error", "sick unhealthy", "stale stale", "pulled pr_held", "red verification_failed", "elsewhere branch_mismatch", "limited blocked_api", "ready turn_ended", "landed before turn_ended"}
	if !slices.Equal(got, want) {
		t.Errorf("needs:\ngot  %q\nwant %q", got, want)
	}
}

// Since when a session is on another branch is not since when its agent does what it
// does.
func TestNeedSince(t *testing.T) {
	off := does(session.Working, 0)
	off.OffBranch, off.OffSince = true, after(50)
	var f follower
	f.see(after(60), off)
	if needs := follow.Needs(f.last); len(needs) != 1 || needs[0].Reason != follow.NeedsBranch || !needs[0].Since.Equal(after(50)) {
		t.Errorf("needs %+v", needs)
	}
}

// TestShown checks that who has looked for long and who has just come say the same of a session that
// one look shows.
func TestShown(t *testing.T) {
	asks := does(session.Blocked, 0)
	asks.Since = after(5)
	var f follower
	f.see(after(1), does(session.Working, 0))
	f.see(after(6), asks)
	if n, needs := follow.Shown(f.last[0]); !needs || n.Reason != follow.NeedsAnswer || !n.Since.Equal(after(5)) {
		t.Errorf("needs %v: %+v", needs, n)
	}
	if needs := follow.Needs(f.last); len(needs) != 0 {
		t.Errorf("a question that may be between two states: %+v", needs)
	}
}

func TestHope(t *testing.T) {
	unknown := left(session.StateUnknown, session.NoActivity)
	wanted := left(session.StatePending, "")
	wanted.Recorded = false
	for name, c := range map[string]struct {
		sight
		want bool
	}{
		"lives": {does(session.Working, 0), true}, "cannot be seen": {unknown, true},
		"done": {left(session.StateStopped, session.Done), false}, "only wanted": {wanted, false},
	} {
		if got := follow.Hope([]follow.Sight{c.Sight}); got != c.want {
			t.Errorf("%s: hope is %v", name, got)
		}
	}
}

func TestVisible(t *testing.T) {
	custom := session.AgentSpec{Name: "sh", Command: []string{"sh"}}
	ready := custom
	ready.Ready = "> $"
	asking := custom
	asking.Patterns.Blocked = []string{"sure"}
	shot := custom
	shot.OneShot = true
	for name, c := range map[string]struct {
		session.AgentSpec
		follow.Goal
		want bool
	}{
		"built-in":  {session.AgentSpec{Name: "codex", Base: "codex"}, follow.Blocked, true},
		"no prompt": {custom, follow.Turn, false}, "a prompt": {ready, follow.Turn, true}, "its exit": {shot, follow.Turn, true},
		"no question": {ready, follow.Blocked, false}, "a question": {asking, follow.Blocked, true},
		"done by its phrase": {custom, follow.Done, true}, "ready by its life": {custom, follow.Ready, true},
	} {
		if err := follow.Visible(session.Spec{Agent: c.AgentSpec}, c.Goal); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if follow.Visible(session.Spec{Verify: session.Verify{Command: []string{"true"}}}, follow.Verified) != nil || follow.Visible(session.Spec{}, follow.Verified) == nil {
		t.Error("only a verify block shows that work is verified")
	}
}

func TestLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var when []time.Duration
		took := 100 * time.Millisecond
		for n, err := range follow.Looks(t.Context(), time.Second, nil, func(context.Context) (int, error) {
			time.Sleep(took)
			when = append(when, time.Since(began))
			if len(when) == 2 {
				took = time.Second // a look that takes long is followed by a longer rest
			}
			return len(when), nil
		}) {
			if err != nil || n == 4 {
				break
			}
		}
		want := []time.Duration{100 * time.Millisecond, 1200 * time.Millisecond, 3200 * time.Millisecond, 8200 * time.Millisecond}
		if !slices.Equal(when, want) {
			t.Errorf("looked after %v, want %v", when, want)
		}
	})
}

// Whatever tells is looked at when it tells, and not when it is time.
func TestLooksWhenTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		told := func() int64 { return int64(time.Since(began) / (700 * time.Millisecond)) }
		var when []time.Duration
		for n := range follow.Looks(t.Context(), time.Second, told, func(context.Context) (int, error) {
			when = append(when, time.Since(began).Round(100*time.Millisecond))
			return len(when), nil
		}) {
			if n == 4 {
				break
			}
		}
		if want := []time.Duration{0, 700 * time.Millisecond, 1400 * time.Millisecond, 2100 * time.Millisecond}; !slices.Equal(when, want) {
			t.Errorf("looked after %v, want %v", when, want)
		}
	})
}

func TestLooksEnd(t *testing.T) {
	bad := errors.New("the state is damaged")
	var got []error
	for _, err := range follow.Looks(t.Context(), time.Hour, nil, func(context.Context) (int, error) { return 0, bad }) {
		got = append(got, err)
	}
	if !slices.Equal(got, []error{bad}) {
		t.Errorf("an error is the last thing: %v", got)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		looks := 0
		for range follow.Looks(ctx, time.Second, nil, func(context.Context) (int, error) { return 0, nil }) {
			looks++
		}
		if looks != 4 {
			t.Errorf("%d looks in 3.5 seconds", looks)
		}
	})
}
