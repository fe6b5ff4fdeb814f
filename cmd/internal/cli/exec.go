package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

func execCommand(a *app) *cobra.Command {
	var secrets bool
	var o overrideOptions
	c := &cobra.Command{
		Use:   "exec ADDR... -- COMMAND [ARG...]",
		Short: "Run a command in a session's workspace",
		Long: `Runs a command in the workspace of a session: on this machine, or in the session's container,
which must run. It gets the terminal, if there is one, and the environment that the agent was
started with. Secrets are left out, unless --secrets is given.

The exit status is that of the command: 126 or 127 if it cannot be run or was not found, and
128 plus the number of the signal that ended it. With several sessions the command runs in
one after the other, and the first exit status that is not 0 counts.`,
		Example: `  agentform exec api -- git log --oneline -3
  agentform exec api -- make test
  agentform exec 'worker["web"]' -- bash
  agentform exec --all -- sh -c 'git status --short | wc -l'`,
		Args: func(c *cobra.Command, args []string) error {
			argv := afterDash(c, args)
			switch {
			case len(args) == 0:
				return usageError{c.CommandPath(), fmt.Errorf("missing argument: %s", strings.TrimSuffix(c.UseLine(), " [flags]"))}
			case len(argv) == 0:
				return usageError{c.CommandPath(), fmt.Errorf("missing command: put it after --, as in agentform exec %s -- make test", args[0])}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			argv := afterDash(c, args)
			o.typed = args[:len(args)-len(argv)]
			return runExec(c.Context(), a, o, argv, secrets)
		},
	}
	c.Flags().BoolVar(&o.all, "all", false, "all sessions")
	o.register(a, c, "the sessions")
	c.Flags().BoolVar(&secrets, "secrets", false, "also set the session's secrets")
	return c
}

func runExec(ctx context.Context, a *app, o overrideOptions, argv []string, secrets bool) error {
	p, s, err := a.openState()
	if err != nil {
		return err
	}
	named, err := o.named(p.Manifest.Sessions, s.Sessions)
	if err != nil {
		return err
	}
	code := 0
	for _, address := range named {
		if len(named) > 1 {
			fmt.Fprintf(a.env.Stderr, "%s:\n", address)
		}
		c, err := commandIn(ctx, a, *project.Find(s.Sessions, address), argv, secrets)
		if err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
		n, err := runForeground(c)
		if err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
		if code == 0 {
			code = n
		}
	}
	if code != 0 {
		return outcome(code)
	}
	return nil
}

// commandIn returns a command to run in the workspace of a session.
func commandIn(ctx context.Context, a *app, r session.Record, argv []string, secrets bool) (*exec.Cmd, error) {
	if err := checkWorkspace(r); err != nil {
		return nil, err
	}
	p := a.project
	env, err := environOf(p, r, secrets)
	if err != nil {
		return nil, err
	}
	dir, lookup := r.Tree.Path, environ.Vars(env)
	if !r.Spec.Runtime.Traits().HostProcesses {
		var names []string
		for _, kv := range env {
			name, _, _ := strings.Cut(kv, "=")
			names = append(names, name)
		}
		terminals := terminal(a.env.Stdin) && terminal(a.env.Stdout)
		if terminals {
			names = append(names, "TERM")
		}
		argv, err = elsewhere(ctx, a, r, session.Command{Dir: dir, Argv: argv, Env: names, Terminal: terminals})
		if err != nil {
			return nil, err
		}
		dir, env, lookup = p.Dir, append(slices.Clone(a.env.Environ), env...), a.env.Environ
	} else {
		for _, name := range []string{"TERM", "COLORTERM", "LINES", "COLUMNS"} {
			if v, set := a.env.Environ.Lookup(name); set {
				env = append(env, name+"="+v)
			}
		}
		env = append(env, "PWD="+dir)
	}
	c := exec.CommandContext(context.WithoutCancel(ctx), argv[0], argv[1:]...)
	c.Dir, c.Env = dir, env
	c.Stdin, c.Stdout, c.Stderr = a.env.Stdin, a.env.Stdout, a.env.Stderr
	c.Path, c.Err = "", exec.ErrNotFound
	if program, found := lookup.Program(argv[0], dir); found {
		c.Path, c.Err = program, nil
	}
	return c, nil
}

// elsewhere returns the command line that runs a command in the place of a session,
// which must be up.
func elsewhere(ctx context.Context, a *app, r session.Record, c session.Command) ([]string, error) {
	t, err := openTarget(ctx, a, string(r.Address))
	if err != nil {
		return nil, err
	}
	noun := t.Record.Spec.Runtime.Traits().Noun
	x, ok := t.runtime.(session.Executor)
	switch {
	case !ok:
		return nil, fmt.Errorf("its %s cannot run commands", noun)
	case t.Live == nil || !t.Live.PlaceUp:
		return nil, fmt.Errorf("its %s is not running\nagentform start %s starts it", noun, quoted(r.Address))
	}
	argv := x.Exec(t.place(), c)
	if _, found := a.env.Environ.Program(argv[0], a.env.Dir); !found {
		return nil, fmt.Errorf("the command %s, which is needed to enter its %s, is not on PATH: install it", argv[0], noun)
	}
	return argv, nil
}

// environOf returns the environment that the agent of a session was started with, with its
// secrets on request.
func environOf(p *project.Project, r session.Record, secrets bool) ([]string, error) {
	env, names, err := rundir.LaunchEnv(p.RunDir(r.Run.ID))
	if err != nil || len(env) == 0 { // adopted, or its files are gone
		adapter := agent.For(r.Spec.Agent)
		inherited := session.Inherit(p.Secrets.Environ(), r.Spec, adapter)
		env, _ = launch.Environ(r.Spec, inherited, nil)
		names = nil
		for name := range inherited.Secrets {
			names = append(names, name)
		}
	}
	if !secrets {
		return env, nil
	}
	for _, name := range slices.Concat(names, r.Spec.Secrets) {
		value, err := p.Secrets.Fetch(name)
		if err != nil {
			return nil, fmt.Errorf("secret %s: %w", name, err)
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

// runForeground runs a command that has the terminal, and returns its exit status as a
// shell says it. Ctrl-C is for the command: agentform waits until it has ended.
func runForeground(c *exec.Cmd) (code int, err error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	err = c.Start()
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return 127, reportStart(c, "command not found")
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		return 126, reportStart(c, "cannot be run: "+err.Error())
	case err != nil:
		return 0, err
	}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-ended:
				return
			case s := <-signals:
				// The terminal sends its own to the command as well.
				if s == syscall.SIGTERM || s == syscall.SIGHUP {
					_ = c.Process.Signal(s) // it may have ended
				}
			}
		}
	}()
	err = c.Wait()
	close(ended)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal()), nil
		}
		return exit.ExitCode(), nil
	}
	return 0, err
}

// reportStart prints why a command could not be started.
func reportStart(c *exec.Cmd, why string) error {
	_, err := fmt.Fprintf(c.Stderr, "%s: %s\n", c.Args[0], why)
	return err
}
