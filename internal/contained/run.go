package contained

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/filecopy"
	"github.com/agentform/agentform/internal/shim/reported"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// ShimSocket returns the socket of a place's shim, in the directory of its init's.
func ShimSocket(sockets string) string { return filepath.Join(sockets, "g") }

// Start returns the configuration of a launch's shim, the arguments of the tmux command that starts
// the shim in a session of that name, and the names of the secrets to reuse from an earlier run.
// sockets is the directory of the init's socket.
func Start(l session.Launch, name, sockets string, command ...string) (c rundir.Config, args, held []string, err error) {
	spec, err := json.Marshal(l.Spec)
	for _, secret := range l.Spec.Secrets {
		if _, given := l.Secrets[secret]; !given {
			held = append(held, secret)
		}
	}
	create := tmuxwire.NewSession(name, tmuxwire.WindowName(l.Mark.Address.Short()), l.Dir, command...)
	return rundir.Config{
		Run: l.Mark.Run, Address: string(l.Mark.Address), Dir: l.Dir, Socket: ShimSocket(sockets),
		Argv: l.Argv, Env: l.Env, Inherit: true, Init: filepath.Join(sockets, shim.InitSocket),
		Signal: l.Stop.Signal, Grace: l.Stop.Grace.D(), Timeout: l.Timeout, Spec: spec, SessionFolders: l.SessionFolders,
	}, tmuxwire.Args(append(tmuxwire.Options(1), create)...), held, err // the init watches
}

// KillAfter returns how many seconds after a stop an engine kills a place: the agent's grace, and
// ten seconds for the init to end remaining processes.
func KillAfter(s session.Stop) int { return int(math.Ceil(s.Grace.D().Seconds())) + 10 }

// Inspect requests the status of a run from an init, and updates this machine's copies: the run's
// files, if it has a directory in runs, and its agent's session files, if the request includes
// them.
func Inspect(q shim.InitRequest, runs, copies string, ask func(shim.InitRequest) (shim.InitReply, error)) (r shim.InitReply, err error) {
	run := filepath.Base(q.RunDir)
	once := func(known []filecopy.File) ([]filecopy.File, bool, error) {
		q.Copies, q.Signals = known, rundir.SignalsSize(filepath.Join(runs, run))
		if r, err = ask(q); err == nil && r.Files != nil {
			err = Keep(runs, run, *r.Files)
		}
		return r.Copies, r.More, err
	}
	if q.Copy {
		err = filecopy.Pull(copies, once)
	} else {
		_, _, err = once(nil)
	}
	return r, err
}

// Keep writes the files of a run to its directory in runs. A run that was pruned has none.
func Keep(runs, run string, files rundir.Files) error {
	dir := filepath.Join(runs, run)
	if info, err := os.Lstat(dir); !proc.ValidRun(run) || err != nil || !info.IsDir() {
		return nil
	}
	return rundir.WriteFiles(dir, files)
}

// Pause detaches clients and disables input. With session.Freeze it also freezes the agent and
// its children.
func (s *Sessions) Pause(ctx context.Context, p session.Location, run, mode string) (err error) {
	defer Annotate(&err, "pause", p.Name)
	if mode != session.Detach && mode != session.Freeze {
		return fmt.Errorf("unknown mode %q", mode)
	}
	at, _, err := s.holding(ctx, p, run)
	if err != nil {
		return err
	}
	if at.Unpause != nil { // paused as a whole, not by agentform
		return at.SetPaused(ctx, mode)
	}
	if mode == session.Freeze && at.Freeze == nil {
		if err := at.AskShim(ctx, run, (*shim.Client).Pause); err != nil {
			return err
		}
	}
	if _, err := at.tmux(ctx, "", tmuxwire.DisableInput(at.Pane)); err != nil {
		return err
	}
	_, _ = at.tmux(ctx, "", tmuxwire.Command{"detach-client", "-s", at.Pane}) // fails if nobody is attached
	if mode == session.Freeze && at.Freeze != nil {
		if err := at.Freeze(ctx); err != nil {
			return err
		}
	}
	return at.SetPaused(ctx, mode)
}

// Resume undoes any pause, including that of the whole place by another program.
func (s *Sessions) Resume(ctx context.Context, p session.Location, run string) (err error) {
	defer Annotate(&err, "resume", p.Name)
	at, paused, err := s.holding(ctx, p, run)
	if err == nil && at.Unpause != nil {
		err = at.Unpause(ctx)
	}
	if err != nil {
		return err
	}
	if at.Freeze == nil {
		// Whatever is recorded: resuming what is not frozen is not an error.
		if err := at.AskShim(ctx, run, (*shim.Client).Resume); err != nil && paused == session.Freeze {
			return err
		}
	}
	if _, err := at.tmux(ctx, "", tmuxwire.EnableInput(at.Pane)); err != nil {
		return err
	}
	return at.SetPaused(ctx, "")
}

// SetTimeout changes the timeout of a run.
func (s *Sessions) SetTimeout(ctx context.Context, p session.Location, run string, timeout time.Duration) (err error) {
	defer Annotate(&err, "set the timeout of", p.Name)
	at, _, err := s.holding(ctx, p, run)
	if err != nil {
		return err
	}
	return at.AskShim(ctx, run, func(c *shim.Client, ctx context.Context) error { return c.Set(ctx, shim.Settings{Timeout: &timeout}) })
}

// Probe runs a command next to the agent, in its place, for at most the timeout, and returns why
// the command failed, or nothing. The error is session.ErrUnprobeable if no shim answers.
func (s *Sessions) Probe(ctx context.Context, p session.Location, run string, argv []string, timeout time.Duration) (failed string, err error) {
	err = s.askShim(ctx, p, run, func(c *shim.Client, ctx context.Context) error {
		done, err := c.Probe(ctx, shim.Probe{Argv: argv, Timeout: timeout})
		failed = done.Failure(timeout)
		return err
	})
	return failed, err
}

// Verify runs a command next to the agent, in its place, for as long as it takes. The error is
// session.ErrUnprobeable if no shim answers, or one refuses.
func (s *Sessions) Verify(ctx context.Context, p session.Location, run string, argv []string, timeout time.Duration) (v session.Verification, err error) {
	err = s.askShim(ctx, p, run, func(c *shim.Client, ctx context.Context) error {
		done, err := c.Verify(ctx, shim.Probe{Argv: argv, Timeout: timeout})
		v = reported.Verification(done, timeout)
		return err
	})
	return v, err
}

// Unread returns how many bytes of its input the agent has not read. The error is
// session.ErrUnprobeable if no shim answers.
func (s *Sessions) Unread(ctx context.Context, p session.Location, run string) (n int, err error) {
	err = s.askShim(ctx, p, run, func(c *shim.Client, ctx context.Context) (err error) {
		n, err = c.Unread(ctx)
		return err
	})
	return n, err
}

// askShim sends a request to the shim of a run. The error is session.ErrUnprobeable if the shim
// does not answer, or refuses.
func (s *Sessions) askShim(ctx context.Context, p session.Location, run string, do func(*shim.Client, context.Context) error) error {
	at, err := s.Running(ctx, p)
	if err == nil {
		err = at.AskShim(ctx, run, do)
	}
	if _, refused := errors.AsType[*shim.Error](err); refused || errors.Is(err, session.ErrGone) || errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: %w", session.ErrUnprobeable, err)
	}
	return err
}
