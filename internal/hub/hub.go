package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/notify"
	"github.com/agentform/agentform/session"
)

// Config is what a hub works with. All functions may be called from many
// goroutines.
type Config struct {
	// Project is its name, for those who are notified.
	Project string
	// DataDir is where the hub keeps its lock, and the project its runs.
	DataDir string
	// Open gives a reconciler of the project that acts in somebody's name. The hub
	// keeps one for itself, and opens one for each thing that a person asks for.
	Open func(by string) *engine.Engine
	// Activity reads what the agents do.
	Activity *activity.Reader
	// Secret says why a secret cannot be had now; nil: it can.
	Secret func(name string) error
	// Inherited returns the names of the secrets that a run had from the environment
	// of its caller; nil: there are none.
	Inherited func(run string) []string
	// MaxRunning is how many agents may live at once; 0: no limit.
	MaxRunning int
	// AtOnce is how many sessions are started at a time; 0: DefaultAtOnce.
	AtOnce int
	// Notify is told what somebody may want to hear of. It must not block. It may be
	// nil.
	Notify func(notify.Event)
	// Looked is told how long each look took. It must not block. It may be nil.
	Looked func(took time.Duration)
	// Wakers tell the hub when to look before its sweep is due.
	Wakers []Waker
	// Log is where it says what it does; nil: nowhere.
	Log *slog.Logger
}

// DefaultAtOnce is how many sessions are started at a time unless the manifest's
// parallelism is less: each takes most of a processor for seconds.
const DefaultAtOnce = 4

// Hub supervises the sessions of one project. Its methods may be called from any
// goroutine while Run runs.
type Hub struct {
	cfg      Config
	engine   *engine.Engine
	log      *slog.Logger
	snapshot atomic.Pointer[Snapshot]
	wake     chan struct{}      // something may have changed
	ask      chan chan struct{} // a caller wants a look now
	work     sync.WaitGroup     // heartbeats, repairs and subscriptions

	// These are used by the loop only, but for the feed's stream.
	feed          feed
	observer      observer
	prober        prober
	repairs       repairs
	subscriptions subscriptions
}

// New returns a hub that is not running.
func New(c Config) *Hub {
	if c.AtOnce <= 0 {
		c.AtOnce = DefaultAtOnce
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Looked == nil {
		c.Looked = func(time.Duration) {}
	}
	e := c.Open(history.ByHub)
	h := &Hub{cfg: c, engine: e, log: c.Log, wake: make(chan struct{}, 1), ask: make(chan chan struct{})}
	e.LockWait = 0
	e.Applier.Emit = func(history.Event) { h.Wake() }
	h.feed = feed{project: c.Project, dataDir: c.DataDir, notify: c.Notify, log: c.Log, branch: h.branch}
	h.observer = observer{engine: e, activity: c.Activity, maxRunning: c.MaxRunning, atOnce: c.AtOnce,
		feed: &h.feed, log: c.Log, memory: map[session.Address]*memory{}}
	if c.Secret != nil {
		h.observer.secrets = &secrets{ask: c.Secret, inherited: c.Inherited, answers: map[string]answer{}}
	}
	h.prober = prober{engine: e, agent: c.Activity.Agent, log: c.Log, work: &h.work, done: make(chan probed), slots: make(chan struct{}, probesAtOnce)}
	h.repairs = repairs{engine: e, log: c.Log, work: &h.work, done: make(chan repaired, 1)}
	h.subscriptions = subscriptions{engine: e, log: c.Log, work: &h.work, wake: h.Wake, known: map[string]bool{}}
	h.snapshot.Store(&Snapshot{})
	return h
}

// branch returns the branch of a session on record.
func (h *Hub) branch(a session.Address) string {
	if k, ok := h.Snapshot().Of(a); ok {
		return k.Record.Spec.Branch
	}
	return ""
}

// Wake makes the hub look soon. It does not wait.
func (h *Hub) Wake() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

const (
	// settled is how long the hub waits after it was woken: what happens rarely
	// happens alone.
	settled = 50 * time.Millisecond
	// lockedFor is how long it only looks after it found the state locked.
	lockedFor = time.Second
	// defaultInterval is the sweep of a project without sessions.
	defaultInterval = 10 * time.Second
	// shortest is the shortest time between two looks that nothing else asks for.
	shortest = 250 * time.Millisecond
	// busiest bounds what looks cost where something happens all the time: after
	// one, so many times as long as it took is waited, at most longestRest, so that
	// what ends is still seen within a second.
	busiest     = 5
	longestRest = 700 * time.Millisecond
)

// Run supervises until ctx ends, and returns when nothing of it is under way any
// more. What it repairs at that moment is finished first. The error says that it
// cannot supervise at all, a *TakenError if another hub does, or any more: the data
// folder was taken away under it.
func (h *Hub) Run(ctx context.Context) error {
	free, err := Claim(h.cfg.DataDir, h.engine.Who)
	if err != nil {
		return err
	}
	defer free()
	path := filepath.Join(h.cfg.DataDir, LockFile)
	lock, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("claim the project for the hub: %w", err)
	}
	h.feed.past = readSeen(h.cfg.DataDir)
	stop := startWakers(ctx, h.cfg.Wakers, h.Wake, h.log)
	defer stop()
	defer func() {
		h.finish()
		h.feed.close()
	}()
	return h.loop(ctx, func() error { return lostLock(path, lock) })
}

// lostLock returns an error if the lock file was removed or replaced: then a second hub
// could start, and this one has nothing to supervise. Other errors may pass.
func lostLock(path string, lock os.FileInfo) error {
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(lock, now) {
		return fmt.Errorf("the hub ends: %s was removed under it; agentform serve begins another", path)
	}
	return nil
}

// loop looks, acts, and waits for the next reason to look, for as long as the lock
// is the hub's.
func (h *Hub) loop(ctx context.Context, lost func() error) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var asked []chan struct{}
	var rest time.Time // nothing wakes it before
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-h.ask:
			asked = append(asked, c)
		case <-timer.C:
		case <-h.wake:
			if !sleep(ctx, max(settled, time.Until(rest))) {
				return nil
			}
		case x := <-h.prober.done:
			x.note(h.observer.memory[x.address])
			if !x.outcome.OK {
				break
			}
			continue // a probe that went well changes nothing
		case r := <-h.repairs.done:
			h.repairs.finish(r)
		}
		if err := lost(); err != nil {
			return err
		}
		began := time.Now()
		next := h.round(ctx)
		took := time.Since(began)
		h.cfg.Looked(took)
		rest = began.Add(took + min(max(shortest, busiest*took), longestRest))
		for _, c := range asked {
			close(c)
		}
		asked = nil
		timer.Reset(next)
	}
}

// round is one look and what follows from it. It returns how long until the next.
func (h *Hub) round(ctx context.Context) time.Duration {
	s := h.observer.look(ctx, h.repairs.running)
	if s == nil || ctx.Err() != nil {
		return time.Hour
	}
	h.prober.start(ctx, s, h.observer.memory)
	h.snapshot.Store(s)
	for _, m := range h.observer.memory {
		if m.resting() && (s.again == 0 || s.again > restFor) {
			s.again = restFor
		}
	}
	for _, w := range h.cfg.Wakers {
		w.Watch(watched(s, h.engine.StatePath, h.cfg.DataDir))
	}
	h.subscriptions.update(ctx, s)
	now := s.At
	wait := h.interval(s)
	if s.Fault == nil && s.Plan.Acts() && !h.repairs.running {
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
	return max(wait, shortest)
}

// interval is the sweep: the shortest of the sessions' own.
func (h *Hub) interval(s *Snapshot) time.Duration {
	wait := time.Duration(0)
	for _, k := range s.Sessions {
		if every := k.Record.Spec.Health.Interval.D(); every > 0 && (wait == 0 || every < wait) {
			wait = every
		}
	}
	if wait == 0 {
		wait = defaultInterval
	}
	if h.feed.heard() { // others write histories too
		wait = min(wait, time.Second)
	}
	return max(wait, shortest)
}

// finish waits for what is under way.
func (h *Hub) finish() {
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

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
