package docker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/shim/reported"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

const (
	// startTimeout bounds the start of a container's init and shim, which takes a quarter of a
	// second, or much longer if a small machine starts many.
	startTimeout = time.Minute
	// checkInterval is how often a wait checks whether it can still succeed.
	checkInterval = 200 * time.Millisecond
)

// start is the start of one run in a running container.
type start struct {
	engine  engine
	dirs    dirs
	launch  session.Launch
	program []string // the shim's, as mounted in the container
	config  Config
}

// runDir returns the directory of the run, as the container sees it.
func (s start) runDir() string {
	if s.dirs.dial == nil {
		return s.launch.RunDir
	}
	return rootOf(s.launch.Dir).Run(s.launch.Mark.Run)
}

func (s start) run(ctx context.Context, p session.Location, of git.Owner) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	l, init := s.launch, s.dirs.init()
	if err := s.awaitInit(ctx, init, p); err != nil {
		return err
	}
	config, args, held, err := contained.Start(l, p.Name, s.dirs.sockets, append(slices.Clone(s.program), s.runDir())...)
	if err == nil {
		err = rundir.Prepare(l.RunDir, config, nil)
	}
	if err == nil {
		err = s.dirs.moveIn(l, of)
	}
	if err != nil {
		return err
	}
	k := record{Mark: l.Mark, Container: p.Container, Spec: &l.Spec, Program: s.program[0]}
	if s.dirs.dial != nil {
		k.Elsewhere, k.Dir = true, l.Dir
		if err := s.config.equip(ctx, s.engine, p.Container, l.Dir, of, "", filepath.Join(s.dirs.runs, l.Mark.Run), l.Mark.Run); err != nil {
			return err
		}
	}
	if err := s.dirs.save(k); err != nil {
		return err
	}
	if err := init.Begin(ctx, s.runDir(), args, l.Secrets, held); err != nil {
		return err
	}
	return s.awaitAgent(ctx, init)
}

func (s start) awaitInit(ctx context.Context, init initClient, p session.Location) error {
	var silent error
	err := await(ctx, func() (bool, error) {
		version, err := init.Hello(ctx)
		if err == nil && version > rundir.Version {
			return false, fmt.Errorf("the init of its container is from a newer agentform (protocol %d, this one has %d): use that version", version, rundir.Version)
		}
		silent = err
		return err == nil, nil
	}, func() error {
		i, err := inspect(ctx, s.engine, p.Container)
		if err == nil && !i.State.Running {
			err = fmt.Errorf("its container exited immediately: %s%s", stopReason(i.State), printed(ctx, s.engine, p.Container))
		}
		return err
	})
	if err != nil && ctx.Err() != nil && silent != nil {
		return silent
	}
	return err
}

func (s start) awaitAgent(ctx context.Context, init initClient) error {
	err := await(ctx, func() (bool, error) {
		if init.Dial != nil { // it copies the files
			if _, err := init.Look(ctx, s.runDir(), "", "", false); err != nil {
				return false, nil // until startTimeout
			}
		}
		f := s.dirs.facts(s.launch.Mark.Run)
		if f.Exit != nil && f.Exit.Cause == rundir.CauseFailedStart {
			return false, errors.New(reported.ClaimedExit(f.Exit).String())
		}
		return f.Agent.PID != 0 || f.Exit != nil, nil // the next Observe reports an exit
	}, func() error {
		in, err := init.Look(ctx, s.runDir(), contained.Pane, tmuxwire.PaneFormat, true)
		if errors.Is(err, context.DeadlineExceeded) { // the machine may be busy: startTimeout is the limit
			return nil
		}
		if err != nil {
			return err
		}
		// A shim that failed to start has written nothing.
		shown, err := tmuxwire.ParsePane(in.Row)
		if in.Claimed || err != nil || !shown.Dead {
			return nil
		}
		return fmt.Errorf("the shim %q exited immediately: %s", s.program, tmuxwire.Trim(in.Screen))
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("the shim did not start the agent: %w", err)
	}
	return err
}

// await calls done until it returns true or an error, and calls check from time to time.
func await(ctx context.Context, done func() (bool, error), check func() error) error {
	checked := time.Now()
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if time.Since(checked) > checkInterval {
			checked = time.Now()
			if err := check(); err != nil {
				return err
			}
		}
		if !sleep.For(ctx, wait) {
			return ctx.Err()
		}
	}
}
