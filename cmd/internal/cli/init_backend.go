package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/backends"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// backendOptions are the flags of init for a project that has a manifest.
type backendOptions struct {
	migrate, reconfigure, force bool
	config                      []string
}

func (o *backendOptions) register(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&o.migrate, "migrate-state", false, "move the state to where the manifest now says")
	f.BoolVar(&o.reconfigure, "reconfigure", false, "use what is where the manifest now says, and leave the state of before")
	f.BoolVar(&o.force, "force-copy", false, "with --migrate-state: do not ask; with --reconfigure: use also a state that was moved elsewhere")
	f.StringArrayVar(&o.config, "backend-config", nil, "a setting of the backend, `NAME=VALUE` (repeatable)")
	c.MarkFlagsMutuallyExclusive("migrate-state", "reconfigure")
}

// set reports whether any flag was given.
func (o backendOptions) set() bool {
	return o.migrate || o.reconfigure || o.force || len(o.config) > 0
}

// initBackend connects the project with the backend of its manifest. done is false if this
// does not concern a backend.
func initBackend(ctx context.Context, a *app, o backendOptions) (done bool, err error) {
	if checkNoManifest(a.Dir, "") == nil && len(a.Files) == 0 {
		return false, nil
	}
	p := a.Open()
	mark, err := sharedstate.ReadMark(p.State)
	if err != nil {
		return true, err
	}
	if len(p.Manifest.Files) == 0 || !p.Stored.Shared() && mark.Backend == "" && !o.set() {
		return false, nil
	}
	a.Warn(p.Problems)
	if session.HasErrors(p.Problems) {
		return true, exit.Error
	}
	m := sharedstate.Migration{Path: p.State, Who: p.Who(), Wait: p.LockTimeout, Waiting: p.Waiting, Owner: p.Owner(), Anyway: o.force}
	m.Open = func(ctx context.Context) (*state.Store, error) {
		return p.Stored.OpenFile(ctx, sharedstate.Opening{Who: m.Who, Wait: m.Wait})
	}
	if err := p.Check(state.State{}); err != nil {
		return true, err
	}
	if err := layout.MakeDataDir(p.Manifest.DataDir); err != nil {
		return true, err
	}
	if p.Stored.Shared() {
		given := mark.Place.Given
		if len(o.config) > 0 {
			if given, err = backends.Parse(p.Manifest.Backend.Kind, o.config); err != nil {
				return true, exit.Usage(a.Command, err)
			}
		}
		if m.To, err = p.Stored.CopyIn(given); err != nil {
			return true, err
		}
	} else if len(o.config) > 0 {
		return true, exit.Usage(a.Command, errors.New("--backend-config: the manifest has no backend block"))
	}
	return true, useBackend(ctx, a, p, m, mark, o)
}

func useBackend(ctx context.Context, a *app, p *project.Project, m sharedstate.Migration, mark sharedstate.Mark, o backendOptions) error {
	to := ""
	if m.To != nil {
		to = m.To.Name
	}
	serial, err := state.Serial(p.State)
	if err != nil {
		return err
	}
	switch {
	case o.reconfigure:
		moved, err := m.Reconfigure(ctx)
		return reportBackend(a, to, moved, err)
	case to == mark.Backend, mark.Backend == "" && serial == 0:
		if m.To == nil {
			return errors.New("the state is on this machine alone, as the manifest says: nothing to do")
		}
		if err := m.To.Connect(ctx); err != nil {
			return err
		}
		sessions, err := p.Stored.Sessions()
		return reportBackend(a, to, sharedstate.Moved{Sessions: sessions}, err)
	case !o.migrate && m.To == nil:
		return &sharedstate.MovedError{From: mark.Backend}
	case !o.migrate:
		return m.To.Pull(ctx) // which says so
	}
	if m.From, err = p.Stored.Previous(); err != nil {
		return err
	}
	m.Agree = func(from, there state.State) error {
		if o.force {
			return nil
		}
		question := fmt.Sprintf("Copy the state (%s) to %s?", plaintext.Count(len(from.Sessions), "session"), place(to))
		if there.Serial > 0 {
			question = fmt.Sprintf("There is a state in %s: %s, serial %d. Replace it with this one: %s, serial %d?", place(to),
				plaintext.Count(len(there.Sessions), "session"), there.Serial, plaintext.Count(len(from.Sessions), "session"), from.Serial)
		}
		return a.Confirm(question, a.Command+" --migrate-state --force-copy")
	}
	moved, err := m.Run(ctx)
	return reportBackend(a, to, moved, err)
}

func place(backend string) string {
	if backend == "" {
		return "the state file of this machine"
	}
	return backend
}

func reportBackend(a *app, to string, moved sharedstate.Moved, err error) error {
	if err != nil {
		return err
	}
	how := "The state is in"
	if moved.Copied {
		how = "The state is now in"
	}
	fmt.Fprintf(a.Out, "%s %s: %s.\n", how, place(to), plaintext.Count(moved.Sessions, "session"))
	if moved.LeftOut > 0 {
		fmt.Fprintf(a.Err, "left out: the records of %s on other machines\n", plaintext.Count(moved.LeftOut, "session"))
	}
	for _, b := range moved.Backups {
		fmt.Fprintf(a.Err, "Backup: %s\n", b)
	}
	return nil
}
