package hub

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/notify"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// Event is an event of a history, with its position among all events.
type Event struct {
	// ID names the last event for a stream to resume after: LIFE.NUMBER.TIME, the first
	// two of this hub, the last in Unix nanoseconds.
	ID string
	history.Event
}

// Limits of the events that are kept for subscribers that reconnect, and of the bytes of
// their excerpts. Older events are read from the histories.
const (
	keptEvents   = 4096
	keptExcerpts = 4 << 20
)

// stream has the events of all histories.
type stream struct {
	life    string       // names this hub
	readers atomic.Int32 // subscribers

	mu       sync.Mutex
	first    uint64 // the number of events[0]
	events   []history.Event
	excerpts int
	more     chan struct{} // closed and replaced with each event
	closed   bool
	holding  bool            // by hold
	held     []history.Event // since
	longest  *time.Timer     // of the first of them
}

// mostHeld bounds how long an event waits for the snapshot that has it.
const mostHeld = 250 * time.Millisecond

func newStream() *stream {
	return &stream{life: strconv.FormatInt(time.Now().UnixNano(), 36), first: 1, more: make(chan struct{})}
}

func (s *stream) put(events ...history.Event) {
	if len(events) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holding {
		if len(s.held) == 0 {
			s.longest = time.AfterFunc(mostHeld, s.release)
		}
		s.held = append(s.held, events...)
		return
	}
	s.add(events)
}

// hold makes events wait until release, so that subscribers find what an event says in the snapshot.
func (s *stream) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holding = true
}

// release passes on the events that wait.
func (s *stream) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holding = false
	if len(s.held) > 0 {
		s.longest.Stop()
		s.add(s.held)
		s.held = nil
	}
}

// add passes on events. The caller holds the lock.
func (s *stream) add(events []history.Event) {
	for _, e := range events {
		s.events = append(s.events, e)
		s.excerpts += len(e.Excerpt)
	}
	drop := 0
	for drop < len(s.events) && (len(s.events)-drop > keptEvents || s.excerpts > keptExcerpts) {
		s.excerpts -= len(s.events[drop].Excerpt)
		drop++
	}
	s.events = slices.Delete(s.events, 0, drop)
	s.first += uint64(drop)
	close(s.more)
	s.more = make(chan struct{})
}

func (s *stream) close() {
	s.release()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.more)
	}
}

// backlog is the part of the stream after a position.
type backlog struct {
	events []Event
	last   uint64          // the number of the last of them
	missed bool            // earlier events are not kept any more
	more   <-chan struct{} // closed when more come, and with the stream
	closed bool
}

func (s *stream) after(n uint64) backlog {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := backlog{last: s.last(), missed: n+1 < s.first, more: s.more, closed: s.closed}
	for i := max(n+1, s.first); i <= x.last; i++ {
		e := s.events[i-s.first]
		x.events = append(x.events, Event{fmt.Sprintf("%s.%d.%d", s.life, i, e.Time.UnixNano()), e})
	}
	return x
}

// last returns the number of the last event. The caller holds the lock.
func (s *stream) last() uint64 { return s.first + uint64(len(s.events)) - 1 }

// start returns the position after the event with an id; without an id, that is now.
// behind says that only the histories have what came since.
func (s *stream) start(id string) (n uint64, from time.Time, behind bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" {
		return s.last(), time.Now(), false, nil
	}
	life, rest, _ := strings.Cut(id, ".")
	number, at, _ := strings.Cut(rest, ".")
	_, errL := strconv.ParseUint(life, 36, 64)
	n, errN := strconv.ParseUint(number, 10, 64)
	nano, errT := strconv.ParseInt(at, 10, 64)
	if errors.Join(errL, errN, errT) != nil || life != strings.ToLower(life) {
		return 0, time.Time{}, false, fmt.Errorf("%.80q is not the id of an event", id)
	}
	if life != s.life || n+1 < s.first || n > s.last() {
		return s.last(), time.Unix(0, nano), true, nil
	}
	return n, time.Unix(0, nano), false, nil
}

// Events yields the events of all sessions after the one with an id, or after the call,
// until ctx or the hub ends. Events since an earlier hub are read from the histories;
// those of the same moment may come twice. The error says that the id is invalid.
func (h *Hub) Events(ctx context.Context, after string) (iter.Seq[Event], error) {
	at, from, behind, err := h.feed.start(after)
	return func(yield func(Event) bool) {
		h.feed.readers.Add(1)
		defer h.feed.readers.Add(-1)
		h.Wake() // it looks more often while there are subscribers
		for {
			x := h.feed.after(at)
			if behind || x.missed { // the histories have what is not kept any more
				x.events = h.since(from)
			}
			at, behind = x.last, false
			for _, e := range x.events {
				if ctx.Err() != nil || !yield(e) {
					return
				}
				from = e.Time
			}
			if x.closed {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-x.more:
			}
		}
	}, err
}

func (h *Hub) since(at time.Time) []Event {
	var all []Event
	for _, k := range h.Snapshot().Sessions {
		events, err := history.Read(h.engine.Applier.Folder(*k.Record), at.Add(1))
		if err != nil {
			h.log.Warn("a history cannot be read", "session", k.Record.Address, "error", err)
		}
		for _, e := range events {
			all = append(all, Event{ID: fmt.Sprintf("0.0.%d", e.Time.UnixNano()), Event: e})
		}
	}
	slices.SortStableFunc(all, func(a, b Event) int { return a.Time.Compare(b.Time) })
	return all
}

// feed passes on new events of the histories, to subscribers and notify.
type feed struct {
	*stream
	project, dataDir string
	notify           func(notify.Event) // nil: nobody is notified
	memory           map[session.Address]*memory
	log              *slog.Logger
	past             time.Time // events up to it were notified by an earlier hub
}

// publish passes on new events. When the hub has just started, subscribers do not get
// them, and it notifies of those since the last hub ended only.
func (f *feed) publish(a session.Address, m *memory, atStart bool) {
	fresh, err := m.Read()
	if err != nil {
		f.log.Warn("a history cannot be read", "session", a, "error", err)
	}
	if !atStart {
		f.put(fresh...)
	}
	since := time.Now().Add(-maxNotifyAge)
	if f.past.After(since) {
		since = f.past
	}
	for _, e := range fresh {
		if !atStart || !f.past.IsZero() && e.Time.After(since) {
			f.notifyOf(e, m)
		}
	}
}

func (f *feed) notifyOf(e history.Event, m *memory) {
	on, also := notable(e)
	if on == "" {
		return
	}
	detail := e.Detail
	refused := on == string(session.StatusFailed) && !m.access.Refused.IsZero()
	if refused {
		detail = strings.TrimPrefix(detail+"; "+m.access.Renewal, "; ")
	}
	if refused || on == string(session.StatusBlockedAPI) {
		told, others := sharing(f.memory, e.Address, m, refused)
		if told {
			on = ""
		} else if others > 0 {
			detail = withOthers(detail, others)
		}
	}
	if f.notify != nil && on != "" {
		x := notify.Event{Event: on, Also: also, Time: e.Time, Project: f.project, Address: string(e.Address), ID: e.ID, Run: e.Run,
			Old: e.Old, New: e.New, Reason: e.Reason, Detail: detail, Branch: m.branch, Question: e.Question}
		if e.Kind == history.TurnEnded || on == string(session.StatusBlocked) {
			input := of(history.Sent, history.PromptDelivered)
			if was := fleet.Last(m.Events, func(p history.Event) bool { return input(p) && p.Time.Before(e.Time) }, nil); was != nil {
				x.Given = was.Time
			}
		}
		x.Excerpt, x.Truncated = wire.Tail(e.Excerpt)
		forPeople(&x, e, m.known)
		f.notify(x)
	}
	if e.Time.After(f.past) {
		f.past = e.Time
		recordNotified(f.dataDir, func(n *notified) { n.At = f.past })
	}
}

// forPeople adds what the session is to people, by a look that has seen the event. What another command
// recorded of a question is enough for a question.
func forPeople(x *notify.Event, e history.Event, k status.Input) {
	d := api.Session{}
	switch {
	case k.Record != nil && !k.At.Before(e.Time):
		d = status.Of(k)
	case x.Event == string(session.StatusBlocked):
		d = status.Asking(e.Address, e.Question)
	}
	x.Word, x.Tone = d.Word, string(d.Tone)
	if d.Remedy != nil {
		x.Remedy = d.Remedy.Text
	}
}

// notable returns the name that notify blocks have for an event, or "", and a second one.
func notable(e history.Event) (on, also string) {
	switch e.Kind {
	case history.Escalated, history.BranchMismatch, history.PRDetected, history.Unhealthy, history.TurnEnded, history.BudgetWarned, history.BudgetExceeded,
		history.Verified, history.VerificationFailed:
		return string(e.Kind), ""
	case history.StatusChanged:
		switch s := session.Status(e.New); s {
		case session.StatusBlocked, session.StatusBlockedAPI, session.StatusFailed, session.StatusDone:
			return string(s), ""
		case session.StatusExited:
			return string(s), e.Reason // stale, if its place is left
		}
	}
	return "", ""
}
