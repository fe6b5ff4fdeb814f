package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/sessionfile"
	"github.com/agentform/agentform/session"
)

// tellEntries prints a session from its agent's own file. False: the agent keeps
// none, or has not begun it, so there is only the screen to print.
func tellEntries(ctx context.Context, a *app, p *project.Project, r session.Record, o logsOptions) (told bool, err error) {
	adapter, of := agent.For(r.Spec.Agent), p.Activity().Lookup(r)
	var reader sessionfile.Reader
	native, err := reader.Read(adapter, r.Run.ID, of)
	if err != nil {
		return false, fmt.Errorf("read the session file of %s: %w", r.Address, err)
	}
	if native == nil {
		return false, nil
	}
	lines, place, cut, err := reader.More(adapter, r.Run.ID, of, nil)
	if err != nil {
		return false, err
	}
	entries := sessionfile.Entries(adapter, lines)
	if len(entries) == 0 && !o.follow {
		return false, nil
	}
	all := len(entries)
	entries = last(o.tail, entries)
	if a.globals.json {
		return true, view.EntriesJSON(a.env.Stdout, r.Address, native.Path, entries, cut || len(entries) < all)
	}
	if cut && len(entries) == all {
		fmt.Fprintf(a.env.Stderr, "(the middle is left out; the whole file: %s)\n", plaintext.Safe(native.Path))
	}
	if err := view.Entries(a.env.Stdout, a.out(), entries, time.Now()); err != nil || !o.follow {
		return true, err
	}
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return true, outcome(exitInterrupted)
		case <-tick.C:
		}
		if lines, place, _, err = reader.More(adapter, r.Run.ID, of, place); err != nil {
			return true, err
		}
		if err := view.Entries(a.env.Stdout, a.out(), sessionfile.Entries(adapter, lines), time.Now()); err != nil {
			return true, err
		}
	}
}
