package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/internal/view"
)

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "status [ADDR]",
		Aliases: []string{"ps"},
		Short:   "Show every session: what is wanted, what is there, what the agent does",
		Long: `Shows every session that is wanted or on record as it is now, last how many there are
in each state; with ADDR only that one, or the instances of that block. What is wrong
is shown, and makes no exit code: that is for plan --detailed-exitcode.`,
		Example: `  agentform status
  agentform status worker
  agentform ps --json`,
		Args:              arguments(0, 1),
		Annotations:       withJSON(),
		ValidArgsFunction: a.completeAddresses(1),
		RunE:              func(c *cobra.Command, args []string) error { return a.runStatus(c.Context(), args) },
	}
}

func (a *app) runStatus(ctx context.Context, typed []string) error {
	s, err := a.look(ctx)
	if err != nil {
		return err
	}
	shown := s.known
	if len(typed) > 0 {
		meant, err := resolveAll(s.addresses(), typed)
		if err != nil {
			return err
		}
		shown = nil
		for _, address := range meant {
			shown = append(shown, s.of(address))
		}
	}
	sessions := make([]view.Session, len(shown))
	for i, k := range shown {
		sessions[i] = view.SessionOf(k)
	}
	if a.globals.json {
		return view.StatusJSON(a.env.Stdout, sessions, false)
	}
	return view.Status(a.env.Stdout, a.out(), sessions, time.Now())
}
