package initd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/filecopy"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// start starts a run: on a terminal of its own, with no trace of the run before. It
// returns when tmux has started the run's shim.
func (k *container) start(q shim.InitRequest) error {
	k.turn.Lock()
	defer k.turn.Unlock()
	if err := k.over(); err != nil {
		return err
	}
	c, err := rundir.Load(q.RunDir)
	if err != nil {
		return err
	}
	k.secrets.keep(c.Run, q.Secrets, q.Held)
	k.mu.Lock()
	k.last = begun{q.RunDir, c.Dir, c.Branch}
	k.mu.Unlock()
	t, err := k.terminal.begin(q.Args)
	if err == nil && t.Code != 0 {
		err = fmt.Errorf("tmux in the container: %s", t.Stderr)
	}
	return err
}

// over returns when nothing of the last run is, or why it cannot be waited for. A
// shim that has written down how its run ended is about to leave.
func (k *container) over() error {
	dir := k.lastRun().dir
	if dir == "" {
		return nil
	}
	f, _ := rundir.ReadFacts(dir) // what cannot be read is missing
	if f.Agent.Alive() || f.Shim.Alive() && f.Exit == nil {
		return &shim.Error{Code: shim.CodeBusy, Message: "a run is in progress"}
	}
	ctx, cancel := context.WithTimeout(context.Background(), leavingTime+proc.KillTimeout)
	defer cancel()
	return proc.AwaitExit(ctx, f.Shim, leavingTime)
}

// look is how a run stands, by its own word, by its processes, and by its terminal.
func (k *container) look(q shim.InitRequest) *shim.ContainerRun {
	f, _ := rundir.ReadLiveness(q.RunDir) // what cannot be read tells nothing
	agent, stopped := f.Agent.Runs()
	in := &shim.ContainerRun{
		Claimed: f.Claimed, Shim: f.Shim.Alive(), Agent: agent, Frozen: stopped,
		Process: f.Agent, StartedAt: f.StartedAt, BootID: f.BootID, Exit: f.Exit,
	}
	if !in.Agent && f.Exit == nil { // it may have ended between the two looks
		f, _ = rundir.ReadFacts(q.RunDir)
		in.Exit = f.Exit
	}
	if q.Format != "" {
		in.Row, in.Screen, in.Watching = k.terminal.look(q.Target, q.Format, q.Screen)
	}
	return in
}

// copies returns what the session files of a run's agent have that their copies lack.
func copies(q shim.InitRequest) ([]filecopy.File, bool) {
	c, err := rundir.Load(q.RunDir)
	if err != nil {
		return nil, false // it was not started by this program
	}
	home, given := environ.Vars(c.Env).Lookup("HOME")
	if !given {
		home = os.Getenv("HOME")
	}
	return filecopy.Read(home, c.SessionFolders, q.Copies)
}

// end ends a run and returns when nothing of it is left: its shim is asked to, then
// whatever still carries the run's mark is ended, and what was left to this process.
func (k *container) end(q shim.InitRequest) error {
	k.turn.Lock()
	defer k.turn.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), q.Grace+proc.KillTimeout+shim.AnswerTimeout)
	defer cancel()
	grace := q.Grace
	if c, err := rundir.Load(q.RunDir); err == nil && c.Run == q.Run {
		if client, err := shim.Dial(c.Socket); err == nil {
			defer client.Close()
			if _, err := client.Stop(ctx, q.Signal, q.Grace); err == nil {
				grace = 0 // it has had it
			} else if ctx.Err() != nil {
				return err
			}
		}
	}
	if _, err := proc.Sweep(q.Run, grace, q.Signal); err != nil {
		return err
	}
	f, _ := rundir.ReadFacts(q.RunDir)
	if f.Shim.Alive() { // it is writing down how it ended
		if err := proc.AwaitExit(ctx, f.Shim, leavingTime); err != nil {
			return err
		}
	}
	return k.sweepOrphans(ctx)
}

// leavingTime is how long a shim gets to write down how its agent ended.
const leavingTime = 2 * time.Second

// sweepOrphans kills what was left to the first process, and all below it.
func (k *container) sweepOrphans(ctx context.Context) error {
	for wait := time.Millisecond; ; wait = min(2*wait, proc.MaxWait) {
		left := k.orphans()
		if len(left) == 0 {
			return nil
		}
		for _, p := range left {
			for _, d := range proc.Descendants(p.PID) {
				syscall.Kill(d.PID, syscall.SIGKILL)
			}
			syscall.Kill(p.PID, syscall.SIGKILL)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d processes outlive SIGKILL: %w", len(left), ctx.Err())
		case <-time.After(wait):
		}
	}
}

// secrets are held in the init's memory: for the run that is about to take them,
// and for a later one that is started where their source cannot be read.
type secrets struct {
	mu     sync.Mutex
	values map[string]string
	run    string // that may take them, once; empty: none
}

// keep takes over the secrets of a run. held are the names that it wants besides, of
// which the values are known from before.
func (s *secrets) keep(run string, given map[string]string, held []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	values := maps.Clone(given)
	if values == nil {
		values = map[string]string{}
	}
	for _, name := range held {
		if _, anew := given[name]; anew {
			continue
		}
		if v, known := s.values[name]; known {
			values[name] = v
		}
	}
	s.run, s.values = run, values
}

var errTaken = errors.New("there are no secrets for that run")

// hand gives a run its secrets, once: who asks later is not the run's shim.
func (s *secrets) hand(run string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run == "" || run != s.run {
		return nil, errTaken
	}
	s.run = ""
	return s.values, nil
}
