package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// startTimeout is how long a container's first process and the guest in it may take
// to start: containers take a quarter of a second, many at once on a small machine
// much longer.
const startTimeout = time.Minute

// checkEvery is how often, while something is awaited, it is looked whether it can
// still come.
const checkEvery = 200 * time.Millisecond

var runForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// begin starts a run in a container that runs, under the guest's program that the
// container has, and returns when its agent has been started.
func (r *Runtime) begin(ctx context.Context, p session.Place, l session.Launch, of owner, program []string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	f, k := r.shared(l.Mark.ID), r.keeper(l.Mark.ID)
	if err := r.up(ctx, p, k); err != nil {
		return err
	}
	if err := r.prepare(f, l, of); err != nil {
		return err
	}
	if err := f.keep(kept{Mark: l.Mark, Container: p.Container, Spec: &l.Spec, Program: program[0]}); err != nil {
		return err
	}
	var held []string
	for _, name := range l.Spec.Secrets {
		if _, given := l.Secrets[name]; !given {
			held = append(held, name)
		}
	}
	if err := k.Begin(ctx, l.RunDir, newSession(p, l, program), l.Secrets, held); err != nil {
		return err
	}
	return r.started(ctx, k, l, program)
}

// newSession returns the tmux commands that create the session.
func newSession(p session.Place, l session.Launch, program []string) []string {
	create := tmuxwire.NewSession(p.Name, tmuxwire.WindowName(l.Mark.Address.Short()), l.Dir, append(slices.Clone(program), l.RunDir)...)
	return tmuxwire.Args(append(tmuxwire.Options(1), create)...) // the init watches
}

// up returns when the container's first process answers.
func (r *Runtime) up(ctx context.Context, p session.Place, k shim.Keeper) error {
	checked := time.Now()
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		version, err := k.Hello(ctx)
		switch {
		case err == nil && version > shim.ProtocolVersion:
			return fmt.Errorf("the first process of its container is of a newer agentform (protocol %d, this one has %d): use that one", version, shim.ProtocolVersion)
		case err == nil:
			return nil
		}
		if time.Since(checked) > checkEvery {
			checked = time.Now()
			i, gone := r.inspect(ctx, p)
			switch {
			case gone != nil:
				return gone
			case !i.State.Running:
				return fmt.Errorf("its container ended at once: %s%s", because(i.State), r.printed(ctx, p))
			}
		}
		if sleep(ctx, wait) != nil {
			return err
		}
	}
}

// prepare writes the run's folder and brings it into the container.
func (r *Runtime) prepare(f folders, l session.Launch, of owner) error {
	if !runForm.MatchString(l.Mark.Run) {
		return fmt.Errorf("invalid run id %.80q", l.Mark.Run)
	}
	spec, err := json.Marshal(l.Spec)
	if err != nil {
		return err
	}
	err = shim.Prepare(l.RunDir, shim.Config{
		Run: l.Mark.Run, Address: string(l.Mark.Address), Dir: l.Dir, Socket: f.guestSocket(),
		Argv: l.Argv, Env: l.Env, Inherit: true, Keeper: filepath.Join(f.sockets, shim.KeeperSocket),
		Signal: l.Stop.Signal, Grace: l.Stop.Grace.D(), Timeout: l.Timeout, Spec: spec,
	}, nil)
	if err != nil {
		return err
	}
	return f.bring(l, of)
}

// started returns when the guest has started the agent, or why it did not.
func (r *Runtime) started(ctx context.Context, k shim.Keeper, l session.Launch, program []string) error {
	checked := time.Now()
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		f := r.facts(l.Mark.ID, l.Mark.Run)
		switch {
		case f.Exit != nil && f.Exit.Cause == shim.CauseFailedStart:
			return errors.New(exitOf(f.Exit).String())
		case f.Agent.PID != 0 || f.Exit != nil:
			return nil // that it may have left since is for the next look
		}
		if time.Since(checked) > checkEvery {
			checked = time.Now()
			if err := r.stillborn(ctx, k, l, program); err != nil {
				return err
			}
		}
		if sleep(ctx, wait) != nil {
			return fmt.Errorf("the guest did not start the agent: %w", ctx.Err())
		}
	}
}

// stillborn is why a guest ended before it could write anything down: it could not be
// started.
func (r *Runtime) stillborn(ctx context.Context, k shim.Keeper, l session.Launch, program []string) error {
	in, err := k.Look(ctx, l.RunDir, pane, tmuxwire.PaneFormat, true)
	if err != nil {
		return err
	}
	shown, err := tmuxwire.ParsePane(in.Row)
	if in.Claimed || err != nil || !shown.Dead {
		return nil
	}
	return fmt.Errorf("the guest %q ended at once: %s", program, tmuxwire.Trim(in.Screen))
}

// detailLimit is how much of what a container says of an exit is told, in runes.
const detailLimit = 500

// exitOf is an exit as a container tells it: its detail is one line.
func exitOf(e *shim.Exit) *session.Exit {
	if e == nil {
		return nil
	}
	detail := strings.Join(strings.Fields(e.Detail), " ")
	if runes := []rune(detail); len(runes) > detailLimit {
		detail = string(runes[:detailLimit]) + "…"
	}
	return &session.Exit{Cause: e.Cause, Code: e.Code, Signal: e.Signal, At: e.At, Ran: session.Duration(e.Ran), Leftovers: e.Leftovers, Detail: detail}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
