package plan

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

func owned(o session.Owner) func(*session.Record) {
	return func(r *session.Record) { r.Owner = o }
}

// Nothing is done with a session of another host, user or data directory, whatever is
// wanted and whatever can be seen of it from here.
func TestSessionsOfOtherOwnersAreLeftAlone(t *testing.T) {
	here := session.Owner{Host: "b", Machine: "m2", BootID: boot, UID: 0, DataDir: "/p/.agentform"}
	of := func(change func(*session.Owner)) session.Owner {
		o := here
		change(&o)
		return o
	}
	for what, c := range map[string]struct {
		owner session.Owner
		says  string
	}{
		"host":           {of(func(o *session.Owner) { o.Host, o.Machine, o.BootID = "a", "m1", "b0" }), "started on host a, and this is b; other_host"},
		"pid namespace":  {of(func(o *session.Owner) { o.PIDNamespace = "77" }), "pid namespace 77"},
		"user":           {of(func(o *session.Owner) { o.UID = 1000 }), "started by the user with uid 1000, and this is uid 0; other_user"},
		"data directory": {of(func(o *session.Owner) { o.DataDir = "/old/.agentform" }), "; move_project"},
	} {
		for how, change := range map[string]func(*Input){
			"apply":            func(*Input) {},
			"another manifest": func(in *Input) { in.Wanted[0].Prompt = session.PromptOf("something else") },
			"destroy":          func(in *Input) { in.Options.Destroy = true },
			"replace":          func(in *Input) { in.Options.Replace = []session.Address{"session.api"} },
			"stop":             func(in *Input) { in.ByHand, in.Options.Targets = true, []session.Address{"session.api"} },
			"the hub":          func(in *Input) { in.ByHand, in.Hub = true, &Hub{} },
			"a container": func(in *Input) {
				in.Options.Destroy = true
				in.World.Lives = []session.Live{{Mark: session.Mark{Project: lineage, Address: "session.api", ID: "id-api", Run: "run-api"},
					PlaceUp: true, Liveness: session.Unknown, Location: session.Location{Runtime: "docker", Container: "c"}}}
			},
		} {
			s := newStage().want(spec("api")).record(spec("api"), owned(c.owner))
			s.in.World.Here = here
			change(&s.in)
			p := Compute(s.in)
			got := p.Changes[0]
			if got.Action.Acts() || got.State != session.StateUnknown || got.Reason != ReasonElsewhere || !strings.Contains(withCode(got.Detail, got.Remedy), c.says) {
				t.Errorf("%s, %s: %s, %s, %s: %s", what, how, got.Action, got.State, got.Reason, got.Detail)
			}
			if told := len(p.Problems) == 1; told == s.in.ByHand {
				t.Errorf("%s, %s: problems: %v", what, how, p.Problems)
			}
		}
	}
}

func TestRestartedHostOrContainer(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*Input)
		detail string
	}{
		"the host":      {func(in *Input) { in.World.BootID, in.World.Here.BootID = "boot-2", "boot-2" }, "host rebooted"},
		"the container": {func(in *Input) { in.World.Here.PIDNamespace = "78" }, "container restarted"},
	} {
		here := session.Owner{Host: "b", Machine: "m", BootID: boot, PIDNamespace: "77"}
		s := newStage().want(spec("api")).record(spec("api"), owned(here))
		s.in.World.Here = here
		s.in.World.Checkouts["/ws/api"] = session.Checkout{Path: "/ws/api", Exists: true, Git: true, Branch: "agents/api"}
		c.change(&s.in)
		got := Compute(s.in).Changes[0]
		if got.Action != Restart || got.Reason != ReasonRebooted || got.Detail != c.detail {
			t.Errorf("%s: %s, %s: %s", what, got.Action, got.Reason, got.Detail)
		}
	}
}
