package cli

import (
	"context"
	"slices"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

const (
	// startedWait is after what time an apply looks at the sessions that it started.
	startedWait = time.Second
	// startedLimit is how long it looks at agents that are still starting: they show a
	// question after one to three seconds, on a busy machine later.
	startedLimit = 8 * time.Second
)

// lookAgain prints, at a terminal, what became of the sessions that an apply started. The
// apply is over: what cannot be observed or is interrupted is left out.
func lookAgain(ctx context.Context, a *app, p *project.Project, started map[session.Address]bool) {
	if len(started) == 0 || a.JSON || !streams.IsTerminal(a.Out) {
		return
	}
	ctx, stop := streams.UntilInterrupted(ctx)
	defer stop()
	e, began := project.Fleet(p), time.Now()
	for wait := startedWait; ; wait = startedWait / 4 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		s, err := e.Look(ctx)
		if err != nil {
			a.Log.Debug("the started sessions cannot be observed", "error", err)
			return
		}
		var all []api.Session
		for _, k := range s.Known {
			if started[k.Address()] {
				all = append(all, status.Of(k))
			}
		}
		starting := slices.ContainsFunc(all, func(x api.Session) bool {
			return x.State == session.StateStarting && x.Activity != session.Blocked
		})
		if !starting || time.Since(began) > startedLimit {
			_ = view.Started(a.Out, a.OutStyle(), all, time.Now()) // as the lines before it
			return
		}
	}
}
