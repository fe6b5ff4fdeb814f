package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/logs"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/session"
)

func logsCommand(a *app) *cobra.Command {
	var o logsOptions
	c := &cobra.Command{
		Use:     "logs ADDR...",
		Aliases: []string{"log"},
		Short:   "Show the conversation logs of agents",
		Long: `Prints prompts, tool calls, answers, errors and token use from the agent's session file. If
there is none, or with --screen, it prints the recorded screens: one for each change of
state, with time and reason. See capture for the current screen. With --verify it prints what
the command of the last verification printed.

Of several sessions each line starts with the name of its session, unless --no-prefix is
given. They are printed one after the other; --follow then prints what any of them adds.`,
		Example: `  agentform logs api
  agentform logs api -f
  agentform logs --all -f -n 0
  agentform logs --role builder -n 20
  agentform logs api --screen
  agentform logs api --verify -n 100`,
		RunE: func(c *cobra.Command, args []string) error {
			if o.Follow && a.JSON {
				return exit.Usage(c.CommandPath(), errors.New("--json prints existing entries: omit --follow"))
			}
			if o.verify && (o.Follow || o.Screen) {
				return exit.Usage(c.CommandPath(), errors.New("--verify cannot be combined with --follow or --screen"))
			}
			if err := checkTail(o.Tail); err != nil {
				return exit.Usage(c.CommandPath(), err)
			}
			if err := o.set(c, args); err != nil {
				return err
			}
			run := func() error { return runLogs(c.Context(), a, o) }
			if o.Follow {
				return run()
			}
			return a.Paged(run)
		},
	}
	c.Flags().BoolVarP(&o.Follow, "follow", "f", false, "follow new output")
	c.Flags().BoolVar(&o.Screen, "screen", false, "print the recorded screens instead of the session file")
	c.Flags().BoolVar(&o.verify, "verify", false, "print the output of the last verification")
	noPrefixFlag(c, &o.noPrefix)
	tailFlag(c, &o.Tail, "entries, or lines of the screens, of each session")
	o.register(a, c, "sessions")
	fileWithoutShorthand(a, c)
	return c
}

type logsOptions struct {
	sessionArgs
	logs.Options
	noPrefix, verify bool
}

func runLogs(ctx context.Context, a *app, o logsOptions) error {
	p, s, named, err := o.open(a)
	if err != nil {
		return err
	}
	if len(named) == 0 && !a.JSON {
		fmt.Fprintln(a.Err, "No sessions in the state.")
		return nil
	}
	if o.verify {
		records := make([]session.Record, len(named))
		for i, address := range named {
			records[i] = *project.Find(s.Sessions, address)
		}
		return runVerifyLogs(ctx, a, o, records)
	}
	out := func(int) io.WriteCloser { return nopCloser{a.Out} }
	if len(named) > 1 && !o.noPrefix {
		out = prefixes(a, a.Out, named).Writer
	}
	o.Style = a.OutStyle()
	all := make([]*logs.Log, len(named))
	for i, address := range named {
		all[i] = logs.Open(p, *project.Find(s.Sessions, address), o.Options, out(i))
	}
	if a.JSON {
		tails := make([]view.Tail, len(all))
		for i, l := range all {
			tails[i] = l.Document()
		}
		return tailResults(a, "printed the logs of", len(all), tails, o.Single(named)).end(a)
	}
	var errs []error
	var following []*logs.Log
	for _, l := range all {
		err := l.Print(func(text string) { fmt.Fprintln(a.Err, text) })
		if errors.Is(err, syscall.EPIPE) {
			return err
		}
		if err != nil {
			errs = append(errs, err)
		} else {
			following = append(following, l)
		}
	}
	if !o.Follow || len(following) == 0 {
		return endMany(a, view.Many{Verb: "printed the logs of", All: len(named), Done: len(following), Failed: len(errs)}, nil, errs)
	}
	if len(errs) > 0 {
		_ = view.Errors(a.Err, a.ErrStyle(), errs...) // the others are followed
	}
	return streams.Poll(ctx, func() error {
		for _, l := range following {
			if err := l.More(); err != nil {
				return err
			}
		}
		return nil
	})
}

func (nopCloser) Close() error { return nil }
