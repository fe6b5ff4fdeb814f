package tmux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim/reported"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// pane is one session as tmux reports it: the session and its agent's pane.
type pane struct {
	tmuxwire.Pane
	closed bool // the agent's pane is gone, and this is another one of the session
}

// parsePanes reads rows of tmuxwire.PaneFormat behind a nonce and returns one pane for each
// session: the agent's or, without a mark, the first.
func parsePanes(text, nonce string) ([]pane, error) {
	var out []pane
	at := map[string]int{}
	for _, row := range tmuxwire.Rows(text, nonce) {
		parsed, err := tmuxwire.ParsePane(row)
		if err != nil {
			return nil, err
		}
		p := pane{parsed, parsed.AgentPane != "" && parsed.AgentPane != parsed.ID}
		i, seen := at[p.Session]
		switch {
		case !seen:
			at[p.Session] = len(out)
			out = append(out, p)
		case out[i].closed && !p.closed:
			out[i] = p
		}
	}
	return out, nil
}

// observer reads sessions: tmux's reports about them and the facts of their runs.
type observer struct {
	runs    *runs
	lineage string
	asked   sync.Map // adopted runs whose exit was requested from tmux again
}

// observe lists the sessions of a server; of an external one only the project's.
func (o *observer) observe(ctx context.Context, s *server, screens bool) ([]session.Live, error) {
	var panes []pane
	err := s.retry(ctx, func() error {
		if up, err := s.running(ctx); err == nil && !up {
			return nil // 20 µs instead of a process
		}
		nonce := newNonce()
		text, err := s.program.run(ctx, s.socket, nil, "list-panes", "-a", "-F", nonce+"|"+tmuxwire.PaneFormat)
		if err == nil {
			panes, err = parsePanes(text, nonce)
		}
		return err
	})
	if errors.Is(err, session.ErrGone) {
		return nil, nil // no session is left
	}
	if s.external {
		panes = slices.DeleteFunc(panes, func(p pane) bool { _, foreign := o.markOf(p); return foreign })
	}
	if err != nil || len(panes) == 0 {
		return nil, err
	}
	var shown map[string]string
	if screens {
		var ids []string
		for _, p := range panes {
			if !p.closed {
				ids = append(ids, p.ID)
			}
		}
		shown, err = s.screens(ctx, ids)
		if errors.Is(err, session.ErrGone) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	lives := make([]session.Live, len(panes))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(panes)) { // most of the work is reading the runs' directories
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(panes); i = int(next.Add(1)) - 1 {
				l := o.live(s, panes[i])
				if screen, captured := shown[panes[i].ID]; captured {
					l.Show(screen)
				}
				o.assess(ctx, s, &l, panes[i])
				lives[i] = l
			}
		})
	}
	wg.Wait()
	o.settle(ctx, s, lives, panes)
	return lives, nil
}

// settleTimeout bounds the wait for a shim to record that its agent has ended. It takes
// milliseconds, unless the machine is busy.
const settleTimeout = 3 * time.Second

// settle assesses runs that have just ended once more, so that a caller that kills an agent sees it
// dead and not contradictory.
func (o *observer) settle(ctx context.Context, s *server, lives []session.Live, panes []pane) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	_ = poll(ctx, 50*time.Millisecond, func() (bool, error) {
		settled := true
		for i := range lives {
			l := &lives[i]
			if l.Liveness != session.Unknown || l.Foreign {
				continue
			}
			f, _ := o.runs.facts(l.Mark.Run) // read first: the exit may be written meanwhile
			ending := f.Agent.PID != 0 && !f.Agent.Alive() && f.Shim.Alive()
			o.assess(ctx, s, l, panes[i])
			settled = settled && !(ending && l.Liveness == session.Unknown)
		}
		return settled, nil
	})
}

// live returns a session without the facts of its run.
func (o *observer) live(s *server, p pane) session.Live {
	l := session.Live{
		Location: session.Location{Runtime: "tmux", Socket: s.socket, Name: p.Session, Pane: p.ID},
		PlaceUp:  true,
		InputOff: p.InputOff,
		Frozen:   p.Pause == session.Freeze,
		Attached: p.Attached,
		Dir:      p.Dir,
		Title:    p.Title,
		Size:     p.Size,
		MovedAt:  p.ActiveAt,
	}
	if p.AgentPane != "" {
		l.Location.Pane = p.AgentPane
	}
	l.Mark, l.Foreign = o.markOf(p)
	l.Ours = l.Mark.Project != "" && !s.external
	return l
}

// markOf returns a session's mark. The session is foreign without one of the project's.
func (o *observer) markOf(p pane) (m session.Mark, foreign bool) {
	if err := json.Unmarshal([]byte(p.Mark), &m); err != nil || m.Project == "" && m.Run == "" {
		return session.Mark{}, true
	}
	return m, o.lineage != "" && m.Project != o.lineage
}

// marked returns the mark of the session of a place. The error is session.ErrGone if the session
// does not exist.
func (o *observer) marked(ctx context.Context, s *server, p session.Location) (pane, session.Mark, error) {
	now, err := s.look(ctx, p.Name)
	if err != nil {
		return pane{}, session.Mark{}, err
	}
	mark, foreign := o.markOf(now)
	if foreign {
		return pane{}, session.Mark{}, errors.New("a session with that name exists and is not managed by agentform")
	}
	return now, mark, nil
}

// owned returns the session of a place, as marked does.
func (o *observer) owned(ctx context.Context, s *server, p session.Location) (pane, session.Live, error) {
	now, _, err := o.marked(ctx, s, p)
	if err != nil {
		return pane{}, session.Live{}, err
	}
	l := o.live(s, now)
	o.assess(ctx, s, &l, now)
	return now, l, nil
}

// holding is owned for a session that must have that run.
func (o *observer) holding(ctx context.Context, s *server, p session.Location, run string) (session.Live, error) {
	_, l, err := o.owned(ctx, s, p)
	if err == nil && l.Mark.Run != run {
		err = fmt.Errorf("it has run %s, not %s", l.Mark.Run, run)
	}
	return l, err
}

// deathTimeout bounds the time from the end of a run's agent to that of its shim, whose last work is to
// write the exit.
const deathTimeout = 5 * time.Second

// awaitDeath waits until a run whose directory is lost is seen dead. Only its pane shows that, while
// its shim may still be there.
func (o *observer) awaitDeath(ctx context.Context, s *server, p session.Location, run string) error {
	began := time.Now()
	return poll(ctx, 100*time.Millisecond, func() (bool, error) {
		l, err := o.holding(ctx, s, p, run)
		if err != nil || l.Liveness == session.Dead {
			return true, nil // the place has another run, or none
		}
		if time.Since(began) > deathTimeout {
			return false, errors.New("its processes have ended, but not that of its pane")
		}
		return false, nil
	})
}

// assess adds the facts of a session's run.
func (o *observer) assess(ctx context.Context, s *server, l *session.Live, p pane) {
	if l.Foreign {
		l.Liveness = session.Unknown
		if p.Dead {
			l.Liveness = session.Dead
		}
		return
	}
	f, _ := o.runs.facts(l.Mark.Run) // what cannot be read is missing, and proves nothing
	seen := gather(p, f)
	liveness, exit := judge(seen)
	if checkRun(l.Mark.Run) == nil && liveness != session.Alive && exit == nil {
		// The exit may have been written after it was read and before the processes were.
		f, _ = rundir.ReadFacts(o.runs.dir(l.Mark.Run))
		seen = gather(p, f)
		liveness, exit = judge(seen)
	}
	if exit == nil && liveness == session.Dead && f.Adopted() && !p.closed {
		// Without a shim nothing records the exit, and the pane's process is the agent. If the exit
		// stays unknown, it is requested only once.
		if exit = exitOfPane(p.Pane, f); exit == nil {
			if _, asked := o.asked.LoadOrStore(l.Mark.Run, true); !asked {
				if now, err := s.look(ctx, l.Location.Name); err == nil && now.ID == p.ID && now.Dead {
					exit = exitOfPane(now.Pane, f)
				}
			}
		}
	}
	l.Liveness, l.Exit, l.UnknownReason = liveness, reported.Exit(exit), ""
	if liveness == session.Unknown {
		l.UnknownReason = seen.unknownReason()
	}
	l.Agent = session.Process{PID: f.Agent.PID, Start: f.Agent.Start}
	l.BootID, l.Started = f.BootID, f.StartedAt
	switch {
	case l.Liveness == session.Dead:
		l.Frozen = false
	case seen.stopped && !l.Frozen:
		l.Frozen, l.Suspended = true, true
	}
}

// exitOfPane returns how the process of an adopted pane ended: from tmux or, where tmux has not
// reaped it (3.3a may take long), from the kernel; nil if unknown.
func exitOfPane(p tmuxwire.Pane, f rundir.Facts) *rundir.Exit {
	// tmux itself writes the last output when the process has ended.
	e := rundir.Exit{Cause: rundir.CauseSelf, At: p.ActiveAt.UTC(), Ran: p.ActiveAt.Sub(f.StartedAt)}
	var known bool
	if e.Code, e.Signal, known = p.Exit(); !known {
		e.Code, e.Signal, known = proc.ZombieExit(f.Agent)
	}
	if !known {
		return nil
	}
	return &e
}

// evidence is tmux's report on a run's pane, the content of the run's directory, and whether the
// processes named there are alive.
type evidence struct {
	paneUp bool // a process runs in the agent's pane
	gone   bool // the process of a dead pane, the shim, has exited
	reaped bool // tmux has its exit status
	clean  bool // that status is 0

	claimed bool // a shim has claimed the run
	shim    bool // it is alive
	started bool // the agent was started
	agent   bool // it is alive
	stopped bool // by a signal
	exit    *rundir.Exit
}

// judge returns whether a run's agent is alive and how it ended. A death needs two signals:
//
//   - An exit file and an agent that is gone: dead, even if the shim is still in the pane.
//   - A dead pane and an agent that is gone: dead, without an exit if the shim was killed too.
//     While the shim is alive, it is about to write the exit: unknown.
//   - A dead pane and no record of an agent: dead once the shim has exited. tmux has reported dead
//     panes seconds before the process had exited, and 3.3a reaps some only with the next.
//   - An agent that is alive although the pane is dead or an exit is written: unknown.
//   - A live pane, no agent and no exit file: unknown. The shim is about to write the exit, or the
//     pane has another process.
//   - Everything else: alive, even before the shim has started the agent.
//
// A session with a clean exit is finished and never run again. So if tmux reports another status
// for the shim, the exit is not 0.
func judge(e evidence) (session.Liveness, *rundir.Exit) {
	switch {
	case e.agent:
		if !e.paneUp || e.exit != nil {
			return session.Unknown, nil
		}
		return session.Alive, nil
	case e.exit != nil:
		exit := *e.exit
		if e.reaped && !e.clean && exit.Code == 0 && exit.Signal == "" {
			exit.Code, exit.Detail = 1, "the exit file says 0, tmux says otherwise"
		}
		return session.Dead, &exit
	case !e.paneUp:
		if !e.shim && (e.started || e.gone) {
			return session.Dead, nil
		}
		return session.Unknown, nil
	case e.started, e.claimed && !e.shim:
		return session.Unknown, nil
	}
	return session.Alive, nil
}

func (e evidence) unknownReason() string {
	switch {
	case e.agent && e.exit != nil:
		return "an exit is recorded, but the agent's process is running"
	case e.agent:
		return "its pane is dead, but the agent's process is running"
	case e.shim && e.paneUp:
		return "its agent has exited, and its leftover processes are being stopped"
	}
	return "its signals contradict each other"
}

func gather(p pane, f rundir.Facts) evidence {
	alive, stopped := f.Agent.Runs()
	e := evidence{
		paneUp:  !p.Dead && !p.closed,
		reaped:  p.closed || p.ExitStatus != "" || p.ExitSignal != "",
		clean:   p.closed || p.ExitStatus == "0", // tmux has no status of a closed pane
		claimed: f.Claimed,
		started: f.Agent.PID != 0,
		agent:   alive,
		stopped: stopped,
		exit:    f.Exit,
	}
	if !e.agent || !e.paneUp { // otherwise it makes no difference
		e.shim = f.Shim.Alive()
	}
	if !e.paneUp || !e.claimed {
		stat, ok := proc.ReadStat(p.PID) // a process that tmux has not reaped keeps its pid
		ended := p.PID != 0 && !(ok && stat.Alive())
		e.paneUp = e.paneUp && !ended // without the run's directory, this is the first sign of its end
		e.gone = !e.paneUp && (e.reaped || ended)
	}
	return e
}
