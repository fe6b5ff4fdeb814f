// Package opener opens the project of a command line: its manifest and its state, as far as the
// command needs them.
package opener

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/projectdir"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Opener opens the project of one command, once.
type Opener struct {
	*streams.Streams
	Dir         string // --chdir; once open, the project's directory
	TypedIn     string // the base of relative paths on the command line
	Files       []string
	Vars        []config.Var
	StateFile   string
	Parallelism int
	LockTimeout time.Duration
	Version     string           // of agentform
	Runtimes    project.Runtimes // nil: tmux, Docker and Kubernetes
	Command     string           // "agentform apply"
	Context     context.Context  // of the command, for Pull
	Document    bool             // the command's JSON reports the manifest's problems
	LogLevel    string
	Log         *slog.Logger

	found   projectdir.Found
	told    bool             // the project used in a workspace was reported
	options *project.Options // see Options
	opened  *project.Project // see Open
	pulled  *error           // see Pull; nil: not yet
}

// Close closes the project.
func (o *Opener) Close() {
	if o.opened != nil {
		o.opened.Close()
	}
}

// Opened returns the project if it is open.
func (o *Opener) Opened() *project.Project { return o.opened }

// Absolute returns a path of the command line.
func (o *Opener) Absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(o.TypedIn, path)
}

// Anew returns an opener for the same command line that opens the project again.
func (o *Opener) Anew(s *streams.Streams) *Opener {
	other := *o
	other.Streams, other.found, other.told, other.options, other.opened, other.pulled = s, projectdir.Found{}, false, nil, nil, nil
	return &other
}

// Relative returns a path relative to the project if it is in it.
func (o *Opener) Relative(path string) string {
	if rel, err := filepath.Rel(o.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// Open opens the project, once: without --file the one that contains the directory.
func (o *Opener) Open() *project.Project {
	if o.opened == nil {
		o.opened = project.Open(o.Options())
		o.tellWorkspace(o.opened)
	}
	return o.opened
}

// Options returns the options for opening the project. It finds the project, once.
func (o *Opener) Options() project.Options {
	if o.options != nil {
		return *o.options
	}
	stateFile := o.StateFile
	if len(o.Files) == 0 {
		if o.found = projectdir.Find(o.Dir); o.found.Dir != o.Dir {
			o.Dir = o.found.Dir
			for i, v := range o.Vars {
				if v.File != "" {
					o.Vars[i].File = o.Absolute(v.File)
				}
			}
		}
	}
	if stateFile != "" {
		stateFile = o.Absolute(stateFile)
	}
	o.options = &project.Options{
		Dir: o.Dir, Files: o.Files, Vars: o.Vars, StateFile: stateFile, Environ: o.Environ, Version: o.Version,
		Command: o.Command, Parallelism: o.Parallelism, LockTimeout: o.LockTimeout, Log: o.Log,
		Runtimes: o.Runtimes, Waiting: o.waiting(), Slow: o.slow(),
	}
	return *o.options
}

// tellWorkspace reports the project in use inside a workspace.
func (o *Opener) tellWorkspace(p *project.Project) {
	if o.found.Workspace && !o.told {
		o.told = true
		whose := "a workspace"
		if o.found.Session != "" {
			whose = "the workspace of " + string(o.found.Session)
		}
		fmt.Fprintf(o.Err, "This directory is in %s. Using its project: %s (%s)\n", whose, plaintext.Safe(p.Manifest.Project), plaintext.Safe(o.found.Dir))
	}
}

// Recorded is State, but if each typed word is the address of a recorded session it evaluates only
// the state's place in the manifest.
func (o *Opener) Recorded(typed []string) (*project.Project, state.State, error) {
	if o.opened != nil || len(typed) == 0 {
		return o.State()
	}
	options := o.Options()
	options.SettingsOnly = true
	p := project.Open(options)
	s, err := state.ReadNamed(p.State, typed...)
	if err == nil {
		err = o.Pull(p)
	}
	unknown := func(word string) bool {
		return !slices.ContainsFunc(s.Sessions, func(r session.Record) bool { return word == string(r.Address) || word == r.Address.Short() })
	}
	if err != nil || slices.ContainsFunc(typed, unknown) || p.Check(s) != nil {
		return o.State()
	}
	o.tellWorkspace(p)
	return p, s, nil
}

// Manifest opens the project. It prints the manifest's problems, and fails on errors.
func (o *Opener) Manifest() (*project.Project, error) {
	p := o.Open()
	if !o.Document {
		o.Warn(p.Problems)
	}
	if session.HasErrors(p.Problems) {
		return nil, exit.Error
	}
	return p, o.Pull(p)
}

// State opens the project and reads the state. Without one, the manifest's errors are the error.
func (o *Opener) State() (*project.Project, state.State, error) {
	p := o.Open()
	if err := o.Pull(p); err != nil {
		return nil, state.State{}, err
	}
	s, err := state.Read(p.State)
	if errors.Is(err, state.ErrNone) {
		if _, err = o.Manifest(); err != nil {
			return nil, s, err
		}
	}
	if err == nil {
		err = p.Check(s)
	}
	return p, s, err
}

// Optional opens the project and reads its state. It needs neither manifest nor state. A manifest that exists must be valid.
func (o *Opener) Optional() (*project.Project, state.State, error) {
	p := o.Open()
	if len(p.Manifest.Files) > 0 || len(o.Files) > 0 {
		if _, err := o.Manifest(); err != nil {
			return nil, state.State{}, err
		}
	}
	if err := o.Pull(p); err != nil {
		return nil, state.State{}, err
	}
	s, err := state.Read(p.State)
	if err == nil || errors.Is(err, state.ErrNone) {
		err = p.Check(s)
	}
	return p, s, err
}

// CheckOutside prevents agents, which work in workspaces, from changing their whole project.
func (o *Opener) CheckOutside() error {
	o.Open()
	if !o.found.Workspace {
		return nil
	}
	return fmt.Errorf("%s changes the whole project and was started in one of its workspaces\nto do it anyway: agentform -C %s %s",
		o.Command, plaintext.ShellWord(o.found.Dir), strings.TrimPrefix(o.Command, "agentform "))
}

// Flags returns the global flags of the command line without variables.
func (o *Opener) Flags() []string {
	args := []string{"--chdir", o.Dir, "--log-level", o.LogLevel, "--lock-timeout", o.LockTimeout.String()}
	for _, f := range o.Files {
		args = append(args, "--file", f)
	}
	if o.StateFile != "" {
		args = append(args, "--state", o.Absolute(o.StateFile))
	}
	if o.Parallelism > 0 {
		args = append(args, "--parallelism", fmt.Sprint(o.Parallelism))
	}
	return args
}

// VarFlags returns the flags that set the variables, with or without the sensitive ones: whoever can see
// processes reads a command line.
func (o *Opener) VarFlags(sensitive bool) (args []string) {
	for _, v := range o.Vars {
		switch {
		case v.File != "":
			args = append(args, "--var-file", v.File)
		case sensitive || !o.sensitive(v):
			args = append(args, "--var", v.Name+"="+v.Value)
		}
	}
	return args
}

// SensitiveVars returns the variables whose values nobody else may read.
func (o *Opener) SensitiveVars() []config.Var {
	return slices.DeleteFunc(slices.Clone(o.Vars), func(v config.Var) bool { return !o.sensitive(v) })
}

func (o *Opener) sensitive(v config.Var) bool {
	return v.File == "" && slices.Contains(o.Open().Manifest.Sensitive, v.Name)
}
