package plan

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// What another prompt does to a session, by its on_prompt_change.
func TestPromptChange(t *testing.T) {
	was := func(p session.PromptChange) func(*session.Spec) {
		return func(s *session.Spec) { s.OnPromptChange = p }
	}
	other := func(s *session.Spec) { s.Prompt = session.PromptOf("other") }
	oneShot := func(s *session.Spec) { s.Agent.OneShot = true }
	args := func(s *session.Spec) { s.Args = []string{"-v"} }
	paused := func(s *session.Spec) { s.Desired = session.Paused }
	stopped := func(s *session.Spec) { s.Desired = session.Stopped }
	given := func(r *session.Record) { r.Run.PromptSHA = session.PromptOf("do a").Digest }
	inputOff := func(l *session.Live) { l.InputOff = true }
	send, keep := was(session.PromptIsSent), was(session.PromptIsKept)
	hub := func(s *stage) *stage {
		s.in.ByHand, s.in.Hub = true, &Hub{}
		return s
	}
	type specs = []func(*session.Spec)
	for _, c := range []struct {
		name         string
		want, had    specs
		live         []func(*session.Live) // nil: it is gone
		story        string
		sends, fresh bool
		change       func(*stage) *stage
	}{
		{name: "restart", want: specs{other}, live: []func(*session.Live){}, story: "↻ a prompt_changed prompt\n", fresh: true},
		{name: "send", want: specs{send, other}, had: specs{send}, live: []func(*session.Live){}, story: "~ a prompt_changed prompt\n", sends: true},
		{name: "keep", want: specs{keep, other}, had: specs{keep}, live: []func(*session.Live){}, story: "~ a spec_changed prompt\n"},
		{name: "send from now on", want: specs{send, other}, live: []func(*session.Live){}, story: "~ a prompt_changed prompt on_prompt_change\n", sends: true},
		{name: "the setting alone", want: specs{keep}, live: []func(*session.Live){}, story: "~ a spec_changed on_prompt_change\n"},
		{name: "send, and another field restarts", want: specs{send, other, args}, had: specs{send}, live: []func(*session.Live){}, story: "↻ a spec_changed args prompt\n"},
		{name: "send, gone", want: specs{send, other}, had: specs{send}, story: "↻ a gone prompt\n? a missing\n"},
		{name: "keep, gone", want: specs{keep, other}, had: specs{keep}, story: "↻ a gone prompt\n? a missing\n"},
		{name: "send, paused", want: specs{send, other, paused}, had: specs{send, paused}, live: []func(*session.Live){inputOff}, story: "~ a spec_changed then pause prompt\n"},
		{name: "sent when resumed", want: specs{send, other}, had: specs{send, other, paused}, live: []func(*session.Live){inputOff}, story: "‖ a desired_running desired\n", sends: true},
		{name: "sent before the pause", want: specs{send, other, paused}, had: specs{send}, live: []func(*session.Live){}, story: "‖ a desired_paused desired prompt\n", sends: true},
		{name: "recorded and not sent", want: specs{send, other}, had: specs{send, other}, live: []func(*session.Live){}, story: "~ a prompt_changed\n", sends: true},
		{name: "the hub sends nothing", want: specs{send, other}, had: specs{send, other}, live: []func(*session.Live){}, story: "  a prompt_changed\n", change: hub},
		{name: "send, stopped", want: specs{send, other, stopped}, had: specs{send, stopped}, story: "~ a spec_changed prompt\n"},
		{name: "no prompt any more", want: specs{send, func(s *session.Spec) { s.Prompt = session.Prompt{} }}, had: specs{send}, live: []func(*session.Live){}, story: "~ a spec_changed prompt\n"},
		{name: "finished, send", want: specs{send, oneShot, other}, had: specs{send, oneShot}, live: []func(*session.Live){exitedWith("self", 0, "")}, story: "↻ a prompt_changed prompt\n"},
		{name: "finished, keep", want: specs{keep, oneShot, other}, had: specs{keep, oneShot}, live: []func(*session.Live){exitedWith("self", 0, "")}, story: "~ a spec_changed prompt\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage().want(spec("a", c.want...)).record(spec("a", c.had...), given)
			if c.live != nil {
				s.live("a", c.live...)
			}
			if c.change != nil {
				s = c.change(s)
			}
			p := Compute(s.in)
			if got := story(p); got != c.story {
				t.Errorf("got  %swant %s", got, c.story)
			}
			if x := p.Changes[0]; x.Sends != c.sends || x.Fresh != c.fresh {
				t.Errorf("sends %v, fresh %v: want %v, %v", x.Sends, x.Fresh, c.sends, c.fresh)
			}
			if asked := p.Asks()[session.Single("a")]; c.sends && !asked {
				t.Error("the plan does not ask what the agent does")
			}
		})
	}
}

func TestPromptWaitsForAnAnswer(t *testing.T) {
	send := func(s *session.Spec) { s.OnPromptChange = session.PromptIsSent }
	s := newStage().want(spec("a", send, func(s *session.Spec) { s.Prompt = session.PromptOf("other") })).record(spec("a", send)).live("a")
	s.in.Doing = map[session.Address]session.Doing{session.Single("a"): {Run: "run-a", Activity: session.Blocked}}
	if got := Compute(s.in).Changes[0].Detail; !strings.Contains(got, "asks a question") {
		t.Error(got)
	}
}
