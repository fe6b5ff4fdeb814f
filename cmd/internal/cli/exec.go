package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/action/workspace"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/session"
)

type execOptions struct {
	sessionArgs
	argv              []string
	secrets, noPrefix bool
	limit             int // sessions at once
}

func execCommand(a *app) *cobra.Command {
	o := execOptions{limit: 1}
	c := &cobra.Command{
		Use:   "exec ADDR... -- COMMAND [ARG...]",
		Short: "Run a command in the workspaces of sessions",
		Long: `Runs a command in the workspace of a session: on this machine, or in the session's container,
which must run. It gets the terminal, if there is one, and the environment that the agent was
started with. Secrets are left out, unless --secrets is given.

The exit status is that of the command: 126 or 127 if it cannot be run or was not found, and
128 plus the number of the signal that ended it.

In several sessions it runs in one after the other or, with --parallelism, in that many at
once. Each line of its output starts with the name of the session, and it gets no input; with
--no-prefix, in one after the other, it gets the terminal. A session in which it fails is
named, the others go on, and the first exit status that is not 0, in the order of the
sessions, counts; it is 1 for a session in which the command could not be started.`,
		Example: `  agentform exec api -- git log --oneline -3
  agentform exec api -- make test
  agentform exec 'worker["web"]' -- bash
  agentform exec --all --parallelism 4 -- make test
  agentform exec --role builder -- sh -c 'git status --short | wc -l'`,
		Args: func(c *cobra.Command, args []string) error {
			argv := afterDash(c, args)
			switch {
			case len(args) == 0:
				return exit.Usage(c.CommandPath(), fmt.Errorf("missing argument: %s", strings.TrimSuffix(c.UseLine(), " [flags]")))
			case len(argv) == 0:
				return exit.Usage(c.CommandPath(), fmt.Errorf("missing command: put it after --, as in agentform exec %s -- make test", args[0]))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.argv = afterDash(c, args)
			if err := o.set(c, args[:len(args)-len(o.argv)]); err != nil {
				return err
			}
			if c.Flag("parallelism").Changed {
				o.limit = a.Parallelism
			}
			if o.noPrefix && o.limit > 1 {
				return exit.Usage(c.CommandPath(), errors.New("--no-prefix is for one session after the other: leave --parallelism out"))
			}
			return runExec(c.Context(), a, o)
		},
	}
	o.register(a, c, "sessions")
	c.Flags().BoolVar(&o.secrets, "secrets", false, "also set the session's secrets")
	noPrefixFlag(c, &o.noPrefix)
	return c
}

func runExec(ctx context.Context, a *app, o execOptions) error {
	_, s, named, err := o.open(a)
	if err != nil {
		return err
	}
	var records []session.Record
	for _, address := range named {
		if r := project.Find(s.Sessions, address); !o.ByFlag() || !r.Unmade() && !r.Spent() {
			records = append(records, *r)
		}
	}
	switch len(records) {
	case 0:
		noneRunning(a)
		return nil
	case 1:
		c, err := commandIn(ctx, a, records[0], o, true)
		if err != nil {
			return target.OfSession(records[0].Address, err)
		}
		code, err := streams.Foreground(c)
		if err == nil && code != 0 {
			return exit.Code(code)
		}
		return err
	}
	return execMany(ctx, a, o, records)
}

// commandIn returns a command to run in the workspace of a session, with the streams of this one.
func commandIn(ctx context.Context, a *app, r session.Record, o execOptions, foreground bool) (*exec.Cmd, error) {
	terminals := foreground && streams.IsTerminal(a.In) && streams.IsTerminal(a.Out)
	c, err := workspace.Command(ctx, a.Opened(), r, workspace.CommandOptions{Argv: o.argv, Secrets: o.secrets, Terminal: terminals})
	if err == nil {
		c.Stdin, c.Stdout, c.Stderr = a.In, a.Out, a.Err
	}
	return c, err
}
