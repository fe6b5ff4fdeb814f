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

// start starts a run on a new terminal, after removing what the last run left there. It returns
// when tmux has started the run's shim.
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

// over waits until the processes of the last run are gone, or returns why it cannot wait. A shim
// that has recorded the exit is about to exit.
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

// look returns the status of a run from its directory, its processes, and its terminal.
func (k *container) look(q shim.InitRequest) *shim.ContainerRun {
	f, _ := rundir.ReadLiveness(q.RunDir) // what cannot be read is missing
	agent, stopped := f.Agent.Runs()
	in := &shim.ContainerRun{
		Claimed: f.Claimed, Shim: f.Shim.Alive(), Agent: agent, Frozen: stopped,
		Process: f.Agent, StartedAt: f.StartedAt, BootID: f.BootID, Exit: f.Exit,
	}
	if !in.Agent && f.Exit == nil { // it may have ended between the two reads
		f, _ = rundir.ReadFacts(q.RunDir)
		in.Exit = f.Exit
	}
	if q.Format != "" {
		in.Row, in.Screen, in.Watching = k.terminal.look(q.Target, q.Format, q.Screen)
	}
	if last := k.lastRun(); q.Screen && last.dir == q.RunDir && last.branch != "" {
		in.Workspace = rundir.StampWorkspace(last.workspace, time.Now())
	}
	return in
}

// copies returns the parts of the agent's session files that their copies lack.
func copies(q shim.InitRequest) ([]filecopy.File, bool) {
	c, err := rundir.Load(q.RunDir)
	if err != nil {
		return nil, false // not started by this program
	}
	home, given := environ.Vars(c.Env).Lookup("HOME")
	if !given {
		home = os.Getenv("HOME")
	}
	return filecopy.Read(home, c.SessionFolders, q.Copies)
}

// end ends a run and returns when no process is left. It asks the shim first, then ends whatever
// carries the run's mark, then the orphans.
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
				grace = 0 // the shim has waited for it
			} else if ctx.Err() != nil {
				return err
			}
		}
	}
	if _, err := proc.Sweep(q.Run, grace, q.Signal); err != nil {
		return err
	}
	f, _ := rundir.ReadFacts(q.RunDir)
	if f.Shim.Alive() { // it is recording the exit
		if err := proc.AwaitExit(ctx, f.Shim, leavingTime); err != nil {
			return err
		}
	}
	return k.sweepOrphans(ctx)
}

// leavingTime is how long a shim may take to record the exit of its agent.
const leavingTime = 2 * time.Second

// sweepOrphans kills the orphans of the init and their descendants.
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

// secrets are kept in the init's memory for the run that is about to take them, and for a later run
// that is started where their source cannot be read.
type secrets struct {
	mu     sync.Mutex
	values map[string]string
	run    string // may take the secrets, once; empty: none
}

// keep stores the secrets of a run: those given, and those of the names in held that an earlier run
// had.
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

// hand returns the secrets of a run, once: a later caller is not the run's shim.
func (s *secrets) hand(run string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run == "" || run != s.run {
		return nil, errTaken
	}
	s.run = ""
	return s.values, nil
}
