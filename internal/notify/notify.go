// Package notify sends the hub's notifications to commands, webhooks, chats and the desktop.
//
// Send never blocks: each target has a queue and a goroutine. Events that do not fit into
// a queue are dropped and logged. The same event is sent once in a while.
package notify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/excerpt"
	"github.com/agentform/agentform/session"
)

// Event is the JSON that a target gets.
type Event struct {
	Event     string    `json:"event"` // escalated, blocked, failed, blocked_api, done, exited, stale, turn_ended, unhealthy, branch_mismatch, budget_warned, budget_exceeded, pr_detected, verified, verification_failed, report
	Also      string    `json:"-"`     // another name of the same event
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
	// Word, Tone and Remedy are what the session is to people, as in the document of a session: a word, what
	// that means, and what to do. They are empty for an event of before the last look.
	Word   string `json:"word,omitempty"`
	Tone   string `json:"tone,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// Question is what a blocked agent asks, with its answers; nil: they are not known.
	Question *session.Question `json:"question,omitempty"`
}

// Target is a command, a webhook or the desktop, with the events that it gets.
type Target struct {
	Name    string
	On      []string // the names of events
	Report  string   // the time of day of the report that it gets, HH:MM; empty: none
	Command []string // gets the event on standard input
	Webhook string   // gets it as a POST
	Secret  string   // names the secret that has the address of the webhook
	Preset  string   // the service that the webhook belongs to, or Desktop
}

// Config configures a Notifier.
type Config struct {
	Targets []Target
	Dir     string   // in which commands run
	Environ []string // of commands
	// Key signs what webhooks without a preset are sent; nil, or no key: they are not signed.
	Key func() ([]byte, bool)
	// Secret returns the value of a secret. It may be nil if no target has one.
	Secret func(name string) (string, error)
	// Transport sends the requests to webhooks; nil: one of the standard library.
	Transport http.RoundTripper
	Log       *slog.Logger
}

const (
	queueSize   = 256             // of a target
	repeatAfter = 5 * time.Minute // for the same event
)

// Notifier sends events to targets. Its methods may be called concurrently.
type Notifier struct {
	config  Config
	queues  []chan Event
	workers sync.WaitGroup

	mu     sync.Mutex
	closed bool
	sent   map[eventKey]time.Time
}

type eventKey struct {
	address, event, detail string
	given                  int64
}

// New starts a notifier. Close ends it.
func New(ctx context.Context, c Config) *Notifier {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	n := &Notifier{config: c, sent: map[eventKey]time.Time{}}
	for _, t := range c.Targets {
		q := make(chan Event, queueSize)
		n.queues = append(n.queues, q)
		n.workers.Go(func() { n.serve(ctx, t, q) })
	}
	return n
}

// Send queues an event for the targets that match it and returns immediately.
func (n *Notifier) Send(e Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || n.repeats(e) {
		return
	}
	for i, t := range n.config.Targets {
		e := e
		if !t.gets(&e) {
			continue
		}
		select {
		case n.queues[i] <- e:
		default:
			n.config.Log.Warn("not notified: the queue is full", "target", t.Name, "event", e.Event, "session", e.Address)
		}
	}
}

// gets reports whether an event is for the target, and sets the name under which the target has it.
func (t Target) gets(e *Event) bool {
	if e.Event == Report {
		return t.Report == e.New
	}
	if !slices.Contains(t.On, e.Event) {
		e.Event = e.Also
	}
	return slices.Contains(t.On, e.Event)
}

// repeats reports whether the same event was sent a moment ago.
func (n *Notifier) repeats(e Event) bool {
	now := time.Now()
	maps.DeleteFunc(n.sent, func(_ eventKey, at time.Time) bool { return now.Sub(at) >= repeatAfter })
	detail := e.Detail
	if e.Event == "unhealthy" {
		detail = e.Run // the detail has what was measured, which differs each time
	}
	k := eventKey{e.Address, e.Event, e.Reason + "\x00" + e.New + "\x00" + detail, e.Given.UnixMicro()}
	_, is := n.sent[k]
	if !is {
		n.sent[k] = now
	}
	return is
}

// Close refuses further events and sends those that are queued, until the context of New
// ends.
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
	var notBefore time.Time // as the webhook asked
	for e := range q {
		if ctx.Err() != nil {
			continue
		}
		log := n.config.Log.With("target", t.Name, "event", e.Event, "session", e.Address)
		if time.Now().Before(notBefore) {
			log.Warn("not notified: the webhook's rate limit was reached", "until", notBefore)
			continue
		}
		err := n.Deliver(ctx, t, e)
		if limit, is := errors.AsType[*rateLimitError](err); is {
			notBefore = limit.until
		}
		if err != nil {
			log.Warn("not notified", "error", err)
			continue
		}
		log.Info("notified")
	}
}

// Deliver sends an event to a target, whatever events that gets, and waits until it has it.
func (n *Notifier) Deliver(ctx context.Context, t Target, e Event) error {
	if t.Preset == Desktop {
		return n.run(ctx, desktopCommand(runtime.GOOS, describe(e)), e, nil)
	}
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if len(t.Command) > 0 {
		return n.run(ctx, t.Command, e, body)
	}
	r, err := n.request(ctx, t, e, body)
	if err == nil {
		err = n.post(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	return nil
}

const (
	commandTimeout = 30 * time.Second
	maxOutput      = 2 << 10 // bytes of a command's output that an error quotes
)

// run runs a command with the event on standard input and a summary in its environment. A
// command that exceeds its timeout is killed with its process group, and what it leaves
// behind there after the same time.
func (n *Notifier) run(parent context.Context, argv []string, e Event, body []byte) error {
	start := time.Now()
	ctx, cancel := context.WithTimeout(parent, commandTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	printed := excerpt.Tail{Limit: maxOutput}
	c.Dir, c.Stdin, c.Stdout, c.Stderr = n.config.Dir, bytes.NewReader(body), &printed, &printed
	c.Env = append(slices.Clip(n.config.Environ), e.environ()...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	err := c.Run()
	if c.Process != nil {
		n.workers.Go(func() { endGroup(parent, c.Process.Pid, start.Add(commandTimeout)) })
	}
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // a process that it left behind has its output open
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("command %q: %w after %s", argv[0], context.Cause(ctx), commandTimeout)
	}
	return fmt.Errorf("command %q: %w: %s", argv[0], err, strings.TrimSpace(printed.String()))
}

// environ returns the variables of a command.
func (e Event) environ() []string {
	return []string{"AGENTFORM_EVENT=" + e.Event, "AGENTFORM_PROJECT=" + e.Project, "AGENTFORM_ADDRESS=" + e.Address, "AGENTFORM_BRANCH=" + e.Branch,
		"AGENTFORM_DETAIL=" + strings.ReplaceAll(cmp.Or(e.Detail, e.New), "\x00", ""), "AGENTFORM_OPTIONS=" + strings.ReplaceAll(e.options(), "\x00", "")}
}

// endGroup waits for the end of a process group, and kills it at a time or when ctx ends. It does
// not wait after the kill, since a zombie that is not reaped keeps the group.
func endGroup(ctx context.Context, group int, at time.Time) {
	for !errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) {
		if ctx.Err() != nil || time.Now().After(at) {
			_ = syscall.Kill(-group, syscall.SIGKILL) // there may be nothing left to kill
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// options returns the names of the answers that a question has: yes|always|no.
func (e Event) options() string {
	if e.Question == nil {
		return ""
	}
	return strings.Join(e.Question.Names(), "|")
}
