package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// fault is what one call to the outside does instead of what it should.
type fault struct {
	name string
	err  error         // it returns this
	late bool          // having done its work: the answer is lost
	slow time.Duration // it takes its time
}

var faults = []fault{
	{name: "error", err: syscall.ENOSPC},
	{name: "error after", err: syscall.EINTR, late: true},
	{name: "slow", slow: 5 * time.Second},
}

// edge is where agentform meets the outside: every call of the runtime and of the store
// goes through it, and one of them meets a fault.
type edge struct {
	mu    sync.Mutex
	calls map[string]int // by operation
	op    string         // that meets the fault
	nth   int            // call of it
	fault fault
	met   session.Address // the session that it was met with
}

func (e *edge) call(op string, of session.Address, do func() error) error {
	e.mu.Lock()
	e.calls[op]++
	meets := e.op == op && e.nth == e.calls[op]
	if meets {
		e.met = of
	}
	e.mu.Unlock()
	if !meets {
		return do()
	}
	time.Sleep(e.fault.slow)
	if e.fault.late || e.fault.err == nil {
		if err := do(); err != nil {
			return err
		}
	}
	return e.fault.err
}

// frailStore and frailRuntime are a store and a runtime behind an edge.
type frailStore struct {
	*state.Store
	edge *edge
}

func (s frailStore) Put(r session.Record) error {
	return s.edge.call("put", r.Address, func() error { return s.Store.Put(r) })
}

func (s frailStore) Delete(a session.Address) error {
	return s.edge.call("delete", a, func() error { return s.Store.Delete(a) })
}

type frailRuntime struct {
	session.Runtime
	edge *edge
	of   func(place string) session.Address
}

func (f frailRuntime) Observe(ctx context.Context, screens bool) (lives []session.Live, err error) {
	err = f.edge.call("observe", "", func() (err error) { lives, err = f.Runtime.Observe(ctx, screens); return err })
	return lives, err
}

func (f frailRuntime) Create(ctx context.Context, l session.Launch) (p session.Location, err error) {
	err = f.edge.call("create", l.Mark.Address, func() (err error) { p, err = f.Runtime.Create(ctx, l); return err })
	return p, err
}

func (f frailRuntime) Restart(ctx context.Context, in session.Location, l session.Launch) (p session.Location, err error) {
	err = f.edge.call("restart", l.Mark.Address, func() (err error) { p, err = f.Runtime.Restart(ctx, in, l); return err })
	return p, err
}

func (f frailRuntime) Stop(ctx context.Context, p session.Location, run string, s session.Stop) error {
	return f.edge.call("stop", f.of(p.Name), func() error { return f.Runtime.Stop(ctx, p, run, s) })
}

func (f frailRuntime) Remove(ctx context.Context, p session.Location) error {
	return f.edge.call("remove", f.of(p.Name), func() error { return f.Runtime.Remove(ctx, p) })
}

func (f frailRuntime) Pause(ctx context.Context, p session.Location, run, mode string) error {
	return f.edge.call("pause", f.of(p.Name), func() error { return f.Runtime.Pause(ctx, p, run, mode) })
}

func (f frailRuntime) Resume(ctx context.Context, p session.Location, run string) error {
	return f.edge.call("resume", f.of(p.Name), func() error { return f.Runtime.Resume(ctx, p, run) })
}

func (f frailRuntime) Send(ctx context.Context, p session.Location, in session.Input) error {
	return f.edge.call("send", f.of(p.Name), func() error { return f.Runtime.Send(ctx, p, in) })
}

func (f frailRuntime) Capture(ctx context.Context, p session.Location, lines int) (text string, err error) {
	err = f.edge.call("capture", f.of(p.Name), func() (err error) { text, err = f.Runtime.Capture(ctx, p, lines); return err })
	return text, err
}

// applyBehind applies the specs behind an edge.
func (r *room) applyBehind(e *edge, specs []session.Spec) error {
	r.t.Helper()
	store, err := state.Open(r.t.Context(), r.StatePath, "shop", "", state.Holder{}, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	defer store.Close()
	st := store.State()
	addresses := map[string]session.Address{}
	for _, rec := range st.Sessions {
		addresses[rec.Location.Name] = rec.Address
	}
	for _, s := range specs {
		addresses[s.Address.OutsideName("shop")] = s.Address
	}
	rt := frailRuntime{r.rt, e, func(place string) session.Address { return addresses[place] }}
	eyes := r.Observer
	eyes.Runtime = func(session.RuntimeSpec) (session.Runtime, error) { return rt, nil }
	w := eyes.World(r.t.Context(), specs, st.Sessions, false)
	p := plan.Compute(plan.Input{Now: w.At, Project: "shop", Lineage: st.Lineage, Wanted: specs, Records: st.Sessions, World: w})
	var errs []error
	for _, d := range p.Problems {
		errs = append(errs, d)
	}
	a := r.Applier
	a.Parallelism = 1
	a.Store, a.Runtime = frailStore{store, e}, eyes.Runtime
	_, err = a.Run(r.t.Context(), p, nil)
	return errors.Join(append(errs, err)...)
}

// TestFaultAtAnyCall lets each call that a whole apply makes to its runtime and its store
// meet each fault, in turn. The error then names the session and says what was lost, what
// lives is on record, and the next apply comes to the end that it would have come to.
func TestFaultAtAnyCall(t *testing.T) {
	whole := &edge{calls: map[string]int{}}
	meet(t, whole)
	for _, op := range []string{"observe", "create", "restart", "stop", "remove", "pause", "resume", "send", "capture", "put", "delete"} {
		if whole.calls[op] == 0 {
			t.Errorf("the whole apply has no %s", op)
		}
	}
	for _, op := range slices.Sorted(maps.Keys(whole.calls)) {
		for n := 1; n <= whole.calls[op]; n++ {
			for _, f := range faults {
				t.Run(fmt.Sprintf("%s %d: %s", op, n, f.name), func(t *testing.T) {
					t.Parallel()
					meet(t, &edge{calls: map[string]int{}, op: op, nth: n, fault: f})
				})
			}
		}
	}
}

// meet makes sessions, and then changes each in another way behind an edge. It has a
// clock of its own, so that what waits takes no time.
func meet(t *testing.T, e *edge) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { newRoom(t).meet(t, e) })
}

func (r *room) meet(t *testing.T, e *edge) {
	prompted, moved, paused, stopped, resumed := r.spec("prompted"), r.spec("moved"), r.spec("paused"), r.spec("stopped"), r.spec("resumed")
	dead, gone, born, second := r.spec("dead"), r.spec("gone"), r.spec("born", "second"), r.spec("second")
	for _, silent := range []*session.Spec{&moved, &stopped, &resumed, &dead, &gone, &second} {
		silent.Prompt = session.Prompt{}
	}
	resumed.Desired = session.Paused
	r.must(prompted, moved, paused, stopped, resumed, gone, dead)
	r.rt.Kill(place("dead"))
	prompted.Prompt = session.PromptOf("something else")
	moved.Workspace.Path, moved.Workspace.Explicit = filepath.Join(r.dir, "workspaces", "elsewhere"), true
	paused.Desired, stopped.Desired, resumed.Desired = session.Paused, session.Stopped, session.Running
	wanted := []session.Spec{prompted, moved, paused, stopped, resumed, dead, born, second}

	err := r.applyBehind(e, wanted)
	if said := fmt.Sprint(err); e.fault.err != nil && err != nil {
		if !strings.Contains(said, e.fault.err.Error()) || e.met != "" && !strings.Contains(said, string(e.met)) {
			t.Errorf("the error names %s and %q nowhere: %s", e.met, e.fault.err, said)
		}
	} else if err != nil {
		t.Errorf("nothing failed, and the error is: %s", said)
	} else if full := errors.Is(e.fault.err, syscall.ENOSPC) && (e.met == stopped.Address || e.met == gone.Address); e.fault.err != nil && !forgiven[e.op] && !full {
		t.Errorf("%s failed, and nobody was told", e.op)
	}
	r.nothingUnrecorded()
	r.must(wanted...)
	if got := r.planned(wanted...); len(got) != 0 {
		t.Fatalf("the next apply does not come to an end: %v", got)
	}
	r.nothingUnrecorded()
	for _, s := range wanted {
		st, there := r.rt.State(s.Address.OutsideName("shop"))
		rec := r.record(s.Address.Block())
		if there != (s.Desired != session.Stopped) {
			t.Errorf("%s: it is there: %v", s.Address, there)
		}
		if there && (st.Live.Mark.Run != rec.Run.ID || st.Live.Liveness != session.Alive || st.Live.InputOff != (s.Desired == session.Paused)) {
			t.Errorf("%s: live %+v, on record %+v", s.Address, st.Live, rec)
		}
		if rec.Intent != session.Settled || rec.LastError != "" || rec.Spec.Hash() != s.Hash() {
			t.Errorf("%s: on record %+v", s.Address, rec)
		}
	}
}

// A session that only ends does so on a full disk, too: its end is recorded or deferred.

// forgiven are the operations whose failure costs nothing that was asked for: the
// transcript of a session that ends.
var forgiven = map[string]bool{"capture": true}
