package watch

import (
	"context"
	"slices"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/project"
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

// Started looks at sessions that were started until none of them is starting any more. It returns none if
// they cannot be observed or ctx ends.
func Started(ctx context.Context, p *project.Project, started map[session.Address]bool) []api.Session {
	e, began := project.Fleet(p), time.Now()
	for wait := startedWait; ; wait = startedWait / 4 {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		s, err := e.Look(ctx)
		if err != nil {
			p.Log.Debug("the started sessions cannot be observed", "error", err)
			return nil
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
			return all
		}
	}
}
