package tmux

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentform/agentform/session"
)

// Screens is what the sessions in some places show now: one call a server, however
// many they are. A place that is gone has none.
func (r *Runtime) Screens(ctx context.Context, places []session.Place) (map[session.Place]string, error) {
	type asked struct {
		panes  []string
		places map[string]session.Place // by pane
	}
	bySocket := map[string]*asked{}
	for _, p := range places {
		if p.Pane == "" {
			continue
		}
		a := bySocket[p.Socket]
		if a == nil {
			a = &asked{places: map[string]session.Place{}}
			bySocket[p.Socket] = a
		}
		a.panes = append(a.panes, p.Pane)
		a.places[p.Pane] = p
	}
	found := make(map[session.Place]string, len(places))
	var errs []error
	for socket, a := range bySocket {
		shown, err := r.server(socket).screens(ctx, a.panes)
		if err != nil {
			errs = append(errs, fmt.Errorf("show screens: %w", err))
		}
		for id, text := range shown {
			if p, ok := a.places[id]; ok {
				found[p] = text
			}
		}
	}
	return found, errors.Join(errs...)
}
