package hub

import (
	"context"
	"time"

	"github.com/agentform/agentform/session"
)

// listenAgain is when a runtime that could not tell is listened to again: a daemon
// that is restarted is away for seconds.
const listenAgain = 5 * time.Second

// listen has each runtime that sessions are in, and that can, tell when something
// happens. Each is listened to once.
func (h *Hub) listen(ctx context.Context, s *Snapshot) {
	for _, k := range s.Sessions {
		spec := k.Record.Spec.Runtime
		if h.listening[spec.Key()] {
			continue
		}
		rt, err := h.rec.Opened(s.Lineage, spec)
		if err != nil {
			continue // the look said so, and the next one tries again
		}
		h.listening[spec.Key()] = true
		if n, can := rt.(session.EventSource); can {
			h.work.Go(func() { h.hearOf(ctx, n, spec) })
		}
	}
}

// hearOf looks whenever a runtime tells that something happened, and when it can
// tell again after it could not: what happened meanwhile was told to nobody.
func (h *Hub) hearOf(ctx context.Context, n session.EventSource, spec session.RuntimeSpec) {
	for {
		err := n.Events(ctx, h.Wake)
		if ctx.Err() != nil {
			return
		}
		h.log.Warn("a runtime does not tell what happens: the sweep sees it", "runtime", spec.Key(), "error", err)
		if !sleep(ctx, listenAgain) {
			return
		}
		h.Wake()
	}
}
