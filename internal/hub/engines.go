package hub

import (
	"context"
	"time"

	"github.com/agentform/agentform/session"
)

// Noticer is a runtime that tells by itself when something happens in it, as an
// engine's stream of events does.
type Noticer interface {
	// Events calls happened each time that something happens to a session of the
	// project, until ctx ends. The error says that it cannot tell (any more).
	Events(ctx context.Context, happened func()) error
}

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
		if n, can := rt.(Noticer); can {
			h.work.Go(func() { h.hearOf(ctx, n, spec) })
		}
	}
}

// hearOf looks whenever a runtime tells that something happened, and when it can
// tell again after it could not: what happened meanwhile was told to nobody.
func (h *Hub) hearOf(ctx context.Context, n Noticer, spec session.RuntimeSpec) {
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
