package apply_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// moved is what a plan would say of sessions that only move: pairs of old and new
// names, nothing else to be done with them, unless it is one that acts.
func (r *fixture) moved(acts bool, names ...string) plan.Plan {
	p := plan.Plan{Lineage: lineage}
	for i := 0; i < len(names); i += 2 {
		from, to := session.Single(names[i]), session.Single(names[i+1])
		rec := r.record(names[i])
		rec.Address = to
		spec := rec.Spec
		spec.Address = to
		c := plan.Change{Address: to, Action: plan.None, Before: &rec, After: &spec, Moved: from}
		if acts {
			c.Action, c.Reason = plan.Update, plan.ReasonMoved
		}
		if st, ok := r.rt.State(r.place(names[i])); ok {
			c.Live = &st.Live
		}
		p.Changes = append(p.Changes, c)
	}
	return p
}

// who is which session, by its id, stands at each address.
func (r *fixture) who() map[string]string {
	all := map[string]string{}
	for _, rec := range r.store.State().Sessions {
		all[rec.Address.Block()] = strings.Split(rec.ID, "-")[0]
	}
	return all
}

func TestMoves(t *testing.T) {
	for _, acts := range []bool{true, false} {
		r := newFixture(t)
		r.must(r.create(r.spec("a"), r.spec("b"), r.spec("c")))
		// A chain: each takes the place of the next.
		r.must(r.moved(acts, "a", "b", "b", "c", "c", "d"))
		if got := r.who(); len(got) != 3 || got["b"] != "a" || got["c"] != "b" || got["d"] != "c" {
			t.Errorf("acts %v: at each address stands %v", acts, got)
		}
		if rec := r.record("d"); rec.Spec.Address != "session.d" || rec.Run.ID == "" {
			t.Errorf("its record is %+v", rec)
		}
		if got := r.eventsOf(history.Moved); len(got) != 3 {
			t.Errorf("events: %v", got)
		}
		if calls := r.calls(sessiontest.OpStop, sessiontest.OpRestart, sessiontest.OpRemove); len(calls) != 0 {
			t.Errorf("a session that only moved was touched: %v", calls)
		}
	}
}

func TestMoveInACircle(t *testing.T) {
	r := newFixture(t)
	r.must(r.create(r.spec("a"), r.spec("b"), r.spec("c")))
	tally, err := r.run(r.moved(true, "a", "b", "b", "a", "c", "d"))
	if err == nil || !strings.Contains(err.Error(), "cannot swap addresses in one step") || tally.Failed != 2 || tally.Done != 1 {
		t.Errorf("%+v, %v", tally, err)
	}
	if got := r.who(); got["a"] != "a" || got["b"] != "b" || got["d"] != "c" {
		t.Errorf("at each address stands %v", got)
	}
}

// A session keeps its outside name when it moves, and the next one at its old
// address gets another.
func TestOldAddressIsUsedAgain(t *testing.T) {
	r := newFixture(t)
	r.must(r.create(r.spec("a")))
	r.must(r.moved(true, "a", "b"))
	spec := r.spec("a")
	spec.Branch, spec.Workspace.Path = "agents/a2", spec.Workspace.Path+"2"
	r.must(r.create(spec))
	if a, b := r.record("a").Location.Name, r.record("b").Location.Name; a == b || b != r.place("a") || !strings.HasPrefix(a, b+"-") {
		t.Errorf("a is called %s, b %s", a, b)
	}
	// A name that is not ours is not given another.
	r.rt.Plant(session.Live{Location: session.Location{Name: r.place("x")}, PlaceUp: true})
	if _, err := r.run(r.create(r.spec("x"))); !errors.Is(err, session.ErrExists) {
		t.Errorf("beside a stranger of that name: %v", err)
	}
}

// taker is a runtime in which there is something to take over.
type taker struct {
	*sessiontest.Scripted
	session.Adopter
	marks []session.Mark
	err   error
}

func (k *taker) Adopt(_ context.Context, id string, m session.Mark) (session.Location, error) {
	k.marks = append(k.marks, m)
	return session.Location{Runtime: "scripted", Name: strings.TrimPrefix(id, "tmux:x/")}, k.err
}

func TestTakeOver(t *testing.T) {
	for _, origin := range []session.Origin{"", session.FromAdopt} {
		r := newFixture(t)
		k := &taker{Scripted: r.rt}
		r.applier.Runtime = func(session.RuntimeSpec) (session.Runtime, error) { return k, nil }
		r.applier.Origin = origin
		began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		spec := r.spec("a")
		spec.Workspace.Path, spec.Prompt = r.dir, session.PromptOf("go on")
		p := plan.Plan{Lineage: lineage, Changes: []plan.Change{{Address: spec.Address, Action: plan.Adopt, Reason: plan.ReasonImport,
			Import: "tmux:x/theirs", After: &spec, Live: &session.Live{Foreign: true, Started: began}}}}
		k.err = errors.New("it has gone")
		if _, err := r.run(p); err == nil || r.recorded("a") {
			t.Errorf("on record although it could not be marked: %v", err)
		}
		k.err, k.marks = nil, nil
		r.must(p)
		rec := r.record("a")
		if origin == "" {
			origin = session.FromManifest
		}
		if len(k.marks) != 1 || k.marks[0] != (session.Mark{Project: lineage, Address: spec.Address, ID: rec.ID, Run: rec.Run.ID, Hash: spec.Hash()}) {
			t.Errorf("marked with %+v", k.marks)
		}
		if rec.Origin != origin || rec.Location.Name != "theirs" || rec.Intent != session.Settled || !rec.Run.StartedAt.Equal(began) ||
			rec.Run.DeliveredAt.IsZero() || rec.Tree.Created || !rec.Tree.Ready || rec.Tree.Path != r.dir || len(rec.Run.ID) != 16 {
			t.Errorf("on record: %+v", rec)
		}
		if calls := r.calls(sessiontest.OpCreate, sessiontest.OpRestart, sessiontest.OpStop, sessiontest.OpSend); len(calls) != 0 {
			t.Errorf("it was disturbed: %v", calls)
		}
		if text, err := r.applier.Blobs.Get(spec.Prompt.Digest); err != nil || text != "go on" {
			t.Errorf("its prompt for a restart: %q, %v", text, err)
		}
	}
	// A runtime that cannot do it says so.
	r := newFixture(t)
	spec := r.spec("a")
	_, err := r.run(plan.Plan{Changes: []plan.Change{{Address: spec.Address, Action: plan.Adopt, Import: "x:y", After: &spec, Live: &session.Live{}}}})
	if err == nil || !strings.Contains(err.Error(), "cannot adopt") {
		t.Error(err)
	}
}

var _ session.Adopter = (*taker)(nil)

func TestMovedAndForgotten(t *testing.T) {
	r := newFixture(t)
	r.must(r.create(r.spec("a")))
	p := r.moved(false, "a", "b")
	p.Changes[0].Action, p.Changes[0].After = plan.Forget, nil
	r.must(p)
	if got := r.store.State().Sessions; slices.ContainsFunc(got, func(session.Record) bool { return true }) {
		t.Errorf("still on record: %+v", got)
	}
}

// What an apply that was killed had told the engine to make may appear after the next
// one looked: it is in nobody's way.
func TestMadeLate(t *testing.T) {
	r := newFixture(t)
	p := r.create(r.spec("a"))
	r.rt.Faults.FailAfter(sessiontest.OpCreate, 1, errors.New("killed"))
	if _, err := r.run(p); err == nil {
		t.Fatal("it was created")
	}
	was := r.record("a")
	r.rt.Kill(r.place("a"))
	p = r.create(r.spec("a"))
	p.Changes[0].Live = nil
	r.must(p)
	if got := r.record("a"); got.ID != was.ID || got.Location.Name != was.Location.Name && was.Location.Name != "" || got.LastError != "" {
		t.Errorf("on record: %+v, was %+v", got, was)
	}
	if s, ok := r.rt.State(r.place("a")); !ok || s.Live.Liveness != session.Alive {
		t.Error("it does not live")
	}
}
