package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/owner"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/projectdir"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// project is the folder that agentform works for: its manifest, as far as it
// can be read, and where its state is.
type project struct {
	manifest *config.Manifest // never nil; without sessions when problems has an error
	problems []session.Diagnostic
	state    string   // the state file's path
	secrets  *secrets // see secretsOf

	workspaces func(session.Spec) string // see workspace
	owner      func() session.Owner      // see here
	repairing  bool                      // that the project was moved is being repaired, and not refused
}

// open reads the project's manifest, once. Its problems are the caller's to
// judge: what is live can be looked at and stopped without a manifest.
func (a *app) open() *project {
	if a.opened != nil {
		return a.opened
	}
	began := time.Now()
	a.enterProject()
	p := &project{}
	place := func(m *config.Manifest) {
		p.manifest, p.state = m, filepath.Join(m.DataDir, "state.json")
		p.owner = sync.OnceValue(func() session.Owner { return owner.Here(m.Root, m.DataDir, "") })
		if a.globals.stateFile != "" {
			p.state = a.absolute(a.globals.stateFile)
		}
	}
	m, problems := config.Load(config.Options{
		Dir: a.env.Dir, Files: a.globals.files, Vars: a.globals.vars, Environ: a.env.Environ,
		Builtins: agent.Builtins(), Version: a.env.Version,
		Workspace: func(m *config.Manifest, s session.Spec) string {
			place(m)
			return p.workspace(m, s)
		},
	})
	place(m)
	p.problems = problems
	a.log.Debug("read the manifest", "files", strings.Join(m.Files, " "), "sessions", len(m.Sessions), "data_dir", m.DataDir, "took", time.Since(began))
	a.opened = p
	if a.found.Workspace {
		whose := "a workspace"
		if a.found.Session != "" {
			whose = "the workspace of " + string(a.found.Session)
		}
		fmt.Fprintf(a.env.Stderr, "This directory is in %s. Using its project: %s (%s)\n", whose, plaintext.Safe(m.Project), plaintext.Safe(a.found.Dir))
	}
	return p
}

// enterProject makes the directory of the project the current one. With --file it is
// the one that agentform was started in.
func (a *app) enterProject() {
	if len(a.globals.files) > 0 {
		return
	}
	a.found = projectdir.Find(a.env.Dir)
	if a.found.Dir == a.env.Dir {
		return
	}
	a.env.Dir = a.found.Dir
	for i, v := range a.globals.vars {
		if v.File != "" {
			a.globals.vars[i].File = a.absolute(v.File)
		}
	}
}

// errInWorkspace returns the error of a command that changes a whole project and was
// started in one of its workspaces, as an agent would; nil elsewhere.
func (a *app) errInWorkspace() error {
	a.open()
	if !a.found.Workspace {
		return nil
	}
	return fmt.Errorf("%s changes the whole project and was started in one of its workspaces\nto do it anyway: agentform -C %s %s",
		a.command, plaintext.ShellWord(a.found.Dir), strings.TrimPrefix(a.command, "agentform "))
}

// workspace is the folder in which a session of the manifest works, by what is on
// record. A state that cannot be read says nothing here; the commands that need it
// tell why.
func (p *project) workspace(m *config.Manifest, w session.Spec) string {
	if p.workspaces == nil {
		s, _ := state.Read(p.state)
		moves := make([]plan.Move, len(m.Moves))
		for i, x := range m.Moves {
			moves[i] = plan.Move{From: x.From, To: x.To}
		}
		p.workspaces = plan.WorkspacePaths(s.Sessions, moves)
	}
	return p.workspaces(w)
}

// wanted opens the project for a command that cannot do without its manifest:
// everything that is wrong with that is told at once, and warnings besides.
func (a *app) wanted() (*project, error) {
	p := a.open()
	if len(p.problems) > 0 && !a.document {
		if err := view.Diagnostics(a.env.Stderr, a.err(), p.problems); err != nil {
			return nil, err
		}
	}
	if session.HasErrors(p.problems) {
		return nil, outcome(exitError)
	}
	return p, nil
}

// recorded opens the project for a command that works on what is on record. It
// needs no manifest, unless there is no state either: then what is wrong with
// the manifest is the answer.
func (a *app) recorded() (*project, state.State, error) {
	p := a.open()
	s, err := state.Read(p.state)
	if errors.Is(err, state.ErrNone) {
		if _, err = a.wanted(); err != nil {
			return nil, s, err
		}
	}
	if err == nil {
		err = p.check(s)
	}
	return p, s, err
}

// keepSockets writes down which sockets the project has, and that they are its own.
func (p *project) keepSockets(dir string) error {
	if err := shim.KeepSocketDir(p.manifest.DataDir, dir); err != nil {
		return err
	}
	return owner.Keep(dir, p.here(), p.manifest.Project)
}

// here returns the owner of what this command starts.
func (p *project) here() session.Owner { return p.owner() }

// check refuses a state that may not be used from here.
func (p *project) check(s state.State) error {
	err := owner.Check(p.here(), p.manifest.Project, s)
	if p.repairing && wasMoved(err, true) {
		return nil
	}
	return err
}

// wasMoved reports whether a state is refused because its project was moved here.
// somebodySaysSo decides where it may as well be a copy.
func wasMoved(err error, somebodySaysSo bool) bool {
	copied := (*state.CopiedError)(nil)
	if errors.As(err, &copied) {
		return copied.Gone && somebodySaysSo
	}
	moved := (*owner.MovedError)(nil)
	return errors.As(err, &moved)
}

// addresses is every session that is wanted or on record, each once, in order.
func addresses(specs []session.Spec, records []session.Record) []session.Address {
	var all []session.Address
	for _, s := range specs {
		all = append(all, s.Address)
	}
	for _, r := range records {
		all = append(all, r.Address)
	}
	slices.SortFunc(all, session.Address.Compare)
	return slices.Compact(all)
}

// find is the record of a session; nil: there is none.
func find(records []session.Record, a session.Address) *session.Record {
	for i := range records {
		if records[i].Address == a {
			return &records[i]
		}
	}
	return nil
}
