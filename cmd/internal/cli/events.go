package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

func eventsCommand(a *app) *cobra.Command {
	var follow bool
	var since time.Duration
	var tail tailFlag
	c := &cobra.Command{
		Use:   "events [ADDR]",
		Short: "Show the event history",
		Long: `Prints the history of a session, or of all sessions in the state: what was done, by whom and
why. The history of destroyed sessions remains available by address.`,
		Example: `  agentform events api
  agentform events --since 1h
  agentform events -n 20
  agentform events -f --json`,
		RunE: func(c *cobra.Command, args []string) error {
			from := time.Time{}
			if since > 0 {
				from = time.Now().Add(-since)
			}
			if err := tail.check(); err != nil {
				return exit.Usage(c.CommandPath(), err)
			}
			run := func() error { return runEvents(c.Context(), a, args, from, tail, follow) }
			if follow {
				return run()
			}
			return a.Paged(run)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "follow new events")
	fileWithoutShorthand(a, c)
	durationVar(c.Flags(), &since, "since", 0, "only events newer than this, such as 90m")
	tail.register(c, "events")
	return c
}

func runEvents(ctx context.Context, a *app, typed []string, since time.Time, tail tailFlag, follow bool) error {
	past, err := readEvents(a, typed, since)
	if err != nil {
		return err
	}
	if err := printEvents(a, last(tail, past)); err != nil || !follow {
		return err
	}
	return streams.Poll(ctx, func() error {
		if streams.ReaderGone(a.Out) {
			return exit.Done
		}
		if n := len(past); n > 0 && past[n-1].Time.Add(-maxDelay).After(since) {
			since = past[n-1].Time.Add(-maxDelay)
		}
		all, err := readEvents(a, typed, since)
		if err != nil {
			return err
		}
		added := newEvents(all, past)
		past = all
		return printEvents(a, added)
	})
}

// maxDelay bounds how late an event is written: several processes write at once.
const maxDelay = 10 * time.Second

func readEvents(a *app, typed []string, since time.Time) ([]history.Event, error) {
	p, s, err := a.State()
	if err != nil {
		return nil, err
	}
	named := choose.Addresses(nil, s.Sessions)
	var all []history.Event
	if len(typed) > 0 {
		gone := removedEvents(p, s.Sessions)
		known := append(choose.Addresses(p.Manifest.Sessions, s.Sessions), slices.Collect(maps.Keys(gone))...)
		slices.SortFunc(known, session.Address.Compare)
		if named, err = choose.All(slices.Compact(known), typed); err != nil {
			return nil, err
		}
		for _, address := range named {
			all = append(all, slices.DeleteFunc(gone[address], func(e history.Event) bool { return e.Time.Before(since) })...)
		}
	}
	for _, r := range s.Sessions {
		if !slices.Contains(named, r.Address) {
			continue
		}
		events, err := history.Read(p.SessionDir(r), since)
		switch {
		case err != nil && len(typed) > 0:
			return nil, fmt.Errorf("read the history of %s: %w", r.Address, err)
		case err != nil: // the others have theirs
			a.Log.Warn("a history cannot be read", "session", r.Address, "error", err)
		}
		all = append(all, events...)
	}
	return history.InOrder(all), nil
}

// removedEvents returns the events of sessions that left the state, by their last address.
func removedEvents(p *project.Project, records []session.Record) map[session.Address][]history.Event {
	gone := map[session.Address][]history.Event{}
	for _, events := range project.Removed(p, records, time.Time{}) {
		if a := events[len(events)-1].Address; project.Find(records, a) == nil {
			gone[a] = append(gone[a], events...)
		}
	}
	return gone
}

func newEvents(all, old []history.Event) []history.Event {
	type key struct {
		at      time.Time
		address session.Address
		kind    history.Kind
	}
	of := func(e history.Event) key { return key{e.Time.UTC(), e.Address, e.Kind} }
	seen := make(map[key]int, len(old))
	for _, e := range old {
		seen[of(e)]++
	}
	var added []history.Event
	for _, e := range all {
		if seen[of(e)] > 0 {
			seen[of(e)]--
			continue
		}
		added = append(added, e)
	}
	return added
}

func printEvents(a *app, events []history.Event) error {
	if a.JSON {
		return view.EventsJSON(a.Out, events)
	}
	return view.Events(a.Out, a.OutStyle(), events, time.Now())
}
