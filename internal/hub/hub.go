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

// Hub supervises the sessions of one project. Make it with New, and let it Run; its
// other methods may be called from any goroutine while it does.
type Hub struct {
	cfg    Config
	rec    *engine.Engine
	log    *slog.Logger
	stream stream

	snapshot atomic.Pointer[Snapshot]
	wake     chan struct{}      // something may have changed
	ask      chan chan struct{} // somebody wants a look now
	probed   chan probed
	repaired chan repaired
	work     sync.WaitGroup // probes and repairs under way

	// What follows is the loop's own.
	memory   map[session.Address]*memory
	state    known
	acting   bool
	notUntil time.Time // a repair that could not be begun is not tried before
	past     time.Time // events up to it were notified by an earlier hub
	began    bool      // the first look is over
	probes   chan struct{}
	// listening are the runtimes, by key, that tell when something happens, or cannot.
	listening map[string]bool

	asking  sync.Mutex        // held while a secret is asked for
	answers map[string]answer // about secrets, by name
}

// New is a hub that does nothing yet.
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
	h := &Hub{
		cfg: c, rec: c.Open(history.ByHub), log: c.Log,
		wake: make(chan struct{}, 1), ask: make(chan chan struct{}),
		probed: make(chan probed), repaired: make(chan repaired, 1),
		memory: map[session.Address]*memory{}, probes: make(chan struct{}, probesAtOnce),
		listening: map[string]bool{}, answers: map[string]answer{},
	}
	h.rec.LockWait = 0
	h.rec.Applier.Emit = func(history.Event) { h.Wake() }
	h.snapshot.Store(&Snapshot{})
	return h
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
	free, err := Claim(h.cfg.DataDir, h.rec.Who)
	if err != nil {
		return err
	}
	defer free()
	lock, err := os.Stat(h.lockPath())
	if err != nil {
		return fmt.Errorf("claim the project for the hub: %w", err)
	}
	h.past = readSeen(h.cfg.DataDir)
	stop := h.startWakers(ctx)
	defer stop()
	defer func() {
		h.finish()
		h.stream.close()
	}()
	return h.loop(ctx, lock)
}

func (h *Hub) lockPath() string { return filepath.Join(h.cfg.DataDir, LockFile) }

// dispossessed says that the lock file is gone, or another's: then a second hub could
// begin, and this one has nothing to look after. Any other trouble with it may pass.
func (h *Hub) dispossessed(lock os.FileInfo) error {
	now, err := os.Stat(h.lockPath())
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(lock, now) {
		return fmt.Errorf("the hub ends: %s was removed under it; agentform serve begins another", h.lockPath())
	}
	return nil
}

// loop looks, acts, and waits for the next reason to look, for as long as the lock
// is the hub's.
func (h *Hub) loop(ctx context.Context, lock os.FileInfo) error {
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
		case x := <-h.probed:
			h.beat(x)
			if !x.outcome.OK {
				break
			}
			continue // a probe that went well changes nothing
		case r := <-h.repaired:
			h.acting = false
			h.after(r)
		}
		if err := h.dispossessed(lock); err != nil {
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
	s := h.look(ctx)
	if ctx.Err() != nil {
		return time.Hour
	}
	h.began = true
	for _, m := range h.memory {
		if m.resting() && (s.again == 0 || s.again > restFor) {
			s.again = restFor
		}
	}
	h.watch(s)
	h.listen(ctx, s)
	now := s.At
	wait := h.interval(s)
	if s.Fault == nil && s.Plan.Acts() && !h.acting {
		if now.Before(h.notUntil) {
			wait = min(wait, h.notUntil.Sub(now))
		} else {
			h.repair(ctx, s.care)
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
	if h.stream.heard() { // others write histories too
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
		case <-h.probed:
		case r := <-h.repaired:
			h.after(r)
		case <-done:
			h.rec.Close()
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
