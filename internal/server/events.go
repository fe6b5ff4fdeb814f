package server

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// streamEvents sends events as they happen, until the client is gone or too slow, or the
// hub ends. Clients do not slow down the hub or each other.
func (s *Server) streamEvents(w http.ResponseWriter, r *http.Request) error {
	q, only := r.URL.Query(), map[session.Address]bool{}
	for _, name := range q["session"] {
		k, err := find(s.cfg.Hub.Snapshot(), name)
		if err != nil {
			return err
		}
		only[k.Record.Address] = true
	}
	ctx, done := context.WithCancel(r.Context())
	defer done()
	from := cmp.Or(r.Header.Get("Last-Event-ID"), q.Get("after"))
	all, err := s.cfg.Hub.Events(ctx, from) // from here on nothing is missed
	if err != nil {
		return badRequest(shorten(from)+" is not the id of an event", "omit it to start now")
	}
	events := make(chan hub.Event)
	go func() {
		defer close(events)
		for e := range all {
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	control := http.NewResponseController(w)
	s.cfg.Metrics.listeners.Inc()
	defer s.cfg.Metrics.listeners.Dec()
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	send := func(text []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(s.patience))
		_, err := w.Write(text)
		return err == nil && control.Flush() == nil
	}
	pulse := time.NewTicker(s.pace)
	defer pulse.Stop()
	for on := send([]byte("retry: 2000\n\n")); on; {
		select {
		case <-ctx.Done():
			return nil
		case <-pulse.C:
			if loggedOut(s, r) {
				return nil
			}
			on = send([]byte(": keep-alive\n\n"))
		case e, more := <-events:
			if !more || loggedOut(s, r) {
				return nil
			}
			if len(only) > 0 && !only[e.Address] {
				continue
			}
			if q.Get("excerpts") == "false" {
				e.Excerpt = ""
			}
			text, err := record(e)
			if err != nil {
				return err
			}
			on = send(text)
		}
	}
	return nil
}

// record returns an event as it is sent.
func record(e hub.Event) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "id: %s\ndata: ", e.ID)
	if err := wire.WriteLine(&b, status.EventOf(e.Event)); err != nil { // one line, and its end
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
