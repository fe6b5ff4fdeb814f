package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

func TestOverBudget(t *testing.T) {
	over := func(want session.Desired) func(*session.Record) {
		return func(r *session.Record) {
			r.OverBudget = &session.OverBudget{Budget: "night", Desired: want, Until: now.Add(time.Hour), Detail: "2 of 1 tokens"}
		}
	}
	stopped := func(r *session.Record) {
		over(session.Paused)(r)
		r.Override = &session.Override{Desired: session.Stopped, By: "ada"}
	}
	detached := func(l *session.Live) { l.InputOff = true }
	frozen := func(l *session.Live) { l.InputOff, l.Frozen = true, true }
	ignored := func(s *stage) *stage { s.in.Options.IgnoreBudget = true; return s }
	one := func(rec func(*session.Record), live ...func(*session.Live)) *stage {
		sp := restartable("a")
		return newStage().want(sp).record(sp, rec).live("a", live...)
	}
	gone := func(rec func(*session.Record)) *stage {
		sp := restartable("a")
		return newStage().want(sp).record(sp, rec)
	}
	for name, c := range map[string]struct {
		stage *stage
		want  string
	}{
		"a running agent is paused":           {one(over(session.Paused)), "‖ a over_budget ? a changed"},
		"by the hub, too":                     {one(over(session.Paused)).byHub(), "‖ a over_budget ? a changed"},
		"one whose input alone is off":        {one(over(session.Paused), detached).byHub(), "‖ a over_budget"},
		"one that is suspended is held":       {one(over(session.Paused), frozen), "… a over_budget"},
		"one that died is not restarted":      {one(over(session.Paused), died(time.Hour)).byHub(), "… a over_budget ? a stale"},
		"one that is gone is not restarted":   {gone(over(session.Paused)).byHub(), "… a over_budget ? a missing"},
		"a running agent is stopped":          {one(over(session.Stopped)).byHub(), "‖ a desired_stopped ? a changed"},
		"a stopped one is held":               {gone(over(session.Stopped)), "… a over_budget"},
		"a person may stop it":                {one(stopped, frozen).byHub(), "‖ a desired_stopped"},
		"ignored, it is resumed":              {ignored(one(over(session.Paused), frozen)), "‖ a desired_running"},
		"ignored, it is started":              {ignored(gone(over(session.Stopped))), "↻ a desired_running"},
		"ignored before it is paused":         {ignored(one(over(session.Paused))), "~ a over_budget ? a changed"},
		"one that is not wanted is destroyed": {func() *stage { s := one(over(session.Paused), frozen); s.in.Wanted = nil; return s }(), "- a not_in_manifest"},
		"a changed setting is taken up":       {func() *stage { s := one(over(session.Paused), frozen); s.in.Wanted[0].Priority = 3; return s }(), "~ a spec_changed then pause priority"},
		"a change that restarts it is held": {func() *stage {
			s := one(over(session.Paused), frozen)
			s.in.Wanted[0].Args = []string{"-x"}
			return s
		}(), "… a over_budget args"},
		"a person's restart is held": {func() *stage {
			s := one(over(session.Paused), frozen)
			s.in.ByHand = true
			s.in.Options.Restart = []session.Address{"session.a"}
			return s
		}(), "… a over_budget"},
		"what it wants to be is the spec's, if": {one(func(r *session.Record) {}), "  a in_sync"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Compute(c.stage.in)
			if got := strings.Join(strings.Fields(story(p)), " "); got != strings.TrimSpace(c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			for _, x := range p.Changes {
				if x.Reason == ReasonOverBudget && x.Action == Hold && (!x.Until.Equal(now.Add(time.Hour)) || !strings.Contains(x.Detail, "2 of 1 tokens")) {
					t.Errorf("%s until %s", x.Detail, x.Until)
				}
				if c.stage.in.Options.IgnoreBudget && x.IgnoresBudget == nil {
					t.Error("it does not say that a budget is ignored")
				}
			}
		})
	}
}
