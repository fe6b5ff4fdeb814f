// Package target acts on running sessions: it types into them, answers their questions and reads
// their screens.
package target

import (
	"context"
	"errors"
	"fmt"
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

// Target is an observed session that a command acts on.
type Target struct {
	engine.Seen
	Project *project.Project
	Runtime session.Runtime
	Fault   error // why the session cannot be acted on now
}

// Of observes recorded sessions, in the order of their names.
func Of(ctx context.Context, p *project.Project, records []session.Record, named ...session.Address) ([]*Target, error) {
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
	all := make([]*Target, len(named))
	for i, address := range named {
		t := &Target{Project: p}
		all[i] = t
		for _, seen := range status.Sessions {
			if seen.Record.Address == address {
				t.Seen = seen
			}
		}
		switch {
		case t.Record.ID == "":
			t.Record.Address = address
			t.Fault = fmt.Errorf("%s is not in the state any more", address)
		case t.Record.Spent():
			t.Fault = Spent(t.Record)
		case t.Diagnosis.State == session.StateUnknown:
			t.Fault = project.ErrUnknown(p, t.Record, t.Diagnosis)
		default:
			t.Runtime, t.Fault = r.For(t.Record.Spec)
		}
	}
	return all, nil
}

// Spent returns the error for a session of which only its landed work is left.
func Spent(r session.Record) error {
	return fmt.Errorf("%s %s and was removed\nagentform apply --replace %s creates it again", r.Address, r.Landed, Quoted(r.Address))
}

// NotApplied returns the error for a session that is declared but not in the state.
func NotApplied(address session.Address) error {
	return fmt.Errorf("%s is in the manifest and has not been applied\nagentform apply --target %s creates it", address, Quoted(address))
}

// CheckRunning returns nil if the session's agent is known to be alive, or an error with a remedy.
func (t *Target) CheckRunning() error {
	name := Quoted(t.Record.Address)
	switch {
	case t.Fault != nil:
		return t.Fault
	case t.Diagnosis.Alive != nil && *t.Diagnosis.Alive:
		return nil
	case t.Diagnosis.State == session.StateStopped:
		return fmt.Errorf("%s is stopped (%s)\nagentform start %s, or agentform restart %s, starts it again", t.Record.Address, t.Diagnosis.Detail, name, name)
	case t.Diagnosis.State == session.StateUnknown:
		return project.ErrUnknown(t.Project, t.Record, t.Diagnosis)
	case t.Record.Intent == session.Queued:
		how := "the hub starts it in its turn"
		if _, runs := hub.Running(t.Project.Manifest.DataDir); !runs {
			how = "the hub starts it in its turn, and is not running: agentform serve --detach"
		}
		return fmt.Errorf("%s has not started: its start waits\n%s\nagentform start %s starts it now", t.Record.Address, how, name)
	}
	return fmt.Errorf("%s: %s\nagentform restart %s restarts it", t.Record.Address, t.Diagnosis.Detail, name)
}

// Place returns where the session is running, or was running last.
func (t *Target) Place() session.Location {
	if t.Live != nil {
		return t.Live.Location
	}
	return t.Record.Location
}

// WithRemedy adds a remedy to an error of acting on the session.
func (t *Target) WithRemedy(err error) error {
	var dialog *input.DialogError
	switch {
	case errors.As(err, &dialog):
		return fmt.Errorf("%w\nagentform answer %[2]s ANSWER answers it, agentform attach %[2]s shows it", err, Quoted(t.Record.Address))
	case errors.Is(err, session.ErrRefused):
		return fmt.Errorf("%w\n%s", err, t.HowToResume())
	case errors.Is(err, session.ErrGone):
		return fmt.Errorf("%w\nagentform restart %s restarts it", err, Quoted(t.Record.Address))
	}
	return err
}

// HowToResume returns the remedy for a paused session.
func (t *Target) HowToResume() string {
	if t.Record.OverBudget != nil {
		return strings.TrimSpace(remedy.With("", session.Remedy{Code: session.RemedyIgnoreBudget, Address: t.Record.Address}))
	}
	return "to resume it: agentform resume " + Quoted(t.Record.Address)
}

// note adds an event to the history of the session.
func (t *Target) note(e history.Event) error {
	e.Address, e.ID, e.Run = t.Record.Address, t.Record.ID, t.Record.Run.ID
	return history.Append(t.Project.SessionDir(t.Record), e)
}

// Quoted returns an address quoted for a shell: api, 'worker["web"]'.
func Quoted(a session.Address) string { return plaintext.ShellWord(a.Short()) }

// Rests reports whether a session is not running, and not meant to.
func Rests(s session.State) bool {
	return s == session.StateStopped || s == session.StatePending
}

// OfSession adds the address to an error that lacks it.
func OfSession(address session.Address, err error) error {
	if strings.Contains(err.Error(), string(address)) {
		return err
	}
	return fmt.Errorf("%s: %w", address, err)
}

// Running returns the targets, except those that are not running because they were stopped, are
// done or were not started yet, which are returned as resting.
func Running(all []*Target) (running []*Target, resting []session.Address) {
	for _, t := range all {
		if Rests(t.Diagnosis.State) {
			resting = append(resting, t.Record.Address)
		} else {
			running = append(running, t)
		}
	}
	return running, resting
}
