package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/turn"
)

// Session is one session that a Launcher started. Its methods may be called from
// many goroutines.
type Session struct {
	launcher *Launcher
	agent    Agent
	rec      Record

	mu      sync.Mutex
	stopped bool
	status  Status      // as of the last look
	does    Activity    // as of the last look
	given   time.Time   // when it was last given something; zero: never
	queued  bool        // it was at work then
	turn    turn.Course // of all looks
	rests   bool        // its turn had ended at the last look
	shown   string      // the screen of the last look, without its status bar
	prs     map[string]bool
}

// Handle names a session. It is a value: copy it, compare it, keep it.
type Handle struct {
	Name  string // of the place
	Pane  string // of tmux, %42; empty elsewhere
	Agent string // name of the agent
	Dir   string // where it works
	Run   string // run id
	Place Place
}

// Handle is the session's name and where it is.
func (s *Session) Handle() Handle {
	return Handle{Name: s.rec.ID, Pane: s.rec.Place.Pane, Agent: s.rec.Spec.Agent.Name, Dir: s.rec.Spec.Workspace.Path, Run: s.rec.Run.ID, Place: s.rec.Place}
}

// Record is the session as a state file would have it.
func (s *Session) Record() Record { return s.rec }

// Send types a text into the session, and Enter.
func (s *Session) Send(ctx context.Context, text string) error {
	return s.SendInput(ctx, Input{Text: text})
}

// SendInput types what the input says: a text without Enter, a key.
func (s *Session) SendInput(ctx context.Context, in Input) error {
	queued := (in.Key == "Enter" || in.Key == "" && !in.NoEnter) && s.works(ctx)
	var err error
	given := s.launcher.now()
	if typed := s.launcher.Type; typed != nil && in.Key == "" && !in.NoEnter {
		err = typed(ctx, s.rec, s.agent, in.Text)
	} else {
		err = s.launcher.Runtime.Send(ctx, s.rec.Place, in)
	}
	if err != nil {
		return fmt.Errorf("send to session %q: %w", s.rec.ID, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given, s.queued, s.rests = given, queued, false
	return nil
}

// works reports whether the agent is at work now; if it cannot be looked at, whether it
// was at the last look.
func (s *Session) works(ctx context.Context) bool {
	l, err := s.live(ctx, 0)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || l == nil {
		return s.does == Working
	}
	return s.read(l).Activity == Working
}

// Status is the session's status as of the last look: of Observe, Monitor, Watch or
// WaitTurn. Before any look it is StatusRunning.
func (s *Session) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.status, StatusRunning)
}

// Capture is the last lines of the screen and its history, as plain text; 0: as
// much as there is.
func (s *Session) Capture(ctx context.Context, lines int) (string, error) {
	text, err := s.launcher.Runtime.Capture(ctx, s.rec.Place, lines)
	if err != nil {
		return "", fmt.Errorf("capture session %q: %w", s.rec.ID, err)
	}
	return text, nil
}

// Attach is the command that gives a terminal to the session until the person
// detaches.
func (s *Session) Attach() []string { return s.launcher.Runtime.Attach(s.rec.Place) }

// Stop ends the agent and everything below it, takes its place away, with what the
// launcher kept of the run, and returns
// when it has seen that nothing is left. Its status is then stopped. A session
// that is gone already, or was stopped, is no error.
func (s *Session) Stop(ctx context.Context) error {
	err := s.launcher.Runtime.Stop(ctx, s.rec.Place, s.rec.Run.ID, s.rec.Spec.Stop)
	if err == nil || errors.Is(err, ErrGone) {
		err = s.launcher.Runtime.Remove(ctx, s.rec.Place)
	}
	if err == nil || errors.Is(err, ErrGone) {
		err = s.launcher.drop(s.rec.Run.ID)
	}
	if err != nil {
		return fmt.Errorf("stop session %q: %w", s.rec.ID, err)
	}
	s.mu.Lock()
	s.stopped, s.status = true, StatusStopped
	s.mu.Unlock()
	return nil
}

// live is the session as the runtime sees it now, or saw it at most so long ago;
// nil: it is not there any more.
func (s *Session) live(ctx context.Context, age time.Duration) (*Live, error) {
	lives, err := s.launcher.look(ctx, age)
	if err != nil {
		return nil, err
	}
	for _, l := range lives {
		if !l.Foreign && l.Mark.Run == s.rec.Run.ID {
			return &l, nil
		}
	}
	return nil, nil
}

// readyEvery is how often an agent that starts is looked at: agents take seconds
// to start, and a look takes milliseconds.
const readyEvery = 100 * time.Millisecond

// errLeft: the agent ended before it could be typed to.
var errLeft = errors.New("the agent left before it was ready")

// becomeReady waits until the agent can be typed to.
func (s *Session) becomeReady(ctx context.Context) error {
	limit := s.rec.Spec.Agent.ReadyTimeout.D()
	switch {
	case limit < 0:
		return nil
	case limit == 0:
		limit = DefaultReadyTimeout
	}
	began := time.Now()
	for {
		l, err := s.live(ctx, 0)
		late := time.Since(began) > limit
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && late:
			return err
		case err != nil: // what does not answer now may answer in a moment
		case l == nil:
			return errLeft
		case l.Vital == Dead && l.Exit != nil && l.Exit.Cause == "failed_start":
			return &LaunchError{Screen: cut(l.Screen), Exit: l.Exit, Err: fmt.Errorf("the agent could not be started: %s", l.Exit.Detail)}
		case l.Vital == Dead && !s.rec.Spec.Agent.Finished(l.Exit):
			return &LaunchError{Screen: cut(l.Screen), Exit: l.Exit, Err: errLeft}
		case l.Vital == Dead, l.Vital == Alive && (s.rec.Spec.Agent.Ready == "" && s.agent.Ready(l.Screen) || SeenReady(s.agent, s.rec, s.read(l), l.Screen)):
			return nil
		case late:
			return &ReadyTimeoutError{After: limit, Screen: cut(l.Screen)}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(readyEvery):
		}
	}
}

// failure names the session in what kept it from starting.
func (s *Session) failure(err error) error {
	var late *ReadyTimeoutError
	var launch *LaunchError
	switch {
	case errors.As(err, &late):
		late.Name, late.Agent = s.rec.ID, s.rec.Spec.Agent.Name
		return late
	case errors.As(err, &launch):
		launch.Name, launch.Agent = s.rec.ID, s.rec.Spec.Agent.Name
		return launch
	}
	return &LaunchError{Name: s.rec.ID, Agent: s.rec.Spec.Agent.Name, Err: err}
}

// cut is the end of a text, at most TailLimit bytes of whole lines.
func cut(text string) string {
	if len(text) <= TailLimit {
		return text
	}
	text = text[len(text)-TailLimit:]
	_, rest, _ := strings.Cut(text, "\n")
	return rest
}
