package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/usage"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
)

type usageOptions struct {
	by, since string
	csv       bool
}

func usageCommand(a *app) *cobra.Command {
	var o usageOptions
	c := &cobra.Command{
		Use:   "usage [ADDR...]",
		Short: "Show the tokens that sessions used, and their list price",
		Long: `Shows how many tokens the models of the sessions took, as the agents' own session files say
it, and what they cost by list price: of all sessions, also of those that were removed, or
of those with ADDR. COST is an estimate: subscriptions, discounts and tiers are not in it.
Tokens of a model without a price are not free but unpriced: give it one in a price block.

INPUT is what a model read without a cache, and OUTPUT includes what it thought. What agents
ask behind the scenes, such as titles, is in none of their files and not counted.`,
		Example: `  agentform usage
  agentform usage worker --since 7d
  agentform usage --by model --since 2026-11-01
  agentform usage --by day --csv`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(a); err != nil {
				return exit.Usage(c.CommandPath(), err)
			}
			return runUsage(c.Context(), a, args, o)
		},
	}
	c.Flags().StringVar(&o.by, "by", status.BySession, "sum by `what`: "+plaintext.List(status.UsageBy(), "or"))
	c.Flags().StringVar(&o.since, "since", "", "only usage since this `time`: a duration ago such as 7d, or a date such as 2026-11-01")
	c.Flags().BoolVar(&o.csv, "csv", false, "print CSV")
	completeFlag(c, "by", words(status.UsageBy()...))
	outputFlag(a, c)
	return c
}

func (o usageOptions) check(a *app) error {
	if !slices.Contains(status.UsageBy(), o.by) {
		return fmt.Errorf("--by: must be %s, not %q", plaintext.List(status.UsageBy(), "or"), o.by)
	}
	if o.csv && a.JSON {
		return errors.New("--csv and --json exclude each other")
	}
	_, err := flags.Since(o.since, time.Now())
	return err
}

func runUsage(ctx context.Context, a *app, typed []string, o usageOptions) error {
	p, e, err := openObserver(a)
	if err != nil {
		return err
	}
	since, err := flags.Since(o.since, time.Now())
	if err != nil {
		return err
	}
	d, err := usage.Document(ctx, p, e, status.UsageQuery{By: o.by, Since: since, Days: time.Local}, typed)
	if err != nil {
		return err
	}
	switch {
	case a.JSON:
		return wire.Write(a.Out, d)
	case o.csv:
		return view.UsageCSV(a.Out, d)
	}
	return view.Usage(a.Out, a.OutStyle(), d)
}
