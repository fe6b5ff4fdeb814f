package session

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"
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
}

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
	o, old, screen := s.see(l)
	if o.Status != old && old != "" && tell.StatusChanged != nil {
		tell.StatusChanged(old, o.Status, cut(screen))
	}
	if o.PR != "" && tell.PRDetected != nil && s.first(o.PR) {
		tell.PRDetected(o.PR)
	}
	return o, nil
}

// Watch looks at the session again and again, every so often, until it does
// nothing more by itself (Status.Terminal) or the context ends; the last
// observation is the terminal one. What cannot be looked at is told as an error,
// and the watching goes on. A look shows all sessions of the runtime, and those
// that watch share it: what is told after the first look may be a quarter of the
// interval old.
func (s *Session) Watch(ctx context.Context, every time.Duration) iter.Seq2[Observation, error] {
	return func(yield func(Observation, error) bool) {
		for age := time.Duration(0); ; age = every / 4 {
			o, err := s.monitor(ctx, Callbacks{}, age)
			if !yield(o, err) || err == nil && o.Status.Terminal() {
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

// see makes an observation of a look, and remembers it. It returns the status
// before, and the whole screen.
func (s *Session) see(l *Live) (o Observation, old Status, screen string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o = Observation{At: time.Now()}
	old = s.status
	switch {
	case s.stopped:
		o.Status = StatusStopped
	case l == nil:
		o.Status, o.Activity, o.Detail = StatusExited, Exited, "the session is gone"
	case l.Vital == Unknown:
		o.Status, o.Activity, o.Detail = s.status, NoActivity, l.Doubt
		if o.Status == "" {
			o.Status = StatusPending
		}
	default:
		reading := s.read(l)
		state := StateRunning
		if l.Vital == Dead {
			state, o.Exit = StateStale, l.Exit
			if s.rec.Spec.Agent.Finished(l.Exit) {
				state, reading.Activity = StateStopped, Done
			}
		}
		o.Status, o.Activity, o.Detail, o.PR = StatusOf(state, reading.Activity), reading.Activity, reading.Detail, reading.PR
	}
	if l != nil {
		screen = l.Screen
		o.Snippet = lastCharacters(screen, SnippetLimit)
		shown := withoutBar(screen, s.rec.Spec.Agent.StatusBarLines)
		o.Changed, s.shown = shown != s.shown, shown
	}
	s.status = o.Status
	return o, old, screen
}

// read is what the agent does, by all that is known.
func (s *Session) read(l *Live) Reading {
	if s.launcher.Read != nil {
		rec := s.rec
		rec.Run.Agent, rec.Run.BootID = l.Agent, l.BootID
		return s.launcher.Read(rec, l)
	}
	return s.agent.Read(Evidence{
		Vital: l.Vital, Exit: l.Exit, Title: l.Title, Screen: l.Screen, Blank: l.Blank, OneShot: s.rec.Spec.Agent.OneShot,
		Now: time.Now(), StartedAt: s.rec.Run.StartedAt, Prompted: s.rec.Spec.Prompt.Text != "",
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
