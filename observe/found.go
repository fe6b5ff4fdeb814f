package observe

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentform/agentform/session"
)

// Finder is a runtime that can look up what somebody else started in it.
type Finder interface {
	Find(ctx context.Context, id string) session.Found
}

// found looks up what stands under the ids that are to be taken over. The word
// before an id's first colon is the runtime.
func (e Eyes) found(ctx context.Context) map[string]session.Found {
	if len(e.Imports) == 0 {
		return nil
	}
	return inParallel(e.Imports, 1, func(id string) session.Found {
		kind, _, ok := strings.Cut(id, ":")
		if !ok {
			return session.Found{Err: errors.New("it does not say which runtime it is of: want tmux:SOCKET/SESSION")}
		}
		rt, err := e.Runtime(session.RuntimeSpec{Kind: kind})
		if err != nil {
			return session.Found{Err: err}
		}
		finder, can := rt.(Finder)
		if !can {
			return session.Found{Err: fmt.Errorf("what runs in %s cannot be taken over", kind)}
		}
		return finder.Find(ctx, id)
	})
}
