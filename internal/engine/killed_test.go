package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

var errKilled = errors.New("killed")

// life ends before its last act on the world. From then on nothing that is tried
// has any effect. Between two acts nothing else that matters happens, so that
// being killed after one is being killed before the next.
type life struct {
	mu   sync.Mutex
	acts int // so far
	last int // 0: there is none
}

func (l *life) act(do func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.acts++; l.last > 0 && l.acts >= l.last {
		return errKilled
	}
	return do()
}

// mortalStore and mortalRuntime are a store and a runtime as a process that is
// going to be killed has them.
type mortalStore struct {
	*state.Store
	life *life
}

func (s mortalStore) Put(r session.Record) error {
	return s.life.act(func() error { return s.Store.Put(r) })
}

func (s mortalStore) Delete(a session.Address) error {
	return s.life.act(func() error { return s.Store.Delete(a) })
}

type mortalRuntime struct {
	session.Runtime
	life *life
}

func (m mortalRuntime) Create(ctx context.Context, l session.Launch) (p session.Location, err error) {
	err = m.life.act(func() (err error) { p, err = m.Runtime.Create(ctx, l); return err })
	return p, err
}

func (m mortalRuntime) Restart(ctx context.Context, in session.Location, l session.Launch) (p session.Location, err error) {
	err = m.life.act(func() (err error) { p, err = m.Runtime.Restart(ctx, in, l); return err })
	return p, err
}

func (m mortalRuntime) Stop(ctx context.Context, p session.Location, run string, s session.Stop) error {
	return m.life.act(func() error { return m.Runtime.Stop(ctx, p, run, s) })
}

func (m mortalRuntime) Remove(ctx context.Context, p session.Location) error {
	return m.life.act(func() error { return m.Runtime.Remove(ctx, p) })
}

func (m mortalRuntime) Pause(ctx context.Context, p session.Location, run, mode string) error {
	return m.life.act(func() error { return m.Runtime.Pause(ctx, p, run, mode) })
}

func (m mortalRuntime) Resume(ctx context.Context, p session.Location, run string) error {
	return m.life.act(func() error { return m.Runtime.Resume(ctx, p, run) })
}

func (m mortalRuntime) Send(ctx context.Context, p session.Location, in session.Input) error {
	return m.life.act(func() error { return m.Runtime.Send(ctx, p, in) })
}

// applyUntil applies the specs as a process that lives so long.
func (r *room) applyUntil(l *life, specs []session.Spec) {
	r.t.Helper()
	store, err := state.Open(r.t.Context(), r.StatePath, "shop", "", state.Holder{}, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	defer store.Close()
	st := store.State()
	eyes := r.Observer
	eyes.Runtime = func(session.RuntimeSpec) (session.Runtime, error) { return r.rt, nil }
	w := eyes.World(r.t.Context(), specs, st.Sessions, false)
	p := plan.Compute(plan.Input{Now: w.At, Project: "shop", Lineage: st.Lineage, Wanted: specs, Records: st.Sessions, World: w})
	a := r.Applier
	a.Parallelism = 1
	a.Store = mortalStore{store, l}
	a.Runtime = func(session.RuntimeSpec) (session.Runtime, error) { return mortalRuntime{r.rt, l}, nil }
	_, err = a.Run(r.t.Context(), p, nil)
	if err != nil && !errors.Is(err, errKilled) {
		r.t.Fatal(err)
	}
}

// TestKilledAtAnyMoment kills an apply at each of its acts on the state and on
// the runtime, in turn. Nothing may then be alive that is not on record, and
// the next apply must come to the same end as one that was not killed.
func TestKilledAtAnyMoment(t *testing.T) {
	whole := &life{}
	killed(t, whole)
	if whole.acts < 40 {
		t.Fatalf("the whole apply has %d acts only", whole.acts)
	}
	for n := 1; n <= whole.acts; n++ {
		t.Run(fmt.Sprintf("before act %d", n), func(t *testing.T) {
			t.Parallel()
			killed(t, &life{last: n})
		})
	}
}

// killed has a clock of its own, so that what waits takes no time.
func killed(t *testing.T, l *life) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { newRoom(t).killed(t, l) })
}

func (r *room) killed(t *testing.T, l *life) {
	prompted, moved, paused, stopped := r.spec("prompted"), r.spec("moved"), r.spec("paused"), r.spec("stopped")
	dead := r.spec("dead")
	r.must(prompted, moved, paused, stopped, r.spec("gone"), dead)
	r.rt.Kill(place("dead"))
	prompted.Prompt = session.PromptOf("something else")
	moved.Workspace.Path, moved.Workspace.Explicit = filepath.Join(r.dir, "workspaces", "elsewhere"), true
	paused.Desired, stopped.Desired = session.Paused, session.Stopped
	both := r.spec("born-paused")
	both.Desired = session.Paused
	wanted := []session.Spec{prompted, moved, paused, stopped, dead, r.spec("born", "second"), r.spec("second"), both}

	r.applyUntil(l, wanted)
	r.nothingUnrecorded()
	for n := 0; n < 3 && len(r.planned(wanted...)) > 0; n++ {
		r.must(wanted...)
	}
	if got := r.planned(wanted...); len(got) != 0 {
		t.Fatalf("it does not come to an end: %v", got)
	}
	r.nothingUnrecorded()
	var want []string
	for _, s := range wanted {
		if s.Desired == session.Stopped {
			continue
		}
		want = append(want, s.Address.OutsideName("shop"))
		st, there := r.rt.State(s.Address.OutsideName("shop"))
		rec := r.record(s.Address.Block())
		if !there || st.Live.Mark.Run != rec.Run.ID || st.Live.Mark.ID != rec.ID || st.Live.Liveness != session.Alive {
			t.Errorf("%s: live %+v, on record %+v", s.Address, st.Live, rec)
		}
		if st.Live.InputOff != (s.Desired == session.Paused) {
			t.Errorf("%s: paused is %v", s.Address, st.Live.InputOff)
		}
		if rec.Intent != session.Settled || rec.LastError != "" || rec.Run.DeliveredAt.IsZero() || rec.Spec.Hash() != s.Hash() {
			t.Errorf("%s: on record %+v", s.Address, rec)
		}
		// The one that is killed between typing a prompt and recording that has it
		// typed once more: lost would be worse.
		if got := len(st.Sent); got == 0 || got > st.Launches+1 || st.Sent[got-1].Text != s.Prompt.Text {
			t.Errorf("%s: in %d launches was typed %v", s.Address, st.Launches, st.Sent)
		}
	}
	if diff := cmp.Diff(len(want), len(r.rt.Places())); diff != "" {
		t.Errorf("places: %s", diff)
	}
}

// nothingUnrecorded: whatever lives is on record, under its identity.
func (r *room) nothingUnrecorded() {
	r.t.Helper()
	ids := map[string]bool{}
	for _, rec := range r.records() {
		ids[rec.ID] = true
	}
	for _, name := range r.rt.Places() {
		if st, _ := r.rt.State(name); !ids[st.Live.Mark.ID] {
			r.t.Errorf("%s lives and is not on record: %+v", name, st.Live.Mark)
		}
	}
}

// What an engine goes on with after the apply that told it was killed cannot be told
// alive or dead for a while: the next apply waits for that, and converges.
func TestBegunAndKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		r.rt.Faults.FailAfter(sessiontest.OpCreate, 1, errKilled)
		if _, _, err := r.converge(engine.Request{Wanted: []session.Spec{r.spec("a")}}); err == nil {
			t.Fatal("it was created")
		}
		r.begun("a")
		r.rt.Kill(place("a"))
		doubt := func(v session.Liveness) func(*sessiontest.State) {
			return func(s *sessiontest.State) { s.Live.Liveness, s.Live.UnknownReason = v, "made just now" }
		}
		r.rt.Edit(place("a"), doubt(session.Unknown))
		time.AfterFunc(9*time.Second, func() { r.rt.Edit(place("a"), doubt(session.Dead)) })
		r.must(r.spec("a"))
		if acts := r.planned(r.spec("a")); len(acts) > 0 {
			t.Errorf("not converged: %v", acts)
		}
		if s, ok := r.rt.State(place("a")); !ok || s.Live.Liveness != session.Alive {
			t.Error("it does not live")
		}
	})
}

// begun puts a session on record as one that is being created.
func (r *room) begun(name string) { r.interrupt(name, session.Creating) }

// interrupt puts a session on record as one that something is under way with.
func (r *room) interrupt(name string, under session.Intent) {
	r.t.Helper()
	store, err := state.Open(r.t.Context(), r.StatePath, "shop", "test", state.Holder{}, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	defer store.Close()
	for _, rec := range store.State().Sessions {
		if rec.Address == session.Single(name) {
			rec.Intent, rec.LastError = under, ""
			if err := store.Put(rec); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// A git whose apply was killed takes back the worktree that it had begun, first what the
// repository knows of it: for that moment the workspace cannot be read. One that was being
// removed is no checkout any more before it is gone.
func TestGitGoesOnAlone(t *testing.T) {
	for name, halfway := range map[session.Intent]session.Checkout{
		session.Creating: {Exists: true, Git: true, Err: errors.New("HEAD is gone")},
		session.Removing: {Exists: true},
	} {
		t.Run(string(name), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRoom(t)
				s := r.spec("a")
				s.Workspace.Mode, s.Workspace.Repo, s.Branch = session.Worktree, "/repo", "agents/a"
				var mu sync.Mutex
				at := session.Checkout{Path: s.Workspace.Path}
				look := func(string) session.Checkout {
					mu.Lock()
					defer mu.Unlock()
					return at
				}
				shows := func(co session.Checkout) {
					mu.Lock()
					defer mu.Unlock()
					co.Path, at = s.Workspace.Path, co
				}
				r.Observer.Look, r.Applier.Git.Look = look, look
				r.Applier.Git.AddWorktree = func(context.Context, string, string, string, string) (bool, error) {
					if co := look(""); co.Exists {
						return false, fmt.Errorf("it is there: %+v", co)
					}
					shows(session.Checkout{Exists: true, Git: true, Branch: "agents/a", Repo: "/repo"})
					return true, nil
				}
				r.must(s)
				r.interrupt("a", name)
				r.rt.Vanish(place("a"))
				shows(halfway)
				time.AfterFunc(3*time.Second, func() { shows(session.Checkout{}) })
				r.must(s)
				if acts := r.planned(s); len(acts) > 0 {
					t.Errorf("not converged: %v", acts)
				}
			})
		})
	}
}
