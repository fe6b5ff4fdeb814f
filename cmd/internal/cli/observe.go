package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/changes"
	"github.com/agentform/agentform/internal/conflicts"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

type snapshot struct {
	*observer
	engine.Observation
	sessions   []status.Input // recorded, then declared
	holder     state.Holder   // the hub, if supervised
	supervised bool
	forecasts  map[session.Address]plan.Change // what a hub does; nil: all agents live
	undrained  []session.Diagnostic            // warnings of starts that wait for places that none leaves
}

func observe(ctx context.Context, a *app) (*snapshot, error) {
	e, err := openObserver(a)
	if err != nil {
		return nil, err
	}
	return e.observe(ctx)
}

type observer struct {
	project    *project.Project
	reconciler *engine.Engine
	activity   *activity.Reader
	histories  map[string]past      // by folder
	changes    *changes.Counter     // nil: the changes of workspaces are not counted
	conflicts  *conflicts.Finder    // nil with changes
	beside     *besides             // counts and finds them while sessions are observed; nil: observe waits for it
	usage      *usage.Store         // nil: what the sessions used is not read
	hubUsage   map[string]usage.Sum // by session id, as a running hub knows it
	log        *slog.Logger
}

type past struct {
	size   int64
	events []history.Event
}

// openObserver prints the first error of a faulty manifest: recorded sessions are shown
// without it.
func openObserver(a *app) (*observer, error) {
	p, _, err := a.openState()
	if err != nil {
		return nil, err
	}
	if broken(p) {
		first := slices.IndexFunc(p.Problems, func(d session.Diagnostic) bool { return d.Severity == session.Error })
		a.warn(p.Problems[first : first+1])
		if more := len(p.Problems) - 1; more > 0 {
			a.say(fmt.Sprintf("\nThe manifest has %s: agentform validate", plaintext.Count(more, "more problem")))
		}
	}
	return newObserver(a, p), nil
}

// broken reports whether there is a manifest, and it has errors.
func broken(p *project.Project) bool {
	return session.HasErrors(p.Problems) && (len(p.Manifest.Files) > 0 || len(p.Files) > 0)
}

func newObserver(a *app, p *project.Project) *observer {
	return &observer{project: p, reconciler: p.Reconciler(project.ToRead), activity: p.Activity(), histories: map[string]past{}, log: a.log}
}

func (e *observer) observe(ctx context.Context) (*snapshot, error) {
	p := e.project
	found, err := e.reconciler.Inspect(ctx, true, p.Manifest.Sessions...)
	if err != nil {
		return nil, err
	}
	s := &snapshot{observer: e, Observation: found}
	for i := range found.Sessions {
		s.sessions = append(s.sessions, e.input(&found.Sessions[i], found.World.At))
	}
	e.count(ctx, s)
	s.holder, s.supervised = hub.Running(p.Manifest.DataDir)
	e.forecast(s)
	for _, x := range found.Pending {
		s.sessions = append(s.sessions, status.Pending(x))
	}
	return s, nil
}

// countTimeout bounds how long a command waits for changes to be counted. What takes
// longer is shown as it was counted last.
const countTimeout = 2 * time.Second

// countChanges makes each observation count the changes of the workspaces.
func (e *observer) countChanges() {
	e.changes, e.conflicts = changes.NewCounter(e.project.Manifest.DataDir), conflicts.NewFinder(e.project.Manifest.DataDir)
}

// countChangesBeside makes observations start counts that they do not wait for. What is
// counted is in the next observation.
func (e *observer) countChangesBeside() {
	e.countChanges()
	e.beside = &besides{}
}

// besides is work of which one at a time runs beside the observations.
type besides struct {
	busy atomic.Bool
	news atomic.Int64
	wg   sync.WaitGroup
}

// start begins work that reports whether it found something new, unless some is under way.
func (b *besides) start(ctx context.Context, work func(context.Context) bool) {
	if b.busy.CompareAndSwap(false, true) {
		b.wg.Go(func() {
			defer b.busy.Store(false)
			if work(ctx) {
				b.news.Add(1)
			}
		})
	}
}

// found returns another number after something new was found.
func (b *besides) found() int64 {
	if b == nil {
		return 0
	}
	return b.news.Load()
}

// wait waits for the end of the work. Its context has ended.
func (b *besides) wait() {
	if b != nil {
		b.wg.Wait()
	}
}

// count adds the changes of the workspaces, and their conflicts.
func (e *observer) count(ctx context.Context, s *snapshot) {
	if e.changes == nil {
		return
	}
	var all []conflicts.Work
	for _, k := range s.sessions {
		if k.Record != nil {
			all = append(all, conflicts.Of(*k.Record, e.workspace(s, k)))
		}
	}
	if e.beside != nil {
		e.beside.start(ctx, func(ctx context.Context) bool { return e.refresh(ctx, all) })
	} else {
		ctx, cancel := context.WithTimeout(ctx, countTimeout)
		defer cancel()
		e.refresh(ctx, all)
	}
	all = conflicts.Counted(e.changes, all)
	found := e.conflicts.Known(all)
	for i, w := range all { // what is not recorded is last
		s.sessions[i].Changes, s.sessions[i].Conflicts = w.Count, found[w.Address]
	}
}

// refresh counts changes, finds conflicts, and reports whether any are other ones than before.
func (e *observer) refresh(ctx context.Context, all []conflicts.Work) bool {
	workspaces := make([]changes.Workspace, len(all))
	for i, w := range all {
		workspaces[i] = w.Workspace
	}
	counted := e.changes.Refresh(ctx, false, workspaces...) > 0
	return e.conflicts.Refresh(ctx, conflicts.Counted(e.changes, all)) || counted
}

// workspace returns the workspace of a recorded session.
func (e *observer) workspace(s *snapshot, k status.Input) changes.Workspace {
	return changes.Of(*k.Record, *k.Checkout, k.Live, func(spec session.RuntimeSpec) (session.Runtime, error) {
		return e.reconciler.Opened(s.State.Lineage, spec)
	})
}

// forecast adds what a hub does with the recorded sessions, if an agent is gone or may be done.
func (e *observer) forecast(s *snapshot) {
	acts := func(k status.Input) bool {
		return k.Diagnosis.Alive != nil && !*k.Diagnosis.Alive || k.Record.Spec.Finish != session.FinishNever && k.Record.Finished == nil
	}
	if !slices.ContainsFunc(s.sessions, acts) {
		return
	}
	care := engine.HubInput{MaxRunning: e.project.MaxRunning, Doing: map[session.Address]session.Doing{}}
	for _, k := range s.sessions {
		care.Doing[k.Record.Address] = k.Doing(s.World.At)
	}
	next := e.reconciler.Replan(s.Observation, care).Plan
	s.forecasts = status.Changes(next)
	s.undrained = slices.DeleteFunc(next.Problems, func(d session.Diagnostic) bool { return d.Code != string(plan.ReasonQueued) })
	status.Forecast(s.sessions, s.forecasts, s.supervised)
}

func (s *snapshot) addresses() []session.Address {
	return addresses(s.project.Manifest.Sessions, s.State.Sessions)
}

func (s *snapshot) of(a session.Address) status.Input {
	for _, k := range s.sessions {
		if k.Address() == a {
			return k
		}
	}
	return status.Input{}
}

// input also adds what is new to the session's history.
func (e *observer) input(x *engine.Seen, at time.Time) status.Input {
	folder := e.project.SessionDir(x.Record)
	past := e.history(folder)
	k := status.Observed(x, e.activity.Look(x.Record, x.Live, past, at), past, at)
	k.Wanted = e.project.Declared(x.Record.Address)
	e.use(&k, at)
	k.Transcript = status.Transcript(folder)
	if k.Diagnosis.State == session.StateUnknown {
		return k
	}
	if _, err := e.activity.Tell(folder, k.Seen(at), past); err != nil { // who only looks may not be allowed to write
		e.log.Debug("changes cannot be printed", "session", x.Record.Address, "error", err)
	}
	return k
}

// withHistories returns the sessions with what the observation has added to their histories.
func (s *snapshot) withHistories() []status.Input {
	all := slices.Clone(s.sessions)
	for i, k := range all {
		if k.Record != nil {
			all[i].Events = s.history(s.project.SessionDir(*k.Record))
		}
	}
	return all
}

// history reads the file again only when it has grown.
func (e *observer) history(folder string) []history.Event {
	size := history.Size(folder)
	if h, read := e.histories[folder]; read && h.size == size {
		return h.events
	}
	events, _ := history.Read(folder, time.Time{}) // without it the last event is not shown
	e.histories[folder] = past{size, events}
	return events
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

type observation struct {
	at       time.Time
	sessions []api.Session
	sights   []follow.Sight // of the same sessions
}

func (g observation) of(a session.Address) *api.Session {
	i := slices.IndexFunc(g.sessions, func(x api.Session) bool { return x.Address == a })
	if i < 0 {
		return nil
	}
	return &g.sessions[i]
}

type selection struct {
	*observer
	named []session.Address
	all   bool                             // all, also those that come to be
	role  string                           // of those that are meant; empty: any
	specs map[session.Address]session.Spec // of those that are meant
	runs  []string                         // of those that were looked at
}

// openSelection returns the sessions that are meant, or all if none are named or chosen.
func openSelection(a *app, o sessionArgs) (*selection, error) {
	_, s, err := a.openState()
	if err != nil {
		return nil, err
	}
	e, err := openObserver(a)
	if err != nil {
		return nil, err
	}
	f := &selection{observer: e, all: len(o.typed) == 0 && !o.byFlag(), specs: map[session.Address]session.Spec{}}
	specs := e.project.Manifest.Sessions
	switch f.named = addresses(specs, s.Sessions); {
	case o.byFlag():
		f.named, err = o.recorded(specs, s.Sessions)
	case !f.all:
		f.named, err = resolveAll(f.named, o.typed)
	}
	if err != nil {
		return nil, err
	}
	for _, spec := range specs {
		f.specs[spec.Address] = spec
	}
	for _, r := range s.Sessions {
		f.specs[r.Address] = r.Spec
	}
	return f, nil
}

func (f *selection) observe(ctx context.Context) (observation, error) {
	s, err := f.observer.observe(ctx)
	if err != nil {
		return observation{}, err
	}
	g := observation{at: s.World.At}
	f.runs = f.runs[:0]
	for _, k := range s.sessions {
		x := status.Of(k)
		if !f.all && !slices.Contains(f.named, x.Address) || f.role != "" && x.Role != f.role {
			continue
		}
		if k.Record != nil {
			f.runs = append(f.runs, k.Record.Run.ID)
		}
		g.sessions = append(g.sessions, x)
		g.sights = append(g.sights, status.Followed(k, x, f.activity.Agent))
	}
	return g, nil
}

// oneLook is how long the first look of a command may take although its --timeout is shorter.
const oneLook = 2 * time.Second

var errTimedOut = errors.New("timed out")

// follow observes the sessions until see is done, and at once when a hook reports something.
func (f *selection) follow(ctx context.Context, every, timeout time.Duration, see func(observation, *follow.Follower) (done bool, err error)) error {
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	defer f.beside.wait()
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	var follower follow.Follower
	var limit *time.Timer
	deadline := time.Now().Add(timeout)
	looked := func() bool { return false }
	if timeout > 0 {
		looked = time.AfterFunc(max(timeout, oneLook), cancel).Stop
		defer looked()
	}
	for g, err := range follow.Looks(limited, every, func() int64 { return f.activity.Heard(f.runs) + f.beside.found() }, f.observe) {
		if err != nil {
			return err
		}
		looked()
		follower.See(g.at, g.sights)
		if limit == nil && timeout > 0 { // after one look, however short the timeout is
			limit = time.AfterFunc(time.Until(deadline), cancel)
			defer limit.Stop()
		}
		if done, err := see(g, &follower); done || err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return outcome(exitInterrupted)
	}
	return errTimedOut
}
