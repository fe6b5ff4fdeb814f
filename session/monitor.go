package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/turn"
)

// Observation is what is seen of a session at one time.
type Observation struct {
	At       time.Time
	Status   Status
	Activity Activity
	Detail   string // for people: the question, the limit, the failure
	// Changed says that the screen, its status bar aside, is not what it was at the
	// last look.
	Changed bool
	PR      string // URL of a pull request that it shows; empty: none
	Snippet string // the last SnippetLimit characters of the screen
	Exit    *Exit  // how the agent ended, when it has
	// TurnEnded says that the agent has done with what it was last given, its prompt or
	// what was sent, and rests. It takes several looks to know that.
	TurnEnded bool
	// Answer is what the agent said last, as its own session file tells; empty: it
	// keeps none.
	Answer string
}

// SnippetLimit is how many characters of the screen an Observation has.
const SnippetLimit = 500

// Callbacks are told what Monitor sees. Each may be nil. They are called by the
// goroutine that called Monitor, one after the other.
type Callbacks struct {
	// StatusChanged is called when the status is another than at the last look,
	// with what the session shows, at most TailLimit bytes.
	StatusChanged func(old, now Status, output string)
	// PRDetected is called once for each URL.
	PRDetected func(url string)
	// Idle is called when a turn has ended, once each.
	Idle func(Observation)
}

// Until is what a session is watched until.
type Until string

// A session is watched until the end of its turn, or until it has ended itself. A
// one-shot agent ends with its turn.
const (
	UntilTurn Until = "turn"
	UntilExit Until = "exit"
)

// ErrOver: the session does nothing more by itself, so that what was waited for does
// not happen.
var ErrOver = errors.New("does nothing more by itself")

// Observe looks at the session once.
func (s *Session) Observe(ctx context.Context) (Observation, error) {
	return s.Monitor(ctx, Callbacks{})
}

// Monitor looks at the session once and calls back what has changed since the
// last look of this Session. The error says that it could not be looked at; that
// says nothing about the session.
func (s *Session) Monitor(ctx context.Context, tell Callbacks) (Observation, error) {
	return s.monitor(ctx, tell, 0)
}

// monitor is Monitor by a look that is at most so old.
func (s *Session) monitor(ctx context.Context, tell Callbacks, age time.Duration) (Observation, error) {
	l, err := s.live(ctx, age)
	if err != nil {
		return Observation{}, fmt.Errorf("monitor session %q: %w", s.rec.ID, err)
	}
	o, old, rested, screen := s.see(l)
	if o.Status != old && old != "" && tell.StatusChanged != nil {
		tell.StatusChanged(old, o.Status, cut(screen))
	}
	if o.PR != "" && tell.PRDetected != nil && s.first(o.PR) {
		tell.PRDetected(o.PR)
	}
	if o.TurnEnded && !rested && tell.Idle != nil {
		tell.Idle(o)
	}
	return o, nil
}

// Watch looks at the session again and again, every so often, until its turn has ended
// (Observation.TurnEnded), it does nothing more by itself (Status.Terminal), or the
// context ends. The last observation is the one that says so. If the loop then sends
// something more, the watching goes on. Callbacks are told as by Monitor.
//
// What cannot be looked at is an error, and the watching goes on. A look shows all
// sessions of the runtime, and those that watch share it: what is told after the first
// look may be a quarter of the interval old.
func (s *Session) Watch(ctx context.Context, every time.Duration, tell ...Callbacks) iter.Seq2[Observation, error] {
	return s.watch(ctx, every, UntilTurn, tell)
}

// WatchExit is Watch for as long as the agent lives: the end of a turn does not end it.
func (s *Session) WatchExit(ctx context.Context, every time.Duration, tell ...Callbacks) iter.Seq2[Observation, error] {
	return s.watch(ctx, every, UntilExit, tell)
}

func (s *Session) watch(ctx context.Context, every time.Duration, until Until, tell []Callbacks) iter.Seq2[Observation, error] {
	all := together(tell)
	return func(yield func(Observation, error) bool) {
		for age := time.Duration(0); ; age = every / 4 {
			o, err := s.monitor(ctx, all, age)
			if !yield(o, err) || err == nil && (o.Status.Terminal() || until == UntilTurn && o.TurnEnded && s.resting()) {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(every):
			}
		}
	}
}

// together are callbacks that call all of the given ones.
func together(tell []Callbacks) Callbacks {
	return Callbacks{
		StatusChanged: func(old, now Status, output string) {
			for _, t := range tell {
				if t.StatusChanged != nil {
					t.StatusChanged(old, now, output)
				}
			}
		},
		PRDetected: func(url string) {
			for _, t := range tell {
				if t.PRDetected != nil {
					t.PRDetected(url)
				}
			}
		},
		Idle: func(o Observation) {
			for _, t := range tell {
				if t.Idle != nil {
					t.Idle(o)
				}
			}
		},
	}
}

// turnEvery is how often WaitTurn looks.
const turnEvery = 250 * time.Millisecond

// WaitTurn waits until the agent has done with what it was last given, and returns what
// is seen then. What cannot be looked at is looked at again. The error is the context's,
// or ErrOver (errors.Is) if the session failed or ended before.
func (s *Session) WaitTurn(ctx context.Context) (Observation, error) {
	for {
		o, err := s.Observe(ctx)
		switch {
		case err != nil: // what does not answer now may answer in a moment
		case o.TurnEnded || o.Status == StatusDone:
			return o, nil
		case o.Status.Terminal():
			return o, fmt.Errorf("wait for the turn of session %q: it is %s (%s) and %w", s.rec.ID, o.Status, o.Detail, ErrOver)
		}
		select {
		case <-ctx.Done():
			return o, errors.Join(context.Cause(ctx), err)
		case <-time.After(turnEvery):
		}
	}
}

// resting reports whether the turn had ended at the last look, and nothing was sent
// since.
func (s *Session) resting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rests
}

// see makes an observation of a look, and remembers it. It returns the status
// before, whether its turn had ended then, and the whole screen.
func (s *Session) see(l *Live) (o Observation, old Status, rested bool, screen string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o = Observation{At: s.launcher.now()}
	old, rested = s.status, s.rests
	known := true
	switch {
	case s.stopped:
		o.Status = StatusStopped
	case l == nil:
		known = s.lost(&o)
	case l.Vital == Unknown:
		known = s.unknown(&o, l.Doubt)
	default:
		s.seen(&o, l)
	}
	if l != nil {
		screen = l.Screen
		o.Snippet = lastCharacters(screen, SnippetLimit)
		shown := withoutBar(screen, s.rec.Spec.Agent.StatusBarLines)
		o.Changed, s.shown = shown != s.shown, shown
	}
	s.status, s.rests = o.Status, o.TurnEnded
	if known {
		s.does = o.Activity
	}
	return o, old, rested, screen
}

// lost observes a session whose place cannot be found. A live agent outweighs that: then
// nothing is known.
func (s *Session) lost(o *Observation) (known bool) {
	var facts RunFacts
	if s.launcher.Facts != nil {
		facts = s.launcher.Facts(s.rec.Run.ID)
	}
	if facts.Alive {
		return s.unknown(o, fmt.Sprintf("it cannot be reached, and its agent lives (process %d)", facts.Agent.PID))
	}
	o.Status, o.Activity, o.Detail, o.Exit = StatusExited, Exited, "the session is gone", facts.Exit
	if s.rec.Spec.Agent.Finished(facts.Exit) {
		o.Status, o.Activity = StatusDone, Done
	}
	return true
}

// unknown observes a session of which nothing can be known now: its status, and whether
// its turn has ended, are what they were.
func (s *Session) unknown(o *Observation, why string) (known bool) {
	o.Status, o.Activity, o.Detail = cmp.Or(s.status, StatusPending), NoActivity, why
	o.TurnEnded = s.rests
	return false
}

// seen observes a session that is there. While only a phrase on the screen says that a
// live agent is done or has failed, and it has not come to rest, it is running.
func (s *Session) seen(o *Observation, l *Live) {
	reading, state, spec := s.read(l), StateRunning, s.rec.Spec.Agent
	if l.Vital == Dead {
		state, o.Exit = StateStale, l.Exit
		if spec.Finished(l.Exit) {
			state, reading.Activity = StateStopped, Done
		}
	}
	o.Status, o.Activity, o.Detail, o.PR = StatusOf(state, reading.Activity), reading.Activity, reading.Detail, reading.PR
	does := reading.Activity
	look := turn.Look{
		At: o.At, Run: s.rec.Run.ID, Is: string(state) + " " + string(does), Alive: l.Vital == Alive,
		Working: does == Working || does == Blocked || does == BlockedAPI,
		Resting: !spec.OneShot && (does == Idle || does == Done),
		Phrase:  reading.Source == "screen" && (does == Done || does == Failed),
		Prompt:  spec.Ready != "" && s.agent.Ready(l.Screen),
		Given:   s.given, Queued: s.queued, Moved: l.MovedAt, TurnAt: reading.TurnAt,
	}
	s.turn.See(look)
	if look.Alive && look.Phrase && !s.turn.Settled() {
		o.Status = StatusOf(state, Working)
	}
	o.TurnEnded = s.turn.Ended()
	if n := reading.Native; n != nil {
		o.Answer = n.LastMessage
		if !n.Answered(s.given) && s.turn.Held() < fileLag {
			o.TurnEnded = false // its file has the answer in a moment
		}
	}
}

// fileLag is how long an agent's session file may lag behind its hooks and screen.
const fileLag = 2 * time.Second

// read is what the agent does, by all that is known.
func (s *Session) read(l *Live) Reading {
	if s.launcher.Read != nil {
		rec := s.rec
		rec.Run.Agent, rec.Run.BootID = l.Agent, l.BootID
		return s.launcher.Read(rec, l)
	}
	return s.agent.Read(Evidence{
		Vital: l.Vital, Exit: l.Exit, Title: l.Title, Screen: l.Screen, Blank: l.Blank, OneShot: s.rec.Spec.Agent.OneShot,
		Now: s.launcher.now(), StartedAt: s.rec.Run.StartedAt, Prompted: s.rec.Spec.Prompt.Text != "",
	})
}

// first reports whether a URL is seen for the first time.
func (s *Session) first(url string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.prs[url]
	s.prs[url] = true
	return !seen
}

// withoutBar leaves out the last lines that show something: they change by
// themselves.
func withoutBar(screen string, bar int) string {
	lines := strings.Split(strings.TrimRight(screen, "\n "), "\n")
	return strings.Join(lines[:max(0, len(lines)-bar)], "\n")
}

// lastCharacters are the last n characters of a text.
func lastCharacters(text string, n int) string {
	r := []rune(strings.TrimRight(text, "\n "))
	return string(r[max(0, len(r)-n):])
}
