package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/budget"
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
				return usageError{c.CommandPath(), err}
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
	if o.csv && a.globals.json {
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
	e, err := openObserver(a)
	if err != nil {
		return err
	}
	e.readUsage()
	s, err := e.observe(ctx)
	if err != nil {
		return err
	}
	all, err := e.usage.All()
	if err != nil {
		return err
	}
	status.CurrentAddresses(all, s.State.Sessions)
	q := status.UsageQuery{By: o.by, Days: time.Local}
	if q.Since, err = sinceOf(o.since, time.Now()); err != nil {
		return err
	}
	if len(typed) > 0 {
		named, err := resolveAll(withUsage(s.addresses(), all), typed)
		if err != nil {
			return err
		}
		q.Only = func(a session.Address) bool { return slices.Contains(named, a) }
	}
	used := make(map[string]usage.Session, len(all))
	for _, x := range all {
		used[x.ID] = x
	}
	q.Budgets = budget.Standings(e.project.Manifest.Budgets, budget.Subjects(s.State.Sessions, used), s.World.At)
	d := status.UsageDocumentOf(all, q)
	switch {
	case a.globals.json:
		return view.UsageJSON(a.env.Stdout, d)
	case o.csv:
		return view.UsageCSV(a.env.Stdout, d)
	}
	return view.Usage(a.env.Stdout, a.out(), d)
}

// withUsage adds the addresses of sessions that were removed and used something.
func withUsage(known []session.Address, all []usage.Session) []session.Address {
	for _, s := range all {
		known = append(known, s.Address)
	}
	slices.SortFunc(known, session.Address.Compare)
	return slices.Compact(known)
}

// readUsage makes each observation read what the sessions used.
func (e *observer) readUsage() { e.usage = project.Usage(e.project) }

// askUsage makes observations show what a running hub says that the sessions used, which
// takes no reading. Without a hub they read it.
func (e *observer) askUsage(ctx context.Context) {
	e.readUsage()
	holder, runs := hub.Running(e.project.Manifest.DataDir)
	path, err := e.project.HubSocket()
	if !runs || hub.Suspended(holder) || err != nil {
		return
	}
	client := api.Dial(path)
	defer client.Close()
	ctx, done := context.WithTimeout(ctx, hubTimeout)
	defer done()
	d, err := client.Sessions(ctx)
	if err != nil {
		e.log.Debug("the hub does not say what the sessions used", "error", err)
		return
	}
	e.hubUsage = map[string]usage.Sum{}
	for _, x := range d.Sessions {
		if u := x.Usage; u != nil {
			sum := usage.Sum{Answers: u.Answers, Tokens: u.Tokens, Unpriced: u.Unpriced}
			if u.Cost != nil {
				sum.Cost = *u.Cost
			}
			e.hubUsage[x.ID] = sum
		}
	}
}

// use adds what a session used.
func (e *observer) use(k *status.Input, at time.Time) {
	if e.usage == nil {
		return
	}
	if sum, is := e.hubUsage[k.Record.ID]; is {
		k.Usage = &sum
		return
	}
	if err := e.usage.Look(e.activity.Agent(*k.Record), *k.Record, k.Look.Transcript, at); err != nil { // who only looks may not be allowed to write
		e.log.Warn("usage cannot be read", "session", k.Record.Address, "error", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if sum, is := e.usage.Known(k.Record.ID); is {
		k.Usage = &sum
	} else if x, err := e.usage.Get(k.Record.ID); err == nil { // its session file is gone
		k.Usage = new(x.Total())
	}
}
