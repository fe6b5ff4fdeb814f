// Package connect connects a project with the backend of its manifest.
package connect

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentform/agentform/cmd/internal/backends"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Options select how a project is connected.
type Options struct {
	Migrate     bool     // move the state to the place in the manifest
	Reconfigure bool     // use the state at the place in the manifest, and leave the previous one
	Force       bool     // do not ask; also use a state that was moved elsewhere
	Config      []string // settings of the backend, NAME=VALUE
}

// Set reports whether an option is set.
func (o Options) Set() bool { return o.Migrate || o.Reconfigure || o.Force || len(o.Config) > 0 }

// Connection is a project to be connected.
type Connection struct {
	Options
	project   *project.Project
	migration sharedstate.Migration
	mark      sharedstate.Mark
}

// SettingError is an invalid setting of the backend.
type SettingError struct{ error }

// Of returns the connection of a project; nil: the project has no backend, and had none.
func Of(p *project.Project, o Options) (*Connection, error) {
	mark, err := sharedstate.ReadMark(p.State)
	if err != nil {
		return nil, err
	}
	if len(p.Manifest.Files) == 0 || !p.Stored.Shared() && mark.Backend == "" && !o.Set() {
		return nil, nil
	}
	return &Connection{Options: o, project: p, mark: mark}, nil
}

// Faulty reports whether the manifest has errors.
func (x *Connection) Faulty() bool { return session.HasErrors(x.project.Problems) }

// Done is the outcome for the state.
type Done struct {
	sharedstate.Moved
	Place string // where the state is
}

// Use connects the project. agree asks before a state is written.
func (x *Connection) Use(ctx context.Context, agree func(question string) error) (Done, error) {
	if err := x.prepare(); err != nil {
		return Done{}, err
	}
	m, p, to := x.migration, x.project, ""
	if m.To != nil {
		to = m.To.Name
	}
	done := Done{Place: place(to)}
	serial, err := state.Serial(p.State)
	if err != nil {
		return done, err
	}
	switch {
	case x.Reconfigure:
		done.Moved, err = m.Reconfigure(ctx)
		return done, err
	case to == x.mark.Backend, x.mark.Backend == "" && serial == 0:
		if m.To == nil {
			return done, errors.New("the state is on this machine alone, as the manifest says: nothing to do")
		}
		if err := m.To.Connect(ctx); err != nil {
			return done, err
		}
		done.Sessions, err = p.Stored.Sessions()
		return done, err
	case !x.Migrate && m.To == nil:
		return done, &sharedstate.MovedError{From: x.mark.Backend}
	case !x.Migrate:
		return done, m.To.Pull(ctx) // which says so
	}
	if m.From, err = p.Stored.Previous(); err != nil {
		return done, err
	}
	m.Agree = func(from, there state.State) error {
		if x.Force {
			return nil
		}
		question := fmt.Sprintf("Copy the state (%s) to %s?", plaintext.Count(len(from.Sessions), "session"), done.Place)
		if there.Serial > 0 {
			question = fmt.Sprintf("There is a state in %s: %s, serial %d. Replace it with this one: %s, serial %d?", done.Place,
				plaintext.Count(len(there.Sessions), "session"), there.Serial, plaintext.Count(len(from.Sessions), "session"), from.Serial)
		}
		return agree(question)
	}
	done.Moved, err = m.Run(ctx)
	return done, err
}

func (x *Connection) prepare() error {
	p := x.project
	m := sharedstate.Migration{Path: p.State, Who: p.Who(), Wait: p.LockTimeout, Waiting: p.Waiting, Owner: p.Owner(), Anyway: x.Force}
	m.Open = func(ctx context.Context) (*state.Store, error) {
		return p.Stored.OpenFile(ctx, sharedstate.Opening{Who: m.Who, Wait: m.Wait})
	}
	if err := p.Check(state.State{}); err != nil {
		return err
	}
	if err := layout.MakeDataDir(p.Manifest.DataDir); err != nil {
		return err
	}
	if p.Stored.Shared() {
		given := x.mark.Place.Given
		var err error
		if len(x.Config) > 0 {
			if given, err = backends.Parse(p.Manifest.Backend.Kind, x.Config); err != nil {
				return SettingError{err}
			}
		}
		if m.To, err = p.Stored.CopyIn(given); err != nil {
			return err
		}
	} else if len(x.Config) > 0 {
		return SettingError{errors.New("--backend-config: the manifest has no backend block")}
	}
	x.migration = m
	return nil
}

func place(backend string) string {
	if backend == "" {
		return "the state file of this machine"
	}
	return backend
}
