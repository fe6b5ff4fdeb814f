package apply_test

import (
	"context"
	"errors"
	"testing"

	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// reverting is a runtime that puts back what was edited of a place.
type reverting struct {
	*sessiontest.Scripted
	places []string
	fails  error
}

func (r *reverting) Revert(_ context.Context, p session.Location, _ session.Spec) error {
	r.places = append(r.places, p.Name)
	return r.fails
}

// TestEditsArePutBack shows that an action that leaves the agent running puts back what was
// edited of its place, and fails if that does.
func TestEditsArePutBack(t *testing.T) {
	refused := errors.New("no right to patch")
	for name, c := range map[string]struct {
		action plan.Action
		edits  []session.Edit
		fails  error
		want   int
	}{
		"update":          {plan.Update, []session.Edit{{Field: "replicas"}}, nil, 1},
		"pause":           {plan.Pause, []session.Edit{{Field: "replicas"}}, nil, 1},
		"nothing edited":  {plan.Update, nil, nil, 0},
		"it is not taken": {plan.Update, []session.Edit{{Field: "replicas"}}, refused, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newFixture(t)
			rt := &reverting{Scripted: r.rt, fails: c.fails}
			r.applier.Runtime = func(session.RuntimeSpec) (session.Runtime, error) { return rt, nil }
			s := r.spec("api")
			r.must(r.create(s))
			p := r.one(c.action, s)
			p.Changes[0].Live.Edited = c.edits
			if _, err := r.run(p); !errors.Is(err, c.fails) {
				t.Errorf("the apply ended with %v, want %v", err, c.fails)
			}
			if len(rt.places) != c.want || c.want > 0 && rt.places[0] != r.place("api") {
				t.Errorf("put back at %q, want %d times", rt.places, c.want)
			}
		})
	}
}
