package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// isEventID reports whether a text looks like the id of an event, LIFE.NUMBER.TIME.
func isEventID(s string) bool {
	parts := strings.Split(s, ".")
	if len(parts) != 3 || parts[0] == "" {
		return false
	}
	_, number := strconv.ParseUint(parts[1], 10, 64)
	_, at := strconv.ParseInt(parts[2], 10, 64)
	odd := func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'z') }
	return number == nil && at == nil && !strings.ContainsFunc(parts[0], odd)
}

// streamEvents sends events as they happen, until the client is gone or too slow, or the
// hub ends. Clients do not slow down the hub or each other.
func (s *Server) streamEvents(w http.ResponseWriter, r *http.Request) error {
	from, only, err := s.wantedEvents(r)
	if err != nil {
		return err
	}
	control := http.NewResponseController(w)
	s.cfg.Metrics.listen(1)
	defer s.cfg.Metrics.listen(-1)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	ctx, done := context.WithCancel(r.Context())
	defer done()
	events := s.take(ctx, from)
	send := func(text []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(s.patience))
		if _, err := w.Write(text); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	pulse := time.NewTicker(s.pace)
	defer pulse.Stop()
	for on := send([]byte("retry: 2000\n\n")); on; {
		select {
		case <-ctx.Done():
			return nil
		case <-pulse.C:
			on = send([]byte(": the hub lives\n\n"))
		case e, more := <-events:
			if !more {
				return nil
			}
			if len(only) > 0 && !only[e.Address] {
				continue
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

// wantedEvents returns which events a request wants: those after one, and those of some
// sessions, or of all.
func (s *Server) wantedEvents(r *http.Request) (from string, only map[session.Address]bool, err error) {
	q, err := parseQuery(r, after, of)
	if err == nil {
		err = noBody(r)
	}
	if err != nil {
		return "", nil, err
	}
	from = q.Get("after")
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		from = last
	}
	if from != "" && !isEventID(from) {
		return "", nil, badRequest(shorten(from)+" is not the id of an event", "leave it out to begin now")
	}
	only = map[session.Address]bool{}
	for _, name := range q["session"] {
		k, err := find(s.cfg.Hub.Snapshot(), name)
		if err != nil {
			return "", nil, err
		}
		only[k.Record.Address] = true
	}
	return from, only, nil
}

// take returns the hub's events after one, until ctx ends.
func (s *Server) take(ctx context.Context, from string) <-chan hub.Event {
	events := make(chan hub.Event)
	all := s.cfg.Hub.Events(ctx, from) // from here on nothing is missed
	go func() {
		defer close(events)
		for e, err := range all {
			if err != nil {
				s.log.Debug("a stream of events ends", "error", err)
				return
			}
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events
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
