package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/budget"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
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
	_, err := sinceOf(o.since, time.Now())
	return err
}

// sinceOf returns the time that a flag means: a duration ago, or the beginning of a day.
func sinceOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return at, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	d, err := expr.ParseDuration(text)
	if err != nil || d <= 0 {
		return time.Time{}, fmt.Errorf("--since: %q is neither a duration such as 7d or 90m nor a date such as 2026-11-01", text)
	}
	return now.Add(-d), nil
}

func runUsage(ctx context.Context, a *app, typed []string, o usageOptions) error {
	p, e, err := openObserver(a)
	if err != nil {
		return err
	}
	e.Usage = project.Usage(p)
	s, err := e.Look(ctx)
	if err != nil {
		return err
	}
	all, err := e.Usage.All()
	if err != nil {
		return err
	}
	status.CurrentAddresses(all, s.State.Sessions)
	q := status.UsageQuery{By: o.by, Days: time.Local}
	if q.Since, err = sinceOf(o.since, time.Now()); err != nil {
		return err
	}
	if len(typed) > 0 {
		named, err := choose.All(withUsage(declaredIn(p, s), all), typed)
		if err != nil {
			return err
		}
		q.Only = func(a session.Address) bool { return slices.Contains(named, a) }
	}
	used := make(map[string]usage.Session, len(all))
	for _, x := range all {
		used[x.ID] = x
	}
	q.Budgets = budget.Standings(p.Manifest.Budgets, budget.Subjects(s.State.Sessions, used), s.World.At)
	d := status.UsageDocumentOf(all, q)
	switch {
	case a.JSON:
		return view.UsageJSON(a.Out, d)
	case o.csv:
		return view.UsageCSV(a.Out, d)
	}
	return view.Usage(a.Out, a.OutStyle(), d)
}

// withUsage adds the addresses of sessions that were removed and used something.
func withUsage(known []session.Address, all []usage.Session) []session.Address {
	for _, s := range all {
		known = append(known, s.Address)
	}
	slices.SortFunc(known, session.Address.Compare)
	return slices.Compact(known)
}

// askUsage makes looks show what a running hub says that the sessions used, which takes no
// reading. Without a hub they read it.
func askUsage(ctx context.Context, p *project.Project, e *fleet.Observer) {
	e.Usage = project.Usage(p)
	holder, runs := e.Supervisor()
	path, err := p.HubSocket()
	if !runs || hub.Suspended(holder) || err != nil {
		return
	}
	client := api.Dial(path)
	defer client.Close()
	ctx, done := context.WithTimeout(ctx, hubTimeout)
	defer done()
	d, err := client.Sessions(ctx)
	if err != nil {
		e.Log.Debug("the hub does not say what the sessions used", "error", err)
		return
	}
	e.Used = map[string]usage.Sum{}
	for _, x := range d.Sessions {
		if u := x.Usage; u != nil {
			sum := usage.Sum{Answers: u.Answers, Tokens: u.Tokens, Unpriced: u.Unpriced}
			if u.Cost != nil {
				sum.Cost = *u.Cost
			}
			e.Used[x.ID] = sum
		}
	}
}
