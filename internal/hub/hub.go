package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/budget"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/forge"
	"github.com/agentform/agentform/internal/notify"
	"github.com/agentform/agentform/internal/pr"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/internal/verify"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Config is the input of New. Its functions must be safe for concurrent use.
type Config struct {
	Project string // the name of the project in notifications
	DataDir string // has the hub's lock and the directories of runs
	// Settings identifies the settings of the manifest that the hub was started with.
	Settings string
	// Open returns an engine of the project for an author. The hub keeps one for itself,
	// and opens another for each action of a person.
	Open     func(by string) *engine.Engine
	Activity *activity.Reader
	// Usage keeps what sessions use. If it is nil, that is not read.
	Usage *usage.Store
	// Budgets limit what sessions use.
	Budgets []budget.Budget
	// Secret returns why a secret is unavailable. If it is nil, all are available.
	Secret func(name string) error
	// Inherited returns the names of the secrets that a run inherited from the
	// environment of its caller. If it is nil, there are none.
	Inherited  func(run string) []string
	MaxRunning int // limits how many agents live at once; 0: no limit
	AtOnce     int // limits concurrent starts; 0: DefaultAtOnce
	// Forge reads pull requests; nil: they are not read.
	Forge *forge.Tool
	// Notify receives events that notify blocks may name, Looked the duration of each look,
	// and Changed the events of what the hub and people by it change. They must not block,
	// may be called from several goroutines, and may be nil.
	Notify  func(notify.Event)
	Looked  func(took time.Duration)
	Changed func(history.Event)
	// Report is called once a day at each of ReportAt, HH:MM in local time, for the time since
	// the day before. It may block, and be called from several goroutines.
	Report   func(s *Snapshot, at string, since time.Time)
	ReportAt []string
	Wakers   []Waker      // wake the hub before its next sweep
	Log      *slog.Logger // may be nil
}

// DefaultAtOnce limits concurrent starts: each takes most of a processor for seconds.
const DefaultAtOnce = 4

// Hub supervises the sessions of one project. Its methods may be called from any
// goroutine.
type Hub struct {
	cfg      Config
	engine   *engine.Engine
	log      *slog.Logger
	snapshot atomic.Pointer[Snapshot]
	foreign  []session.Address  // as last logged
	wake     chan struct{}      // something may have changed
	ask      chan chan struct{} // a caller wants a look now
	work     sync.WaitGroup     // wakers, heartbeats, repairs and subscriptions

	// These are used by the loop only, except for the feed's stream.
	feed          feed
	observer      observer
	prober        prober
	changes       *fleet.Work
	spending      spending
	budgets       budgets
	daily         daily
	quotas        map[string]plan.Quota // as recorded
	resumption    resumption
	repairs       repairs
	verifications *verify.Scheduler
	pulls         *pr.Scheduler // nil: they are not read
	subscriptions subscriptions
}

func New(c Config) *Hub {
	c.AtOnce = cmp.Or(c.AtOnce, DefaultAtOnce)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	e := c.Open(history.ByHub)
	h := &Hub{cfg: c, engine: e, log: c.Log, wake: make(chan struct{}, 1), ask: make(chan chan struct{})}
	e.LockWait = 0
	e.Applier.Emit = h.changed
	h.feed = feed{stream: newStream(), project: c.Project, dataDir: c.DataDir, notify: c.Notify, log: c.Log}
	h.observer = observer{engine: e, activity: c.Activity, maxRunning: c.MaxRunning, atOnce: c.AtOnce,
		feed: &h.feed, log: c.Log, memory: map[session.Address]*memory{}}
	h.feed.memory = h.observer.memory
	if c.Secret != nil {
		h.observer.secrets = &secrets{ask: c.Secret, inherited: c.Inherited, answers: map[string]answer{}}
	}
	h.prober = prober{engine: e, agent: c.Activity.Agent, log: c.Log, work: &h.work, done: make(chan probed), slots: make(chan struct{}, probesAtOnce)}
	h.changes = fleet.NewWork(c.DataDir)
	h.spending = spending{store: c.Usage, agent: c.Activity.Agent, work: &h.work, wake: h.Wake, log: c.Log}
	h.budgets = budgets{list: c.Budgets, spending: &h.spending, log: c.Log, exceeded: map[session.Address]time.Time{}, spans: map[string]*span{}}
	h.observer.spending, h.observer.budgets = &h.spending, &h.budgets
	h.daily = daily{times: c.ReportAt, report: c.Report, dataDir: c.DataDir, work: &h.work}
	h.repairs = repairs{engine: e, log: c.Log, work: &h.work, done: make(chan repaired, 1)}
	h.subscriptions = subscriptions{engine: e, log: c.Log, work: &h.work, wake: h.Wake, subscribed: map[string]bool{}}
	h.verifications = newVerifications(h)
	if c.Forge != nil {
		h.pulls = newPulls(h)
	}
	h.resumption = resumption{engine: e, activity: c.Activity, emit: h.changed, work: &h.work, wake: h.Wake, log: c.Log}
	h.snapshot.Store(&Snapshot{})
	return h
}

// changed notes an event of a change.
func (h *Hub) changed(e history.Event) {
	h.Wake()
	if h.cfg.Changed != nil {
		h.cfg.Changed(e)
	}
}

// Wake makes the hub look soon.
func (h *Hub) Wake() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

const (
	wakeDelay       = 50 * time.Millisecond  // events come in groups
	lockRetry       = time.Second            // the state was locked
	defaultInterval = 10 * time.Second       // the sweep of a project without sessions
	minInterval     = 250 * time.Millisecond // between two looks that nobody asked for
	// A look is followed by a pause of pauseFactor times its duration, which limits the
	// load and still shows within a second what has ended.
	pauseFactor = 5
	maxPause    = 700 * time.Millisecond
)

// Run supervises until ctx ends, and finishes a repair in progress. The error is a
// *TakenError if there is another hub, or says that the data directory was removed.
func (h *Hub) Run(ctx context.Context) error {
	free, err := Claim(h.cfg.DataDir, h.engine.Who, h.cfg.Settings)
	if err != nil {
		return err
	}
	defer free()
	path := filepath.Join(h.cfg.DataDir, LockFile)
	lock, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("claim the project for the hub: %w", err)
	}
	last := readNotified(h.cfg.DataDir)
	h.feed.past, h.daily.reported, h.quotas = last.At, last.Reported, last.Quotas
	h.budgets.load()
	ctx, cancel := context.WithCancel(ctx)
	for _, w := range h.cfg.Wakers {
		h.work.Go(func() {
			if err := w.Run(ctx, h.Wake); err != nil && ctx.Err() == nil {
				h.log.Warn("changes are only seen by polling", "error", err)
			}
		})
	}
	defer func() {
		cancel()
		h.finish()
		h.feed.close()
	}()
	return h.loop(ctx, func() error {
		now, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(lock, now) {
			return fmt.Errorf("the hub is stopping: %s was removed; start another with agentform serve", path)
		}
		return nil // other errors may pass
	})
}

// loop observes, acts and waits. It ends when its lock file is lost: then another hub
// could start.
func (h *Hub) loop(ctx context.Context, lost func() error) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var asked []chan struct{}
	var pause time.Time // no wake-up ends it
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-h.ask:
			asked = append(asked, c)
		case <-timer.C:
		case <-h.wake:
			if !sleep.For(ctx, max(wakeDelay, time.Until(pause))) {
				return nil
			}
		case x := <-h.prober.done:
			x.note(h.observer.memory[x.address])
			if !x.outcome.OK {
				break
			}
			continue // a heartbeat that succeeded changes nothing
		case r := <-h.repairs.done:
			h.repairs.finish(r)
		}
		if err := lost(); err != nil {
			return err
		}
		began := time.Now()
		next := h.round(ctx)
		took := time.Since(began)
		if h.cfg.Looked != nil {
			h.cfg.Looked(took)
		}
		pause = began.Add(took + min(max(minInterval, pauseFactor*took), maxPause))
		for _, c := range asked {
			close(c)
		}
		asked = nil
		timer.Reset(next)
	}
}

// round observes and acts once. It returns the time until the next round.
func (h *Hub) round(ctx context.Context) time.Duration {
	h.feed.hold()
	defer h.feed.release()
	s := h.observer.observe(ctx, h.repairs.running)
	if s == nil || ctx.Err() != nil {
		return time.Hour // the loop ends: only its timer must not fire first
	}
	h.prober.start(ctx, s, h.observer.memory)
	h.count(ctx, s)
	h.snapshot.Store(s)
	h.feed.release()
	if now := status.Foreign(s.Sessions); s.Fault == nil && !slices.Equal(now, h.foreign) {
		if h.foreign = now; len(now) > 0 {
			h.log.Warn("sessions are not supervised: another machine, user or data directory has them", "sessions", now)
		}
	}
	h.recordQuotas(s)
	h.resumption.see(ctx, s, h.observer.turns)
	h.verifications.See(ctx, fleet.AllSeen(s.Sessions, func(k status.Input) bool { return k.Record.Spec.Verify.Declared() && s.Fault == nil }))
	if h.pulls != nil && s.Fault == nil {
		h.pulls.See(ctx, fleet.AllSeen(s.Sessions, func(k status.Input) bool { return pr.Watched(*k.Record) }))
	}
	for _, m := range h.observer.memory {
		if in := m.Course.Due(); in > 0 {
			s.lookAgain(in)
		}
	}
	for _, w := range h.cfg.Wakers {
		w.Watch(watched(s, h.engine.StatePath, h.cfg.DataDir))
	}
	h.subscriptions.update(ctx, s)
	now := s.At
	wait := min(h.interval(s), h.daily.round(s))
	if s.Fault == nil && (s.Plan.Acts() || s.judged) && !h.repairs.running {
		if until := h.repairs.notUntil; now.Before(until) {
			wait = min(wait, until.Sub(now))
		} else {
			h.repairs.start(ctx, s.input)
		}
	}
	if next := s.Plan.Next(); !next.IsZero() {
		wait = min(wait, next.Sub(now))
	}
	if s.again > 0 {
		wait = min(wait, s.again)
	}
	return max(wait, minInterval)
}

func (h *Hub) interval(s *Snapshot) time.Duration {
	wait := time.Duration(math.MaxInt64)
	for _, k := range s.Sessions {
		if every := k.Record.Spec.Health.Interval.D(); every > 0 {
			wait = min(wait, every)
		}
	}
	if wait == math.MaxInt64 {
		wait = defaultInterval
	}
	if h.feed.readers.Load() > 0 { // other processes write histories too
		wait = min(wait, time.Second)
	}
	return wait
}

func (h *Hub) finish() {
	h.budgets.close()
	h.spending.stop()
	done := make(chan struct{})
	go func() { h.work.Wait(); close(done) }()
	for {
		select {
		case <-h.prober.done:
		case r := <-h.repairs.done:
			h.repairs.finish(r)
		case <-done:
			h.engine.Close()
			return
		}
	}
}
