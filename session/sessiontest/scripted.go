package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/session"
)

// Scripted is a session.Runtime in memory: places by name, each holding one
// agent that does what its script says. Nothing happens in it by itself, and
// its only clock is time.Now and what Sleep adds to it, so it is deterministic
// and works inside testing/synctest. It is safe for use by many goroutines.
type Scripted struct {
	lineage string
	kind    string
	boot    string

	mu      sync.Mutex
	places  map[string]*State
	last    map[string]State // of places that were taken away
	scripts map[string][][]Step
	faults  map[Op][]fault
	slow    map[Op]time.Duration
	down    error
	calls   []Call
	runs    map[string]session.RunFacts
	pids    int
	slept   time.Duration // that nobody waited for
}

// New is a runtime with nothing in it. Objects whose mark names another lineage
// are foreign; with an empty lineage only those without a mark are. A
// agentform.Launcher marks what it launches with its Project as the lineage: give New
// the same, or nothing.
func New(lineage string) *Scripted {
	return &Scripted{
		lineage: lineage,
		kind:    "scripted",
		boot:    "scripted-boot",
		places:  map[string]*State{},
		last:    map[string]State{},
		scripts: map[string][][]Step{},
		faults:  map[Op][]fault{},
		slow:    map[Op]time.Duration{},
		runs:    map[string]session.RunFacts{},
		pids:    1000,
	}
}

// Traits returns those of a kind that nobody knows.
func (s *Scripted) Traits() session.Traits { return session.TraitsOf(s.kind) }

// Observe returns every place, sorted by name.
func (s *Scripted) Observe(ctx context.Context, screens bool) ([]session.Live, error) {
	var out []session.Live
	err := s.do(ctx, Call{Op: OpObserve}, func() error {
		for _, st := range s.places {
			l := st.Live
			l.Exit = clone(l.Exit)
			if l.Show(l.Screen); !screens {
				l.Screen, l.Blank = "", false
			}
			out = append(out, l)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Place.Name < out[j].Place.Name })
	return out, nil
}

// Create makes the place and starts its script.
func (s *Scripted) Create(ctx context.Context, l session.Launch) (session.Place, error) {
	var p session.Place
	err := s.do(ctx, Call{Op: OpCreate, Name: l.Name, Run: l.Mark.Run}, func() error {
		if s.places[l.Name] != nil {
			return fmt.Errorf("the place %w", session.ErrExists)
		}
		p = session.Place{Runtime: s.kind, Name: l.Name, Pane: fmt.Sprintf("%%%d", s.pids)}
		st := &State{Live: session.Live{Place: p, PlaceUp: true, Size: [2]int{200, 50}}}
		s.places[l.Name] = st
		if err := s.start(st, l); err != nil {
			delete(s.places, l.Name)
			return err
		}
		return nil
	})
	if err != nil {
		return session.Place{}, err
	}
	return p, nil
}

// Restart starts the next run, and its script, in a place whose agent is dead.
func (s *Scripted) Restart(ctx context.Context, p session.Place, l session.Launch) (session.Place, error) {
	err := s.do(ctx, Call{Op: OpRestart, Name: p.Name, Run: l.Mark.Run}, func() error {
		st := s.places[p.Name]
		if st == nil || !st.Live.PlaceUp {
			return session.ErrGone
		}
		if st.Live.Foreign {
			return errForeign
		}
		if st.Live.Vital != session.Dead {
			return fmt.Errorf("its agent is %s", st.Live.Vital)
		}
		return s.start(st, l)
	})
	if err != nil {
		return session.Place{}, err
	}
	return p, nil
}

// start begins a run in the place. A script whose first step fails the start at
// once is the error of it, as a guest would report it.
func (s *Scripted) start(st *State, l session.Launch) error {
	if run := l.Mark.Run; run != "" && s.runs[run].Claimed {
		return fmt.Errorf("run %s was started before", run)
	}
	st.script = nil
	if queue := s.scripts[l.Name]; len(queue) > 0 {
		st.script = queue[0]
		if len(queue) > 1 {
			s.scripts[l.Name] = queue[1:]
		}
	}
	now := s.now()
	s.pids++
	st.Launch = l
	st.Launches++
	lv := &st.Live
	lv.Mark = l.Mark
	lv.Foreign = s.foreign(l.Mark)
	lv.Vital = session.Alive
	lv.Agent = session.Process{PID: s.pids, Start: uint64(s.pids)}
	lv.Exit = nil
	lv.Frozen, lv.InputOff = false, false
	lv.Dir, lv.Title, lv.Screen = l.Dir, "", ""
	lv.BootID, lv.Started, lv.MovedAt = s.boot, now, now
	s.runs[l.Mark.Run] = session.RunFacts{Claimed: true, Alive: true, Agent: lv.Agent, BootID: s.boot}
	s.play(st)
	if lv.Exit != nil && lv.Exit.Cause == "failed_start" {
		return fmt.Errorf("failed_start: %s", lv.Exit.Detail)
	}
	return nil
}

// Stop ends the run's agent, if it is still there.
func (s *Scripted) Stop(ctx context.Context, p session.Place, run string, how session.Stop) error {
	return s.do(ctx, Call{Op: OpStop, Name: p.Name, Run: run}, func() error {
		st := s.places[p.Name]
		if st == nil || st.Live.Mark.Run != run || st.Live.Vital == session.Dead {
			return nil
		}
		signal := how.Signal
		if signal == "" {
			signal = "SIGTERM"
		}
		s.end(st, session.Exit{Cause: "requested", Signal: signal})
		return nil
	})
}

// Remove takes the place away.
func (s *Scripted) Remove(ctx context.Context, p session.Place) error {
	return s.do(ctx, Call{Op: OpRemove, Name: p.Name}, func() error {
		if st := s.places[p.Name]; st != nil {
			if st.Live.Foreign {
				return errForeign
			}
			s.clear(st)
		}
		return nil
	})
}

// Pause sets what the mode says: InputOff always, Frozen too with Freeze.
func (s *Scripted) Pause(ctx context.Context, p session.Place, run, mode string) error {
	return s.do(ctx, Call{Op: OpPause, Name: p.Name, Run: run}, func() error {
		st, err := s.holding(p, run)
		if err != nil {
			return err
		}
		switch mode {
		case session.Detach:
		case session.Freeze:
			if st.Live.Vital != session.Alive {
				return fmt.Errorf("its agent is %s", st.Live.Vital)
			}
			st.Live.Frozen = true
		default:
			return fmt.Errorf("unknown mode %q", mode)
		}
		st.Live.InputOff, st.Live.Attached = true, 0
		return nil
	})
}

// Resume undoes both modes of Pause.
func (s *Scripted) Resume(ctx context.Context, p session.Place, run string) error {
	return s.do(ctx, Call{Op: OpResume, Name: p.Name, Run: run}, func() error {
		st, err := s.holding(p, run)
		if err != nil {
			return err
		}
		st.Live.InputOff, st.Live.Frozen = false, false
		return nil
	})
}

// holding is the place, if it stands and holds that run.
func (s *Scripted) holding(p session.Place, run string) (*State, error) {
	st := s.places[p.Name]
	if st == nil || !st.Live.PlaceUp {
		return nil, session.ErrGone
	}
	if st.Live.Foreign {
		return nil, errForeign
	}
	if st.Live.Mark.Run != run {
		return nil, fmt.Errorf("it holds run %s, not %s", st.Live.Mark.Run, run)
	}
	return st, nil
}

// Send keeps the input in State.Sent; the screen does not change by it.
func (s *Scripted) Send(ctx context.Context, p session.Place, in session.Input) error {
	return s.do(ctx, Call{Op: OpSend, Name: p.Name}, func() error {
		st := s.places[p.Name]
		switch {
		case st == nil || !st.Live.PlaceUp:
			return session.ErrGone
		case st.Live.Foreign:
			return errForeign
		case st.Live.InputOff || st.Live.Frozen:
			return session.ErrRefused
		case st.Live.Vital == session.Dead:
			return fmt.Errorf("its agent is dead")
		}
		st.Sent = append(st.Sent, in)
		return nil
	})
}

// Capture returns the last lines of State.Live.Screen.
func (s *Scripted) Capture(ctx context.Context, p session.Place, lines int) (string, error) {
	var text string
	err := s.do(ctx, Call{Op: OpCapture, Name: p.Name}, func() error {
		st := s.places[p.Name]
		if st == nil || !st.Live.PlaceUp {
			return session.ErrGone
		}
		rows := strings.Split(strings.TrimRight(st.Live.Screen, "\n "), "\n")
		if lines > 0 && len(rows) > lines {
			rows = rows[len(rows)-lines:]
		}
		text = strings.Join(rows, "\n")
		return nil
	})
	return text, err
}

// Attach is a command that only says where it would lead.
func (s *Scripted) Attach(p session.Place) []string {
	return []string{"echo", "attach " + p.Name}
}

// Facts is what a run's folder would say of it. It goes on knowing a run whose
// place has vanished.
func (s *Scripted) Facts(run string) session.RunFacts {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	f := s.runs[run]
	f.Exit = clone(f.Exit)
	return f
}

// BootID is the boot that the runtime's runs belong to.
func (s *Scripted) BootID() string { return s.boot }

// Places are the names of all places, sorted.
func (s *Scripted) Places() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.places))
	for n := range s.places {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

var errForeign = errors.New("what is there is not ours")

func (s *Scripted) foreign(m session.Mark) bool {
	return m == (session.Mark{}) || s.lineage != "" && m.Project != s.lineage
}

func clone(e *session.Exit) *session.Exit {
	if e == nil {
		return nil
	}
	c := *e
	return &c
}

var _ session.Runtime = (*Scripted)(nil)
