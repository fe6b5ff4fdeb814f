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

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
	"github.com/agentform/agentform/cmd/internal/opener"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/environ"
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
	defer a.Close()
	return printError(a, a.execute(ctx))
}

func newApp(env Env) *app {
	return &app{args: env.Args, level: new(slog.LevelVar), Opener: &opener.Opener{
		Streams: &streams.Streams{In: env.Stdin, Out: env.Stdout, Err: env.Stderr, Environ: env.Environ, Fixed: env.Style},
		Dir:     env.Dir, TypedIn: env.Dir, Version: cmp.Or(env.Version, "dev"), Runtimes: env.Runtimes,
	}}
}

func (a *app) execute(ctx context.Context) error {
	root := newRoot(a)
	root.SetArgs(flags.JoinNegatives(flags.DoubleDashed(root, a.args)))
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	flags.FixBashCompletion(root)
	return root.ExecuteContext(ctx)
}

// app is what a command gets: its streams, how the project is opened, and the global flags that
// nothing else needs.
type app struct {
	*opener.Opener
	args  []string       // of the command line
	level *slog.LevelVar // of Log
	chdir string
}

// withoutJSON are the commands that refuse --json.
var withoutJSON = []string{
	"agentform", "init", "fmt", "attach", "path", "exec", "serve", "state", "mv", "rm", "push", "rebuild", "reencrypt", "force-unlock", "shim",
	"help", "options", "completion", "bash", "fish", "powershell", "zsh", "ui",
}

func (a *app) setup(c *cobra.Command, _ []string) error {
	a.Command, a.Context = c.CommandPath(), c.Context()
	if err := a.level.UnmarshalText([]byte(a.LogLevel)); err != nil {
		return exit.Usage(c.CommandPath(), fmt.Errorf("--log-level %q: must be debug, info, warn or error", a.LogLevel))
	}
	a.Log = slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: a.level}))
	if a.Parallelism < 1 && c.Flag("parallelism").Changed {
		return exit.Usage(c.CommandPath(), fmt.Errorf("--parallelism %d: must be 1 or more", a.Parallelism))
	}
	if a.JSON && slices.Contains(withoutJSON, c.Name()) {
		return exit.Usage(c.CommandPath(), fmt.Errorf("%s has no JSON output: omit --json", c.CommandPath()))
	}
	if real, err := filepath.EvalSymlinks(a.Dir); err == nil {
		a.ShellDir = real
	}
	if a.chdir != "" {
		dir := a.Absolute(a.chdir)
		if info, err := os.Stat(dir); err != nil {
			return fmt.Errorf("--chdir: %w", err)
		} else if !info.IsDir() {
			return fmt.Errorf("--chdir %s: not a directory", dir)
		}
		a.Dir = dir
	}
	a.TypedIn = a.Dir
	return nil
}

// printError prints an error, unless all has been said, and returns its exit code.
func printError(a *app, err error) int {
	var said exit.Code
	switch {
	case err == nil:
		return int(exit.Done)
	case errors.As(err, &said):
		return int(said)
	}
	if view.Errors(a.Err, a.ErrStyle(), err) != nil {
		return int(exit.Error) // standard error itself cannot be written
	}
	return int(exit.Of(err))
}
