package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// found looks up the objects to import. The word before an id's first colon is the
// kind of its runtime.
func (o Observer) found(ctx context.Context) map[string]session.Found {
	if len(o.Imports) == 0 {
		return nil
	}
	return inParallel(slices.Collect(maps.Keys(o.Imports)), 1, func(id string) session.Found {
		kind, _, ok := strings.Cut(id, ":")
		if !ok {
			return session.Found{Err: errors.New("it does not say which runtime it is of: want tmux:SOCKET/SESSION or docker:CONTAINER")}
		}
		in := o.Imports[id]
		if in.Kind != kind {
			return session.Found{Err: fmt.Errorf("it is of %s, and the session is declared in %s: give that a runtime of kind %s", kind, in.Key(), kind)}
		}
		rt, err := o.Runtime(in)
		if err != nil {
			return session.Found{Err: err}
		}
		finder, can := rt.(session.Adopter)
		if !can {
			return session.Found{Err: fmt.Errorf("what runs in %s cannot be taken over", kind)}
		}
		return finder.Find(ctx, id)
	})
}
