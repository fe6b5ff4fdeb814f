package engine_test

import (
	"testing"
	"time"

	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Agents that are not in the state are looked for before anything is started, by plan, apply,
// status and hub, and only then.
func TestNothingStartsNextToAStray(t *testing.T) {
	r := newRoom(t)
	looked := 0
	var strays []session.Stray
	meanwhile := func() {}
	r.Observer.Strays = func(recorded func(string) bool) []session.Stray {
		looked++
		meanwhile()
		meanwhile = func() {}
		found := []session.Stray{}
		for _, s := range strays {
			if !recorded(s.Run) {
				found = append(found, s)
			}
		}
		return found
	}
	api := r.spec("api")
	api.Agent.PromptVia = "none"
	api.Restart = session.Restart{Policy: "always", Attempts: 5, Window: session.Duration(time.Hour)}
	lost := session.Stray{Run: "0123456789abcdef", Process: session.Process{PID: 7}, Address: api.Address, Ours: true, Dir: "/elsewhere"}
	held := func(p plan.Plan) {
		t.Helper()
		if c := p.Changes[0]; c.Action != plan.None || c.Reason != plan.ReasonAgentRuns {
			t.Errorf("%s %s: %s; want it held", c.Action, c.Reason, c.Detail)
		}
	}

	strays = []session.Stray{lost}
	p, _, err := r.converge(engine.Request{Wanted: []session.Spec{api}})
	if held(p); err != nil || len(r.rt.Places()) != 0 {
		t.Errorf("apply made %v, %v", r.rt.Places(), err)
	}
	o, err := r.Inspect(t.Context(), false, api)
	if err != nil || len(o.Pending) != 1 || o.Pending[0].Other == "" {
		t.Errorf("status does not know of it: %+v, %v", o.Pending, err)
	}

	strays = nil
	// Another command starts it after this one has read the state.
	meanwhile = func() {
		other := r.another()
		q := engine.Request{Wanted: []session.Spec{api}}
		p, err := other.Plan(t.Context(), q)
		if err == nil {
			_, err = other.Apply(t.Context(), q, p, nil)
		}
		if err != nil {
			t.Error(err)
		}
		strays = []session.Stray{{Run: r.record("api").Run.ID, Address: api.Address, Ours: true}}
	}
	if o, err := r.Inspect(t.Context(), false, api); err != nil || len(o.Pending) != 1 || o.Pending[0].Other != "" {
		t.Errorf("what was just started is a stray: %+v, %v", o.Pending, err)
	}
	strays, looked = nil, 0
	if p, err := r.Plan(t.Context(), engine.Request{Wanted: []session.Spec{api}}); err != nil || p.Changes[0].Action != plan.None || looked != 0 {
		t.Errorf("nothing is to be started, and it looked %d times: %v", looked, err)
	}

	// It exits while an earlier agent lives.
	r.rt.Exit(place("api"), session.Exit{Cause: "self", Code: 1})
	strays = []session.Stray{lost}
	p, _, err = r.Repair(t.Context(), engine.HubInput{}, nil)
	if held(p); err != nil {
		t.Error(err)
	}
	if st, _ := r.rt.State(place("api")); st.Launches != 1 {
		t.Errorf("the hub launched it %d times", st.Launches)
	}
}
