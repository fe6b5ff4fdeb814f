package notify

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Event is what a target is given, as JSON.
type Event struct {
	Event     string    `json:"event"` // escalated, blocked, failed, blocked_api, done, exited, stale, turn_ended, unhealthy, branch_mismatch, pr_detected
	Also      string    `json:"-"`     // another name of the same event, for targets that want that
	Given     time.Time `json:"-"`     // of turn_ended and blocked: when the agent was last given something, so that the next turn is not the same
	Time      time.Time `json:"time"`
	Project   string    `json:"project"`
	Address   string    `json:"address"` // of the session
	ID        string    `json:"id"`
	Run       string    `json:"run,omitempty"`
	Branch    string    `json:"branch,omitempty"` // that the session is declared on
	Old       string    `json:"old,omitempty"`
	New       string    `json:"new,omitempty"`
	Reason    string    `json:"reason,omitempty"`  // snake_case code
	Detail    string    `json:"detail,omitempty"`  // for people: the question, the limit, the failure
	Excerpt   string    `json:"excerpt,omitempty"` // the end of the screen, at most 48 KiB
	Truncated bool      `json:"truncated"`         // the excerpt is not all there was
}

// Target is who is told.
type Target struct {
	Name    string
	On      []string // the Events it wants
	Command []string // gets the event on standard input
	Webhook string   // gets it as a POST
}

// Config is what a Notifier works with.
type Config struct {
	Targets []Target
	Dir     string   // in which commands run
	Environ []string // of commands
	// Key signs what webhooks are sent; nil, or no key: they are not signed.
	Key func() ([]byte, bool)
	Log *slog.Logger
}

const (
	// queued is how many events may wait for a target.
	queued = 256
	// once is for how long the same thing is not told again.
	once = 5 * time.Minute
)

// Notifier tells targets of events. Tell may be called from many goroutines.
type Notifier struct {
	config  Config
	queues  []chan Event
	workers sync.WaitGroup

	mu     sync.Mutex
	closed bool
	told   map[told]time.Time
}

type told struct {
	address, event, detail string
	given                  int64
}

// New starts telling. Close ends it.
func New(ctx context.Context, c Config) *Notifier {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	n := &Notifier{config: c, told: map[told]time.Time{}}
	for _, t := range c.Targets {
		q := make(chan Event, queued)
		n.queues = append(n.queues, q)
		n.workers.Go(func() { n.serve(ctx, t, q) })
	}
	return n
}

// Tell hands an event to the targets that want it, and returns at once.
func (n *Notifier) Tell(e Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || n.repeats(e) {
		return
	}
	for i, t := range n.config.Targets {
		name := t.wants(e)
		if name == "" {
			continue
		}
		e := e
		e.Event = name
		select {
		case n.queues[i] <- e:
		default:
			n.config.Log.Warn("not notified: too much waits already", "target", t.Name, "event", e.Event, "session", e.Address)
		}
	}
}

// wants returns by which of its names a target wants an event; empty: it does not.
func (t Target) wants(e Event) string {
	for _, name := range []string{e.Event, e.Also} {
		if slices.Contains(t.On, name) {
			return name
		}
	}
	return ""
}

// repeats reports whether the same was told a moment ago.
func (n *Notifier) repeats(e Event) bool {
	now := time.Now()
	for k, at := range n.told {
		if now.Sub(at) >= once {
			delete(n.told, k)
		}
	}
	k := told{e.Address, e.Event, e.Reason + "\x00" + e.New + "\x00" + e.Detail, e.Given.UnixMicro()}
	if _, is := n.told[k]; is {
		return true
	}
	n.told[k] = now
	return false
}

// Close takes nothing more, and returns when what waits was told, or when ctx of
// New has ended.
func (n *Notifier) Close() {
	n.mu.Lock()
	if !n.closed {
		n.closed = true
		for _, q := range n.queues {
			close(q)
		}
	}
	n.mu.Unlock()
	n.workers.Wait()
}

func (n *Notifier) serve(ctx context.Context, t Target, q <-chan Event) {
	for e := range q {
		if ctx.Err() != nil {
			continue
		}
		body, err := json.Marshal(e)
		if err == nil && len(t.Command) > 0 {
			err = n.run(ctx, t.Command, e, body)
		} else if err == nil {
			err = n.post(ctx, t.Webhook, body)
		}
		if err != nil {
			n.config.Log.Warn("not notified", "target", t.Name, "event", e.Event, "session", e.Address, "error", err)
			continue
		}
		n.config.Log.Info("notified", "target", t.Name, "event", e.Event, "session", e.Address)
	}
}
