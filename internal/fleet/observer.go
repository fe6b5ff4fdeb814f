package fleet

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/changes"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Config is the input of New.
type Config struct {
	Engine     *engine.Engine
	Activity   *activity.Reader
	DataDir    string
	Wanted     []session.Spec // the sessions of the manifest
	MaxRunning int
	Supervisor func() (who state.Holder, runs bool) // the hub that runs now
	Log        *slog.Logger
}

// Observer observes the sessions of a project, again and again. It is for one goroutine.
type Observer struct {
	Config
	// Usage keeps what the sessions used; nil: that is not read.
	Usage *usage.Store
	// Used is what a running hub knows of it, by session id. Nothing is read of these.
	Used map[string]usage.Sum

	pasts      map[string]*Past // by session id
	work       *Work            // nil: the changes of workspaces are not counted
	background bool             // they are counted while sessions are observed; else Look waits for it
	counts     sync.WaitGroup
	news       atomic.Int64
}

// New returns an observer that counts no changes of workspaces.
func New(c Config) *Observer {
	return &Observer{Config: c, pasts: map[string]*Past{}}
}

// Snapshot is what was observed of all sessions at one time.
type Snapshot struct {
	engine.Observation
	Known      []status.Input // the recorded sessions, then the declared ones that are not
	Holder     state.Holder   // the hub, if Supervised
	Supervised bool
	Forecasts  map[session.Address]plan.Change // what a hub does; nil: all agents live
	Undrained  []session.Diagnostic            // warnings of starts that wait for places that none leaves
	Places     api.Places
}

// Of returns what is known of a session; the zero Input: nothing.
func (s *Snapshot) Of(a session.Address) status.Input {
	for _, k := range s.Known {
		if k.Address() == a {
			return k
		}
	}
	return status.Input{}
}

// Runs returns the ids of the runs of the recorded sessions.
func (s *Snapshot) Runs() []string {
	var all []string
	for _, r := range s.State.Sessions {
		all = append(all, r.Run.ID)
	}
	return all
}

// Look observes all sessions once.
func (o *Observer) Look(ctx context.Context) (*Snapshot, error) {
	found, err := o.Engine.Inspect(ctx, true, o.Wanted...)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{Observation: found, Places: api.Places{Running: found.Plan.Running, MaxRunning: o.MaxRunning}}
	pasts := make(map[string]*Past, len(found.Sessions))
	for i := range found.Sessions {
		x := &found.Sessions[i]
		id := x.Record.ID
		if pasts[id] = o.pasts[id]; pasts[id] == nil {
			pasts[id] = PastOf(o.folder(x.Record), 0)
		}
		s.Known = append(s.Known, o.input(x, pasts[id], found.World.At))
	}
	o.pasts = pasts
	if o.work != nil {
		o.count(ctx, s)
	}
	s.Holder, s.Supervised = o.Supervisor()
	o.forecast(s)
	for _, x := range found.Pending {
		s.Known = append(s.Known, status.Pending(x))
	}
	return s, nil
}

// input also adds what is new to the session's history.
func (o *Observer) input(x *engine.Seen, past *Past, at time.Time) status.Input {
	r := x.Record
	_, _ = past.Read() // without it the last event is not shown
	var wanted *session.Spec
	if i := slices.IndexFunc(o.Wanted, func(s session.Spec) bool { return s.Address == r.Address }); i >= 0 {
		wanted = &o.Wanted[i]
	}
	k := past.Known(x, wanted, o.Activity.Look(r, x.Live, past.Events, at), at)
	o.use(&k, at)
	if k.Diagnosis.State == session.StateUnknown {
		return k
	}
	if _, err := o.Activity.Tell(o.folder(r), k.Seen(at), past.Events); err != nil { // who only looks may not be allowed to write
		o.Log.Debug("changes cannot be printed", "session", r.Address, "error", err)
	}
	return k
}

func (o *Observer) folder(r session.Record) string { return o.Engine.Applier.Folder(r) }

// use adds what a session used.
func (o *Observer) use(k *status.Input, at time.Time) {
	if o.Usage == nil {
		return
	}
	if sum, is := o.Used[k.Record.ID]; is {
		k.Usage = &sum
		return
	}
	if err := o.Usage.Look(o.Activity.Agent(*k.Record), *k.Record, k.Look.Transcript, at); err != nil { // who only looks may not be allowed to write
		o.Log.Warn("usage cannot be read", "session", k.Record.Address, "error", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	Used(k, o.Usage)
}

// forecast adds what a hub does with the recorded sessions, if an agent is gone or may be done.
func (o *Observer) forecast(s *Snapshot) {
	acts := func(k status.Input) bool {
		return k.Diagnosis.Alive != nil && !*k.Diagnosis.Alive || k.Record.Spec.Finish != session.FinishNever && k.Record.Finished == nil
	}
	if !slices.ContainsFunc(s.Known, acts) {
		return
	}
	care, _ := HubInput(s.Known, o.Activity, o.Engine.Observer.Now())
	care.MaxRunning = o.MaxRunning
	next := o.Engine.Replan(s.Observation, care).Plan
	s.Forecasts = status.Changes(next)
	s.Undrained = slices.DeleteFunc(next.Problems, func(d session.Diagnostic) bool { return d.Code != string(plan.ReasonQueued) })
	status.Forecast(s.Known, s.Forecasts, s.Supervised)
}

// WithHistories returns the sessions of a snapshot with what observing them has added to their
// histories.
func (o *Observer) WithHistories(s *Snapshot) []status.Input {
	all := slices.Clone(s.Known)
	for i, k := range all {
		if k.Record != nil {
			past := o.pasts[k.Record.ID]
			_, _ = past.Read()
			all[i].Events = past.Events
		}
	}
	return all
}

// Open opens the runtime of a session of a snapshot.
func (o *Observer) Open(s *Snapshot) func(session.RuntimeSpec) (session.Runtime, error) {
	return func(spec session.RuntimeSpec) (session.Runtime, error) { return o.Engine.Opened(s.State.Lineage, spec) }
}

// countTimeout bounds how long a look waits for changes to be counted. What takes longer is
// shown as it was counted last.
const countTimeout = 2 * time.Second

// Count makes each look count the changes of the workspaces.
func (o *Observer) Count() { o.work = NewWork(o.DataDir) }

// CountInBackground makes looks start counts that they do not wait for. What is counted is in the next
// look, which is due when News returns another number.
func (o *Observer) CountInBackground() {
	o.Count()
	o.background = true
}

// News returns another number after something new was counted.
func (o *Observer) News() int64 { return o.news.Load() }

// Wait waits for the end of counts whose context has ended.
func (o *Observer) Wait() { o.counts.Wait() }

// Recount counts the changes of one session of a snapshot whatever is known of them, and adds them.
func (o *Observer) Recount(ctx context.Context, s *Snapshot, k status.Input) {
	o.Count()
	o.work.counter.Refresh(ctx, true, changes.Of(*k.Record, k.Workspace(), k.Live, o.Open(s)))
	o.count(ctx, s)
}

// count adds the changes of the workspaces, and their conflicts.
func (o *Observer) count(ctx context.Context, s *Snapshot) {
	all, run := Of(s.Known, o.Open(s)), o.counts.Go
	if !o.background {
		limited, cancel := context.WithTimeout(ctx, countTimeout)
		defer cancel()
		ctx, run = limited, func(count func()) { count() }
	}
	o.work.Start(ctx, run, all, func(session.Address) Due { return Count }, func() { o.news.Add(1) })
	o.work.Known(s.Known, all)
}
