package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/remedy"
	"github.com/agentform/agentform/session"
)

type target struct {
	project    *project.Project
	reconciler *engine.Engine
	engine.Seen
	runtime session.Runtime
	fault   error // why nothing can be done with the session now
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
	if project.Find(s.Sessions, address) == nil {
		return nil, errNotApplied(address)
	}
	targets, err := targetsOf(ctx, p, s.Sessions, address)
	if err != nil {
		return nil, err
	}
	return targets[0], targets[0].fault
}

// openTargets opens the sessions of a command. Of those that flags choose, the ones that do
// not run because they were stopped, are done or were not started yet are left out, and named.
func openTargets(ctx context.Context, a *app, s *sessionArgs) ([]*target, error) {
	p, st, named, err := s.open(a)
	if err != nil {
		return nil, err
	}
	targets, err := targetsOf(ctx, p, st.Sessions, named...)
	if err != nil {
		return nil, err
	}
	if !s.byFlag() {
		return targets, nil
	}
	var resting []session.Address
	targets = slices.DeleteFunc(targets, func(t *target) bool {
		if rests(t.Diagnosis.State) {
			resting = append(resting, t.Record.Address)
		}
		return rests(t.Diagnosis.State)
	})
	reportLeftOut(a, resting)
	return targets, nil
}

// rests reports whether a session does not run, and is not meant to.
func rests(s session.State) bool {
	return s == session.StateStopped || s == session.StatePending
}

// reportLeftOut names chosen sessions that do not run.
func reportLeftOut(a *app, resting []session.Address) {
	if len(resting) == 0 {
		return
	}
	const most = 5
	var names []string
	for _, address := range resting[:min(most, len(resting))] {
		names = append(names, string(address))
	}
	more := ""
	if n := len(resting) - most; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	fmt.Fprintf(a.env.Stderr, "Not running, left out: %s%s\n", plaintext.OneLine(strings.Join(names, ", ")), more)
}

// targetsOf observes recorded sessions, in the order of their names.
func targetsOf(ctx context.Context, p *project.Project, records []session.Record, named ...session.Address) ([]*target, error) {
	if len(named) == 0 {
		return nil, nil
	}
	specs := make([]session.Spec, len(named))
	for i, address := range named {
		specs[i] = project.Find(records, address).Spec
	}
	if err := p.Host().Tmux(specs...); err != nil {
		return nil, err
	}
	r := p.Reconciler(project.ToRead)
	status, err := r.Inspect(ctx, false)
	if err != nil {
		return nil, err
	}
	all := make([]*target, len(named))
	for i, address := range named {
		t := &target{project: p, reconciler: r}
		all[i] = t
		for _, seen := range status.Sessions {
			if seen.Record.Address == address {
				t.Seen = seen
			}
		}
		switch {
		case t.Record.ID == "":
			t.Record.Address = address
			t.fault = fmt.Errorf("%s is not in the state any more", address)
		case t.Record.Spent():
			t.fault = errSpent(t.Record)
		case t.Diagnosis.State == session.StateUnknown:
			t.fault = project.ErrUnknown(p, t.Record, t.Diagnosis)
		default:
			t.runtime, t.fault = r.For(t.Record.Spec)
		}
	}
	return all, nil
}

// ofSession adds the address to an error that does not name it.
func ofSession(address session.Address, err error) error {
	if strings.Contains(err.Error(), string(address)) {
		return err
	}
	return fmt.Errorf("%s: %w", address, err)
}

// errSpent reports that nothing is left of a session but that its work was landed.
func errSpent(r session.Record) error {
	return fmt.Errorf("%s %s and was removed\nagentform apply --replace %s creates it again", r.Address, r.Landed, quoted(r.Address))
}

func errNotApplied(address session.Address) error {
	return fmt.Errorf("%s is in the manifest and has not been applied\nagentform apply --target %s creates it", address, quoted(address))
}

func (t *target) checkRunning() error {
	name := quoted(t.Record.Address)
	switch {
	case t.fault != nil:
		return t.fault
	case t.Diagnosis.Alive != nil && *t.Diagnosis.Alive:
		return nil
	case t.Diagnosis.State == session.StateStopped:
		return fmt.Errorf("%s is stopped (%s)\nagentform start %s, or agentform restart %s, starts it again", t.Record.Address, t.Diagnosis.Detail, name, name)
	case t.Diagnosis.State == session.StateUnknown:
		return project.ErrUnknown(t.project, t.Record, t.Diagnosis)
	case t.Record.Intent == session.Queued:
		how := "the hub starts it in its turn"
		if _, runs := hub.Running(t.project.Manifest.DataDir); !runs {
			how = "the hub starts it in its turn, and is not running: agentform serve --detach"
		}
		return fmt.Errorf("%s has not started: its start waits\n%s\nagentform start %s starts it now", t.Record.Address, how, name)
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
		return fmt.Errorf("%w\n%s", err, t.howToResume())
	case errors.Is(err, session.ErrGone):
		return fmt.Errorf("%w\nagentform restart %s restarts it", err, quoted(t.Record.Address))
	}
	return err
}

// howToResume tells what to do about a session that is paused.
func (t *target) howToResume() string {
	if t.Record.OverBudget != nil {
		return strings.TrimSpace(remedy.With("", session.Remedy{Code: session.RemedyIgnoreBudget, Address: t.Record.Address}))
	}
	return "to resume it: agentform resume " + quoted(t.Record.Address)
}

func (t *target) record(e history.Event) error {
	e.Address, e.ID, e.Run = t.Record.Address, t.Record.ID, t.Record.Run.ID
	return history.Append(t.project.SessionDir(t.Record), e)
}
