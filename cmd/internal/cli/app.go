package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/projectdir"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Env is the process that agentform runs in. Tests give another one.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        environ.Vars
	Args           []string // without the program's name
	Dir            string   // the current directory, absolute
	Version        string   // of agentform; empty: dev
	// Style is how text on Stdout looks; nil: as that is a terminal or not.
	Style *view.Style
	// Runtimes are where sessions run; nil: tmux, Docker and Kubernetes.
	Runtimes project.Runtimes
}

// Run runs one command line and returns its exit code: 0 done, 1 error, 2 changes (with
// --detailed-exitcode), 3 fmt --check found unformatted files, 4 the state is locked, 5
// a session asks a question (with wait --fail-on-question), 130 interrupted. Data goes to Stdout, everything else to Stderr.
func Run(ctx context.Context, env Env) int {
	a := newApp(env)
	defer a.close()
	return printError(a, a.execute(ctx))
}

func newApp(env Env) *app {
	env.Version = cmp.Or(env.Version, "dev")
	return &app{env: env, typedIn: env.Dir}
}

func (a *app) execute(ctx context.Context) error {
	env, root := a.env, newRoot(a)
	root.SetArgs(joinNegatives(doubleDashed(root, env.Args)))
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	fixBashCompletion(root)
	return root.ExecuteContext(ctx)
}

// app is one run of agentform.
type app struct {
	env      Env    // Dir is as --chdir says, and the project's once that is open
	typedIn  string // the directory that relative paths on the command line start at
	shellDir string // the directory of the shell, without links; --chdir does not change it
	globals  globals
	log      *slog.Logger
	level    slog.LevelVar // of log
	command  string        // "agentform apply"
	found    projectdir.Found
	told     bool             // which project is used in a workspace
	opened   *project.Options // see options
	project  *project.Project // see open
	document bool             // the command's JSON reports the manifest's problems
	ctx      context.Context  // of the command, for pull
	pulled   *error           // see pull; nil: not yet
}

// withoutJSON are the commands that refuse --json.
var withoutJSON = []string{
	"agentform", "init", "fmt", "attach", "path", "exec", "serve", "state", "mv", "rm", "push", "rebuild", "reencrypt", "force-unlock", "shim",
	"help", "options", "completion", "bash", "fish", "powershell", "zsh", "ui",
}

type globals struct {
	chdir       string
	files       []string
	vars        []config.Var
	stateFile   string
	noColor     bool
	noPager     bool
	logLevel    string
	parallelism int
	lockTimeout time.Duration
	json        bool
}

func (a *app) setup(c *cobra.Command, _ []string) error {
	g := &a.globals
	a.command, a.ctx = c.CommandPath(), c.Context()
	if err := a.level.UnmarshalText([]byte(g.logLevel)); err != nil {
		return usageError{c.CommandPath(), fmt.Errorf("--log-level %q: must be debug, info, warn or error", g.logLevel)}
	}
	a.log = slog.New(slog.NewTextHandler(a.env.Stderr, &slog.HandlerOptions{Level: &a.level}))
	if g.parallelism < 1 && c.Flag("parallelism").Changed {
		return usageError{c.CommandPath(), fmt.Errorf("--parallelism %d: must be 1 or more", g.parallelism)}
	}
	if g.json && slices.Contains(withoutJSON, c.Name()) {
		return usageError{c.CommandPath(), fmt.Errorf("%s has no JSON output: omit --json", c.CommandPath())}
	}
	if real, err := filepath.EvalSymlinks(a.env.Dir); err == nil {
		a.shellDir = real
	}
	if g.chdir != "" {
		dir := a.absolute(g.chdir)
		if info, err := os.Stat(dir); err != nil {
			return fmt.Errorf("--chdir: %w", err)
		} else if !info.IsDir() {
			return fmt.Errorf("--chdir %s: not a directory", dir)
		}
		a.env.Dir = dir
	}
	a.typedIn = a.env.Dir
	return nil
}

func (a *app) close() {
	if a.project != nil {
		a.project.Close()
	}
}

func (a *app) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(a.typedIn, path)
}

// short returns a path relative to the project if it is in it.
func (a *app) short(path string) string {
	if rel, err := filepath.Rel(a.env.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// out and err return how text on standard output and standard error looks.
func (a *app) out() view.Style { return a.style(a.env.Stdout) }
func (a *app) err() view.Style { return a.style(a.env.Stderr) }

// style returns how text for a writer looks. Paths are relative to the shell's directory.
func (a *app) style(w io.Writer) view.Style {
	s := view.StyleFor(w, a.globals.noColor, a.env.Environ)
	if a.env.Style != nil && w == a.env.Stdout {
		s = *a.env.Style
	}
	s.Dir = a.shellDir
	return s
}

func (a *app) warn(problems []session.Diagnostic) {
	_ = view.Diagnostics(a.env.Stderr, a.err(), problems) // as fmt.Fprint: nothing else could tell
}

// say writes a line to standard error, wrapped to the terminal.
func (a *app) say(text string) {
	_ = view.Prose(a.env.Stderr, a.err(), text) // as fmt.Fprint: nothing else could tell
}

// open opens the project, once: without --file the one that the directory belongs to.
func (a *app) open() *project.Project {
	if a.project == nil {
		a.project = project.Open(a.options())
		a.tellWorkspace(a.project)
	}
	return a.project
}

// options returns how the project is opened. It finds the project, once.
func (a *app) options() project.Options {
	if a.opened != nil {
		return *a.opened
	}
	g := a.globals
	if len(g.files) == 0 {
		if a.found = projectdir.Find(a.env.Dir); a.found.Dir != a.env.Dir {
			a.env.Dir = a.found.Dir
			for i, v := range g.vars {
				if v.File != "" {
					g.vars[i].File = a.absolute(v.File)
				}
			}
		}
	}
	if g.stateFile != "" {
		g.stateFile = a.absolute(g.stateFile)
	}
	a.opened = &project.Options{
		Dir: a.env.Dir, Files: g.files, Vars: g.vars, StateFile: g.stateFile, Environ: a.env.Environ, Version: a.env.Version,
		Command: a.command, Parallelism: g.parallelism, LockTimeout: g.lockTimeout, Log: a.log,
		Runtimes: a.env.Runtimes, Waiting: a.waiting(), Slow: a.slow(),
	}
	return *a.opened
}

// tellWorkspace tells a person in a workspace which project is used.
func (a *app) tellWorkspace(p *project.Project) {
	if a.found.Workspace && !a.told {
		a.told = true
		whose := "a workspace"
		if a.found.Session != "" {
			whose = "the workspace of " + string(a.found.Session)
		}
		fmt.Fprintf(a.env.Stderr, "This directory is in %s. Using its project: %s (%s)\n", whose, plaintext.Safe(p.Manifest.Project), plaintext.Safe(a.found.Dir))
	}
}

// openRecorded is openState, and evaluates no more of the manifest than where the state is
// if each typed word is the address of a recorded session.
func (a *app) openRecorded(typed []string) (*project.Project, state.State, error) {
	if a.project != nil || len(typed) == 0 {
		return a.openState()
	}
	o := a.options()
	o.SettingsOnly = true
	p := project.Open(o)
	s, err := state.ReadNamed(p.State, typed...)
	if err == nil {
		err = a.pull(p)
	}
	unknown := func(word string) bool {
		return !slices.ContainsFunc(s.Sessions, func(r session.Record) bool { return word == string(r.Address) || word == r.Address.Short() })
	}
	if err != nil || slices.ContainsFunc(typed, unknown) || p.Check(s) != nil {
		return a.openState()
	}
	a.tellWorkspace(p)
	return p, s, nil
}

// openManifest prints the manifest's problems, and fails on errors.
func (a *app) openManifest() (*project.Project, error) {
	p := a.open()
	if !a.document {
		a.warn(p.Problems)
	}
	if session.HasErrors(p.Problems) {
		return nil, outcome(exitError)
	}
	return p, a.pull(p)
}

// openState reads the state. Without one, the manifest's errors are the error.
func (a *app) openState() (*project.Project, state.State, error) {
	p := a.open()
	if err := a.pull(p); err != nil {
		return nil, state.State{}, err
	}
	s, err := state.Read(p.State)
	if errors.Is(err, state.ErrNone) {
		if _, err = a.openManifest(); err != nil {
			return nil, s, err
		}
	}
	if err == nil {
		err = p.Check(s)
	}
	return p, s, err
}

// openOptional needs neither manifest nor state. A manifest that exists must be valid.
func (a *app) openOptional() (*project.Project, state.State, error) {
	p := a.open()
	if len(p.Manifest.Files) > 0 || len(a.globals.files) > 0 {
		if _, err := a.openManifest(); err != nil {
			return nil, state.State{}, err
		}
	}
	if err := a.pull(p); err != nil {
		return nil, state.State{}, err
	}
	s, err := state.Read(p.State)
	if err == nil || errors.Is(err, state.ErrNone) {
		err = p.Check(s)
	}
	return p, s, err
}

// errInWorkspace keeps agents, which work in workspaces, from changing their whole project.
func (a *app) errInWorkspace() error {
	a.open()
	if !a.found.Workspace {
		return nil
	}
	return fmt.Errorf("%s changes the whole project and was started in one of its workspaces\nto do it anyway: agentform -C %s %s",
		a.command, plaintext.ShellWord(a.found.Dir), strings.TrimPrefix(a.command, "agentform "))
}

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

func terminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && isatty.IsTerminal(f.Fd())
}

// The exit codes, as documented in Run.
const (
	exitDone        = 0
	exitError       = 1
	exitChanges     = 2
	exitUnformatted = 3
	exitLocked      = 4
	exitAsks        = 5
	exitInterrupted = 130 // 128 + SIGINT, as shells say it
)

// outcome is an end with an exit code about which everything has been said.
type outcome int

func (o outcome) Error() string { return fmt.Sprintf("exit %d", int(o)) }

// usageError is a command line that makes no sense.
type usageError struct {
	command string // "agentform plan"
	err     error
}

func (e usageError) Error() string {
	return fmt.Sprintf("%v\nSee: %s --help", e.err, e.command)
}

func (e usageError) Unwrap() error { return e.err }

// printError prints an error, unless all has been said, and returns its exit code.
func printError(a *app, err error) int {
	var said outcome
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &said):
		return int(said)
	}
	if view.Errors(a.env.Stderr, a.err(), err) != nil {
		return exitError // standard error itself cannot be written
	}
	return codeOf(err)
}

func codeOf(err error) int {
	var locked *state.LockedError
	var shared *sharedstate.LockedError
	var asks *questionError
	switch {
	case errors.Is(err, apply.ErrInterrupted), errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &locked), errors.As(err, &shared):
		return exitLocked
	case errors.As(err, &asks):
		return exitAsks
	}
	return exitError
}
