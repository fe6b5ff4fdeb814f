package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Stop asks the guest to end the agent and everything below it, which on Linux it
// sees to the end of. When no guest answers, or it cannot know, whatever still
// carries the run's mark is swept; in the end the recorded agent must be gone.
func (r *Runtime) Stop(ctx context.Context, p session.Place, run string, how session.Stop) error {
	r.recall(ctx, r.server(p.Socket), run)
	if err := r.end(ctx, run, how); err != nil {
		return fmt.Errorf("stop session %q: %w", p.Name, err)
	}
	return nil
}

// end ends a run and returns when nothing of it is left. A run starts at most
// once, so one that was seen to its end is not looked at again.
func (r *Runtime) end(ctx context.Context, run string, how session.Stop) error {
	if !runForm.MatchString(run) {
		return fmt.Errorf("invalid run id %.80q", run)
	}
	if r.ended.has(run) {
		return nil
	}
	if err := r.endNow(ctx, run, how); err != nil {
		return err
	}
	if f, _ := r.facts(run); f.Exit != nil && !f.Agent.Alive() {
		r.ended.add(run)
	}
	return nil
}

func (r *Runtime) endNow(ctx context.Context, run string, how session.Stop) error {
	f, _ := r.facts(run) // what cannot be read is missing; the sweep needs none of it
	grace := how.Grace.D()
	if f.Adopted() {
		if err := r.endAdopted(ctx, run, f, how); err != nil {
			return err
		}
	}
	// By the guest, that nothing is left: it writes down how the run ended after that.
	seen := shim.OwnsTree && f.Exit != nil && !f.Adopted()
	if f.Guest.Alive() {
		if err := r.askToStop(ctx, run, how); err == nil {
			grace = 0 // it has had it
			seen = shim.OwnsTree
		} else if ctx.Err() != nil {
			return err
		}
	}
	if !seen {
		if err := r.sweeper.sweep(ctx, sweep{run: run, signal: how.Signal, grace: grace}); err != nil {
			return err
		}
	}
	// The mark can be shed, the recorded pid and start time cannot.
	f, _ = r.facts(run)
	if err := kill(ctx, f.Agent); err != nil {
		return err
	}
	return r.dismiss(ctx, run)
}

// leavingTime is how long a guest gets to see that its agent is gone, to write that
// down, and to leave.
const leavingTime = 2 * time.Second

// dismiss waits until a run's guest has written the exit or is gone. One that
// takes too long is killed. What was killed has left its socket behind.
func (r *Runtime) dismiss(ctx context.Context, run string) error {
	deadline := time.Now().Add(leavingTime)
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		f, _ := r.facts(run)
		switch {
		case f.Exit != nil:
			return nil
		case !f.Guest.Alive():
			return r.unlinkSocket(run)
		case time.Now().After(deadline):
			return errors.Join(kill(ctx, f.Guest), r.unlinkSocket(run))
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

func (r *Runtime) askToStop(ctx context.Context, run string, how session.Stop) error {
	c, err := shim.Dial(ctx, r.guestSocket(run))
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Stop(ctx, how.Signal, how.Grace.D())
	return err
}

// kill ends one recorded process, if it runs, and waits until it does not.
func kill(ctx context.Context, p shim.Proc) error {
	for wait := time.Millisecond; p.Alive(); wait = min(2*wait, 100*time.Millisecond) {
		if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill process %d: %w", p.PID, err)
		}
		if err := sleep(ctx, wait); err != nil {
			return fmt.Errorf("process %d outlives SIGKILL: %w", p.PID, err)
		}
	}
	return nil
}

// removeGrace is what an agent that still lives when its place is removed gets
// before SIGKILL. Whoever cares stops it first.
const removeGrace = 2 * time.Second

// Remove ends what lives of the run, kills the session, and looks that it is
// gone. It touches nothing that is not ours.
func (r *Runtime) Remove(ctx context.Context, p session.Place) error {
	if err := r.remove(ctx, p); err != nil && !errors.Is(err, session.ErrGone) {
		return fmt.Errorf("remove session %q: %w", p.Name, err)
	}
	return nil
}

func (r *Runtime) remove(ctx context.Context, p session.Place) error {
	s := r.server(p.Socket)
	_, live, err := r.owned(ctx, s, p)
	if err != nil {
		return err
	}
	run := live.Mark.Run
	known := runForm.MatchString(run)
	if known {
		if err := r.end(ctx, run, session.Stop{Signal: "SIGTERM", Grace: session.Duration(removeGrace)}); err != nil {
			return err
		}
	}
	// The second command looks, and has to fail.
	_, err = s.ask(ctx, tmuxwire.Command{"kill-session", "-t", tmuxwire.Session(p.Name)}, tmuxwire.Command{"has-session", "-t", tmuxwire.Session(p.Name)})
	if err == nil {
		err = errors.New("it is still there")
	}
	if !errors.Is(err, session.ErrGone) {
		return err
	}
	s.release()
	s.gone(p.Name)
	if s.borrowed {
		r.unlink(ctx, s)
	}
	if known {
		return r.vacate(ctx, run)
	}
	return nil
}

// vacate returns when a run whose session is gone has left nothing: no process,
// and no socket, which a guest that was killed could not remove.
func (r *Runtime) vacate(ctx context.Context, run string) error {
	deadline := time.Now().Add(leavingTime)
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		f, _ := r.facts(run)
		if f.Agent.Alive() {
			// Its guest had not started it yet, and only heard the hangup.
			if err := r.end(ctx, run, session.Stop{Signal: "SIGKILL"}); err != nil {
				return err
			}
		}
		if !f.Guest.Alive() {
			break
		}
		if time.Now().After(deadline) {
			if err := kill(ctx, f.Guest); err != nil {
				return err
			}
		}
		if err := sleep(ctx, wait); err != nil {
			return fmt.Errorf("its guest %d still runs: %w", f.Guest.PID, err)
		}
	}
	return r.unlinkSocket(run)
}

// unlinkSocket removes the socket of a guest that is gone.
func (r *Runtime) unlinkSocket(run string) error {
	if err := os.Remove(r.guestSocket(run)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// owned looks at a place before something is done to it; session.ErrGone if it
// does not stand, an error if it is not ours.
func (r *Runtime) owned(ctx context.Context, s *server, p session.Place) (pane, session.Live, error) {
	now, err := s.look(ctx, p.Name)
	if err != nil {
		return pane{}, session.Live{}, err
	}
	live := r.live(s.socket, now)
	if live.Foreign {
		return pane{}, session.Live{}, errors.New("a session of that name is there, and is not ours")
	}
	r.assess(ctx, &live, now)
	return now, live, nil
}

// sweeper gathers runs that are to be swept at once: a sweep looks at every
// process of the machine, whatever the number of runs.
type sweeper struct {
	mu   sync.Mutex
	busy bool
	next map[manner]map[string][]chan error // by run
}

// manner is what runs must have in common to be swept together.
type manner struct {
	signal string
	grace  time.Duration
}

type sweep struct {
	run    string
	signal string
	grace  time.Duration
}

// sweep ends whatever carries the run's mark, together with the runs for which
// it is called meanwhile.
func (w *sweeper) sweep(ctx context.Context, s sweep) error {
	done := make(chan error, 1)
	m := manner{s.signal, s.grace}
	w.mu.Lock()
	if w.next == nil {
		w.next = map[manner]map[string][]chan error{}
	}
	if w.next[m] == nil {
		w.next[m] = map[string][]chan error{}
	}
	w.next[m][s.run] = append(w.next[m][s.run], done)
	if !w.busy {
		w.busy = true
		go w.work()
	}
	w.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// work sweeps until nobody waits.
func (w *sweeper) work() {
	for {
		w.mu.Lock()
		batch := w.next
		w.next = nil
		if len(batch) == 0 {
			w.busy = false
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		var wg sync.WaitGroup
		for m, waiting := range batch {
			wg.Go(func() { together(m, waiting) })
		}
		wg.Wait()
	}
}

func together(m manner, waiting map[string][]chan error) {
	runs := make([]string, 0, len(waiting))
	for run := range waiting {
		runs = append(runs, run)
	}
	left, err := shim.SweepAll(runs, m.grace, m.signal)
	for run, all := range waiting {
		mine := err
		if left != nil && len(left[run]) == 0 {
			mine = nil // what is left is another run's
		}
		for _, done := range all {
			done <- mine
		}
	}
}
