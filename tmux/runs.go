package tmux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

func checkRun(run string) error {
	if !proc.ValidRun(run) {
		return fmt.Errorf("invalid run id %.80q", run)
	}
	return nil
}

// runs are a project's runs: their directories, shims and processes.
type runs struct {
	dataDir, socketDir string

	glances rundir.Cache
}

func (r *runs) dir(run string) string    { return layout.Data{Dir: r.dataDir}.Run(run) }
func (r *runs) socket(run string) string { return filepath.Join(r.socketDir, "g-"+run) }

// facts returns the facts in a run's directory, without its launch; nothing for an invalid id.
func (r *runs) facts(run string) (rundir.Facts, error) {
	if checkRun(run) != nil {
		return rundir.Facts{}, nil
	}
	return r.glances.Glance(r.dir(run))
}

// spec returns the spec of a run's launch, or nil if its directory no longer has it.
func (r *runs) spec(run string) (*session.Spec, error) {
	if err := checkRun(run); err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	f, err := rundir.ReadFacts(r.dir(run))
	if len(f.Spec) == 0 {
		return nil, err
	}
	var s session.Spec
	if err := json.Unmarshal(f.Spec, &s); err != nil {
		return nil, fmt.Errorf("read the spec of run %s: %w", r.dir(run), err)
	}
	return &s, nil
}

func (r *runs) prepare(l session.Launch) error {
	if err := checkRun(l.Mark.Run); err != nil {
		return err
	}
	spec, err := json.Marshal(l.Spec)
	if err != nil {
		return err
	}
	return rundir.Prepare(l.RunDir, rundir.Config{
		Run:     l.Mark.Run,
		Address: string(l.Mark.Address),
		Dir:     l.Dir,
		Socket:  r.socket(l.Mark.Run),
		Argv:    l.Argv,
		Env:     l.Env,
		Signal:  l.Stop.Signal,
		Grace:   l.Stop.Grace.D(),
		Timeout: l.Timeout,
		Spec:    spec,
		InheritedSecrets: slices.DeleteFunc(slices.Sorted(maps.Keys(l.Secrets)), func(name string) bool {
			return slices.Contains(l.Spec.Secrets, name)
		}),
	}, l.Secrets)
}

func (r *runs) ask(ctx context.Context, run string, f func(*shim.Client, context.Context) error) error {
	c, err := shim.Dial(r.socket(run))
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c, ctx)
}

// stop ends the remains of a run. f are its directory's latest facts: what cannot be read is
// missing, and the sweep does not need it.
func (r *runs) stop(ctx context.Context, run string, f rundir.Facts, how session.Stop) error {
	if err := checkRun(run); err != nil {
		return err
	}
	grace := how.Grace.D()
	if f.Adopted() {
		if err := r.stopAdopted(ctx, run, f, how); err != nil {
			return err
		}
	}
	// A shim that owns its tree writes the exit after it has reaped the whole tree.
	seen := proc.OwnsTree && f.Exit != nil && !f.Adopted()
	again := !seen // read the facts again afterwards
	if f.Shim.Alive() {
		again = true
		err := r.ask(ctx, run, func(c *shim.Client, ctx context.Context) error {
			_, err := c.Stop(ctx, how.Signal, grace)
			return err
		})
		if err == nil {
			grace, seen = 0, proc.OwnsTree
		} else if ctx.Err() != nil {
			return err
		}
	}
	if !seen {
		if err := sweep(ctx, run, how.Signal, grace); err != nil {
			return err
		}
	}
	if again {
		f, _ = r.facts(run)
	}
	// A process can shed the run's mark, but not its pid and start time.
	if err := kill(ctx, f.Agent); err != nil || f.Exit != nil {
		return err
	}
	return r.awaitShim(ctx, run, false)
}

// stopAdopted ends the processes of a run without a shim and writes its exit. Processes of an
// earlier boot, and those that other agents share, do not belong to the run.
func (r *runs) stopAdopted(ctx context.Context, run string, f rundir.Facts, how session.Stop) error {
	if f.BootID != proc.BootID() || f.Exit != nil {
		return nil
	}
	alive := f.Agent.Alive()
	killed, err := proc.EndTree(ctx, f.Agent, how.Signal, how.Grace.D(), agent.Shared)
	if err != nil || !alive {
		return err
	}
	e := rundir.Exit{Cause: rundir.CauseRequested, Signal: how.Signal, At: time.Now().UTC(), Ran: time.Since(f.StartedAt)}
	switch {
	case killed:
		e.Signal = "SIGKILL"
	case e.Signal == "":
		e.Signal = "SIGTERM"
	}
	return rundir.EndAdopted(r.dir(run), e)
}

// exitTimeout bounds the time from an agent's end until its shim has written the exit and has
// itself exited.
const exitTimeout = 2 * time.Second

// awaitShim waits until a run's shim has written the exit or, with gone, has exited. A shim that
// takes too long is killed, which leaves its socket behind.
func (r *runs) awaitShim(ctx context.Context, run string, gone bool) error {
	deadline := time.Now().Add(exitTimeout)
	return poll(ctx, 100*time.Millisecond, func() (bool, error) {
		f, _ := r.facts(run)
		if gone && f.Agent.Alive() {
			// The shim started the agent after the stop request, and only got a hangup.
			if err := r.stop(ctx, run, f, session.Stop{Signal: "SIGKILL"}); err != nil {
				return false, err
			}
		}
		switch {
		case !gone && f.Exit != nil:
			return true, nil
		case !f.Shim.Alive():
			return true, r.removeSocket(run)
		case time.Now().After(deadline):
			return false, kill(ctx, f.Shim)
		}
		return false, nil
	})
}

func (r *runs) removeSocket(run string) error {
	if err := os.Remove(r.socket(run)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// discard ends a run that failed to start. It removes the directory last, since that names the
// shim's socket.
func (r *runs) discard(ctx context.Context, l session.Launch) error {
	f, _ := r.facts(l.Mark.Run)
	err := r.stop(ctx, l.Mark.Run, f, session.Stop{Signal: "SIGKILL"})
	return errors.Join(err, rundir.Discard(l.RunDir))
}

// kill kills a process, if it is alive, and waits until it has exited.
func kill(ctx context.Context, p proc.Process) error {
	err := poll(ctx, 100*time.Millisecond, func() (bool, error) {
		if !p.Alive() {
			return true, nil
		}
		if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return false, err
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("kill process %d: %w", p.PID, err)
	}
	return nil
}

// sweep ends the processes that carry the run's mark.
func sweep(ctx context.Context, run, signal string, grace time.Duration) error {
	done := make(chan error, 1)
	go func() {
		_, err := proc.Sweep(run, grace, signal)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
