package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/session"
)

type target struct {
	project    *project.Project
	reconciler *engine.Engine
	engine.Seen
	runtime session.Runtime
}

func openTarget(ctx context.Context, a *app, typed string) (*target, error) {
	p, s, err := a.openState()
	if err != nil {
		return nil, err
	}
	address, err := resolveOne(addresses(p.Manifest.Sessions, s.Sessions), typed)
	if err != nil {
		return nil, err
	}
	recorded := project.Find(s.Sessions, address)
	if recorded == nil {
		return nil, errNotApplied(address)
	}
	if err := p.Host().Tmux(recorded.Spec); err != nil {
		return nil, err
	}
	r := p.Reconciler(project.ToRead)
	status, err := r.Inspect(ctx, false)
	if err != nil {
		return nil, err
	}
	t := &target{project: p, reconciler: r}
	for _, seen := range status.Sessions {
		if seen.Record.Address == address {
			t.Seen = seen
		}
	}
	if t.Record.ID == "" {
		return nil, fmt.Errorf("%s was just removed from the state", address)
	}
	if t.Diagnosis.State == session.StateUnknown {
		return nil, fmt.Errorf("%s: its state is unknown: %s", address, t.Diagnosis.Detail)
	}
	t.runtime, err = r.For(t.Record.Spec)
	return t, err
}

func errNotApplied(address session.Address) error {
	return fmt.Errorf("%s is in the manifest and has not been applied\nagentform apply --target %s creates it", address, quoted(address))
}

func (t *target) checkRunning() error {
	name := quoted(t.Record.Address)
	switch {
	case t.Diagnosis.Alive != nil && *t.Diagnosis.Alive:
		return nil
	case t.Diagnosis.State == session.StateStopped:
		return fmt.Errorf("%s is stopped (%s)\nagentform start %s starts it", t.Record.Address, t.Diagnosis.Detail, name)
	}
	return fmt.Errorf("%s: %s\nagentform restart %s restarts it", t.Record.Address, t.Diagnosis.Detail, name)
}

// place returns where the session runs, or where it ran last.
func (t *target) place() session.Location {
	if t.Live != nil {
		return t.Live.Location
	}
	return t.Record.Location
}

func (t *target) withRemedy(err error) error {
	var dialog *input.DialogError
	switch {
	case errors.As(err, &dialog):
		return fmt.Errorf("%w\nagentform answer %[2]s ANSWER answers it, agentform attach %[2]s shows it", err, quoted(t.Record.Address))
	case errors.Is(err, session.ErrRefused):
		return fmt.Errorf("%w\nresume it: agentform resume %s", err, quoted(t.Record.Address))
	case errors.Is(err, session.ErrGone):
		return fmt.Errorf("%w\nagentform restart %s restarts it", err, quoted(t.Record.Address))
	}
	return err
}

func (t *target) record(e history.Event) error {
	e.Address, e.ID, e.Run = t.Record.Address, t.Record.ID, t.Record.Run.ID
	return history.Append(t.project.SessionDir(t.Record), e)
}
