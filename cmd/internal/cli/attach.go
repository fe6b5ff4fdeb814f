package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/attach"
	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

type attachOptions struct {
	typed   string
	onStale string // restart, teardown, cancel; empty: ask
}

func attachCommand(a *app) *cobra.Command {
	var o attachOptions
	c := &cobra.Command{
		Use:     "attach ADDR",
		Aliases: []string{"a"},
		Short:   "Attach your terminal to a session",
		Long: `Attaches your terminal to the session. Press Ctrl-b d to detach; the agent keeps running. The
status line of the session shows the keys, also inside another tmux, which sees them first.

If the agent has exited you are asked whether to restart or tear down the session; without a
terminal, set --on-stale.`,
		Example: `  agentform attach api
  agentform attach 'worker["web"]' --on-stale=restart`,
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains([]string{"", "restart", "teardown", "cancel"}, o.onStale) {
				return exit.Usage(c.CommandPath(), fmt.Errorf("--on-stale %s: must be restart, teardown or cancel", o.onStale))
			}
			o.typed = args[0]
			return runAttach(c.Context(), a, o)
		},
	}
	c.Flags().StringVar(&o.onStale, "on-stale", "", "if the agent has exited: restart, teardown, cancel")
	completeFlag(c, "on-stale", words("restart", "teardown", "cancel"))
	return c
}

func runAttach(ctx context.Context, a *app, o attachOptions) error {
	t, err := openTarget(ctx, a, o.typed)
	if err != nil {
		return err
	}
	if t.CheckRunning() != nil {
		if t, err = handleStale(ctx, a, t, o); t == nil || err != nil {
			return err
		}
	}
	if t.Diagnosis.State == session.StatePaused {
		return fmt.Errorf("%s is paused\n%s", t.Record.Address, t.HowToResume())
	}
	if !streams.IsTerminal(a.In) || !streams.IsTerminal(a.Out) {
		name := target.Quoted(t.Record.Address)
		return fmt.Errorf("attach needs a terminal\nagentform capture %s shows the screen, agentform send %s TEXT types into it", name, name)
	}
	return attachTerminal(ctx, a, t)
}

func attachTerminal(ctx context.Context, a *app, t *target.Target) error {
	x, err := attach.To(ctx, t)
	if err != nil {
		return err
	}
	if x.Switches {
		if err := x.Switch(); err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "%s: Ctrl-b L returns here; the agent keeps running.\n", t.Record.Address)
		return nil
	}
	fmt.Fprintf(a.Err, "%s: %s detaches; the agent keeps running.\n", t.Record.Address, x.Keys)
	x.Stdin, x.Stdout, x.Stderr = a.In, a.Out, a.Err
	if err := x.Attach(); err != nil {
		return fmt.Errorf("attach %s: %w\nagentform status %s shows whether its agent still runs", t.Record.Address, err, target.Quoted(t.Record.Address))
	}
	return nil
}

// handleStale returns the session to attach to after a restart, or nil.
func handleStale(ctx context.Context, a *app, t *target.Target, o attachOptions) (*target.Target, error) {
	choice := o.onStale
	if choice == "" {
		if !streams.IsTerminal(a.In) {
			name := target.Quoted(t.Record.Address)
			return nil, fmt.Errorf("%s: %s\nagentform restart %s restarts it, agentform destroy --target %s removes it, agentform logs %s shows what it did\n(or attach with --on-stale=restart, teardown or cancel)",
				t.Record.Address, t.Diagnosis.Detail, name, name, name)
		}
		var err error
		if choice, err = askStale(a, t); err != nil {
			return nil, err
		}
	}
	switch choice {
	case "restart":
		if err := runOverride(ctx, a, overrideOptions{sessionArgs: named([]string{string(t.Record.Address)}), Override: reconcile.Override{Verb: reconcile.Restart}}); err != nil {
			return nil, err
		}
		return openTarget(ctx, a, string(t.Record.Address))
	case "teardown":
		return nil, planAndApply(ctx, a, applyOptions{verb: "Destroy", autoApprove: true,
			planFlags: planFlags{Asked: reconcile.Asked{Destroy: true, Targets: []string{string(t.Record.Address)}}, detail: "changes"}})
	}
	fmt.Fprintln(a.Err, "Cancelled: nothing was changed.")
	return nil, nil
}

func askStale(a *app, t *target.Target) (string, error) {
	fmt.Fprintf(a.Err, "%s: %s\n\n  [R]estart session   [T]ear down   [C]ancel: ", t.Record.Address, plaintext.Safe(t.Diagnosis.Detail))
	answer, err := a.Answer()
	if err != nil {
		return "", err
	}
	switch strings.ToLower(answer) {
	case "r", "restart":
		return "restart", nil
	case "t", "teardown", "tear down":
		return "teardown", nil
	}
	return "cancel", nil
}
