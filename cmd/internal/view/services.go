package view

import (
	"io"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// Services writes the services, each with its sessions, and then the totals.
func Services(w io.Writer, st Style, all []status.Service) error {
	p := &page{Style: st}
	if len(all) == 0 {
		p.line("No sessions.")
		return p.flush(w)
	}
	for _, s := range all {
		p.line(serviceTitle(p, s))
		var rows [][]cell
		for _, h := range s.Sessions {
			detail := h.Detail
			if detail == string(h.State) {
				detail = ""
			}
			rows = append(rows, []cell{{string(h.Address), bold}, {string(h.State), stateInk(h.State)}, {text: LocalTimes(detail, time.Now())}})
		}
		p.table("  ", []column{{}, {}, {min: 20}}, rows)
	}
	p.line()
	numbers := paintCounts(p, housed(all))
	if n := places(all); n != "" {
		numbers = n + "; " + numbers
	}
	p.line(numbers)
	return p.flush(w)
}

// shortID returns a container's id as Docker shows it; the name of a pod stays whole.
func shortID(id string) string {
	if len(id) == 64 {
		return id[:12]
	}
	return id
}

func serviceTitle(p *page, s status.Service) string {
	if s.Kind == status.NoPlace {
		return "no server or container"
	}
	more := ""
	if s.Container != "" {
		more = " (" + shortID(s.Container) + ")"
	}
	if s.Engine != "" {
		more += " on " + s.Engine
	}
	switch {
	case s.Up == nil:
		more += ", " + p.paint(yellow, "unknown")
	case !*s.Up:
		more += ", " + p.paint(red, "not running")
	}
	return s.Noun() + " " + p.paint(bold, plaintext.OneLine(s.Name)) + more
}

// places counts the services by kind, in their order.
func places(all []status.Service) string {
	var parts []string
	for len(all) > 0 && all[0].Kind != status.NoPlace {
		n := 1
		for n < len(all) && all[n].Kind == all[0].Kind {
			n++
		}
		parts, all = append(parts, plaintext.Count(n, all[0].Noun())), all[n:]
	}
	return strings.Join(parts, ", ")
}

// ServicesJSON writes the services as one document.
func ServicesJSON(w io.Writer, all []status.Service) error {
	return document(w, "services", wire.List(all), "counts", housed(all))
}

func housed(all []status.Service) map[session.State]int {
	counts := map[session.State]int{}
	for _, s := range all {
		for _, h := range s.Sessions {
			counts[h.State]++
		}
	}
	return counts
}
