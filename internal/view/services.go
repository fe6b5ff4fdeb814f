package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// Service is a place in which sessions live: a tmux server, or a container.
type Service struct {
	Kind      string   `json:"kind"`      // tmux, docker
	Name      string   `json:"name"`      // of the container; of a tmux server, its socket
	Container string   `json:"container"` // its id; empty: a tmux server
	Engine    string   `json:"engine"`    // the docker host; empty: the environment's
	Up        *bool    `json:"up"`        // it runs; null: it cannot be known
	Sessions  []Housed `json:"sessions"`
}

// Housed is a session of ours in such a place.
type Housed struct {
	Address  session.Address `json:"address"`
	State    session.State   `json:"state"`
	Alive    *bool           `json:"session_alive"` // null: it cannot be known
	Detail   string          `json:"detail"`
	OnRecord bool            `json:"on_record"`
}

// ServicesOf gathers the places of sessions as they are known, and of what is live
// and on no record. Hub is what the hub sees of them, which may reach what cannot be
// reached from here; nil: there is none.
func ServicesOf(known []Known, orphans []session.Live, hub *StatusDocument) []Service {
	found := map[session.Place]*Service{}
	in := func(p session.Place, r session.RuntimeSpec, up *bool) *Service {
		key := session.Place{Runtime: p.Runtime, Socket: p.Socket}
		s := Service{Kind: p.Runtime, Name: p.Socket, Up: up}
		if p.Runtime == "docker" {
			key = session.Place{Runtime: p.Runtime, Container: p.Container, Name: p.Name}
			s.Name, s.Container = p.Name, p.Container
			if r.Docker != nil {
				s.Engine = r.Docker.Host
			}
		}
		if found[key] == nil {
			found[key] = &s
		}
		return found[key]
	}
	for _, k := range known {
		if k.Record == nil || k.Record.Place == (session.Place{}) && k.Live == nil {
			continue
		}
		s := SessionOf(k)
		place, up := k.Record.Place, new(bool)
		if x, sees := hub.sees(s); sees {
			x.Detail, *up = "as the hub sees it", x.State != session.StateError
			y := in(place, k.Record.Spec.Runtime, up)
			y.Sessions = append(y.Sessions, Housed{x.Address, x.State, x.Alive, x.Detail, true})
			continue
		}
		switch {
		case k.Live != nil:
			place, *up = k.Live.Place, k.Live.PlaceUp
		case s.State == session.StateUnknown:
			up = nil
		case place.Runtime == "tmux":
			continue // the server may be there; the session is not in it
		}
		x := in(place, k.Record.Spec.Runtime, up)
		x.Sessions = append(x.Sessions, Housed{s.Address, s.State, s.Alive, s.unknownBecause(k.Record.Spec.Runtime, hub), true})
	}
	for _, l := range orphans {
		alive := l.Vital == session.Alive
		h := Housed{Address: l.Mark.Address, State: session.StateStale, Alive: &alive, Detail: "not on record"}
		switch {
		case l.Vital == session.Unknown:
			h.State, h.Alive = session.StateUnknown, nil
		case alive:
			h.State = session.StateRunning
		}
		x := in(l.Place, session.RuntimeSpec{}, &l.PlaceUp)
		x.Sessions = append(x.Sessions, h)
	}
	all := make([]Service, 0, len(found))
	for _, s := range found {
		slices.SortFunc(s.Sessions, func(a, b Housed) int { return a.Address.Compare(b.Address) })
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Service) int {
		return cmp.Or(strings.Compare(b.Kind, a.Kind), strings.Compare(a.Name, b.Name), strings.Compare(a.Container, b.Container))
	})
	return all
}

// sees is what the hub sees of a session of which nothing is known here.
func (d *StatusDocument) sees(s Session) (Session, bool) {
	if d == nil || s.State != session.StateUnknown {
		return Session{}, false
	}
	i := slices.IndexFunc(d.Sessions, func(x Session) bool { return x.Address == s.Address && x.State != session.StateUnknown })
	if i < 0 {
		return Session{}, false
	}
	return d.Sessions[i], true
}

// unknownBecause is what there is to say about the state of a session. Of one on
// another machine's engine, only a hub that stays connected could know more.
func (s Session) unknownBecause(r session.RuntimeSpec, hub *StatusDocument) string {
	if s.State == session.StateUnknown && hub == nil && r.Docker != nil && strings.Contains(r.Docker.Host, "://") && !strings.HasPrefix(r.Docker.Host, "unix://") {
		return "session state unknown (hub down)"
	}
	if s.State == session.StateUnknown {
		return "session state unknown: " + s.Detail
	}
	return s.Detail
}

// Services writes the places, each with its sessions, and last how many there are.
func Services(w io.Writer, st Style, all []Service) error {
	p := &page{Style: st}
	if len(all) == 0 {
		p.line("No sessions.")
		return p.flush(w)
	}
	counts := map[session.State]int{}
	kinds := map[string]int{}
	for _, s := range all {
		kinds[s.Kind]++
		p.line(s.title(p))
		var rows [][]cell
		for _, h := range s.Sessions {
			counts[h.State]++
			detail := h.Detail
			if detail == string(h.State) {
				detail = ""
			}
			rows = append(rows, []cell{{string(h.Address), bold}, {string(h.State), stateInk(h.State)}, {text: detail}})
		}
		p.table("  ", []column{{}, {}, {min: 20}}, rows)
	}
	p.line()
	p.line(places(kinds), "; ", p.stateNumbers(counts))
	return p.flush(w)
}

// title is a place in one line.
func (s Service) title(p *page) string {
	kind, more := "tmux server", ""
	if s.Kind == "docker" {
		kind, more = "container", " ("+s.Container[:min(12, len(s.Container))]+")"
		if s.Engine != "" {
			more += " on " + s.Engine
		}
	}
	switch {
	case s.Up == nil:
		more += ", " + p.paint(yellow, "unknown")
	case !*s.Up:
		more += ", " + p.paint(red, "does not run")
	}
	return kind + " " + p.paint(bold, oneLine(s.Name)) + more
}

// places counts them: 1 tmux server, 3 containers.
func places(kinds map[string]int) string {
	var parts []string
	for _, k := range []struct{ kind, noun string }{{"tmux", "tmux server"}, {"docker", "container"}} {
		switch n := kinds[k.kind]; n {
		case 0:
		case 1:
			parts = append(parts, "1 "+k.noun)
		default:
			parts = append(parts, fmt.Sprintf("%d %ss", n, k.noun))
		}
	}
	return strings.Join(parts, ", ")
}

// ServicesJSON writes the places as one document.
func ServicesJSON(w io.Writer, all []Service) error {
	counts := map[session.State]int{}
	for _, s := range all {
		for _, h := range s.Sessions {
			counts[h.State]++
		}
	}
	return Document(w, struct {
		Format   string                `json:"format_version"`
		Services []Service             `json:"services"`
		Counts   map[session.State]int `json:"counts"`
	}{FormatVersion, list(all), counts})
}
