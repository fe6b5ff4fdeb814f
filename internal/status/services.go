package status

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/session"
)

// Service is a tmux server or a container with sessions, or those that have neither.
type Service struct {
	Kind      string   `json:"kind"`      // tmux, docker; none: the sessions have no server or container
	Name      string   `json:"name"`      // of the container; of a tmux server, its socket
	Container string   `json:"container"` // its id; empty: a tmux server
	Engine    string   `json:"engine"`    // the docker host; empty: the environment's
	Up        *bool    `json:"up"`        // it runs; null: it cannot be known
	Sessions  []Housed `json:"sessions"`
}

// Housed is a session of a Service.
type Housed struct {
	Address  session.Address `json:"address"`
	State    session.State   `json:"state"`
	Alive    *bool           `json:"session_alive"` // null: it cannot be known
	Detail   string          `json:"detail"`
	OnRecord bool            `json:"on_record"`
}

// ServicesOf groups sessions, and live sessions without a record, by service, the last of kind
// none. hub is the hub's observation, which may reach more than this process; it may be nil.
func ServicesOf(known []Input, orphans []session.Live, hub *api.StatusDocument) []Service {
	found := map[session.Location]*Service{}
	in := func(p session.Location, r session.RuntimeSpec, up *bool) *Service {
		key := session.Location{Runtime: p.Runtime, Socket: p.Socket}
		s := Service{Kind: p.Runtime, Name: p.Socket, Up: up}
		if p.Traits().Server == "" {
			key = session.Location{Runtime: p.Runtime, Container: p.Container, Name: p.Name}
			s.Name, s.Container = p.Name, p.Container
			if r.Docker != nil {
				s.Engine = r.Docker.Host
			}
		}
		if p == (session.Location{}) {
			s = Service{Kind: NoPlace, Up: up}
		}
		x := found[key]
		if x == nil {
			found[key] = &s
			return &s
		}
		if upRank(up) > upRank(x.Up) { // a session that is gone does not prove that the server is
			x.Up = up
		}
		return x
	}
	for _, k := range known {
		if k.Record == nil {
			continue
		}
		s := Of(k)
		place, up := k.Record.Location, new(bool)
		h := Housed{s.Address, s.State, s.Alive, detailOf(s, k.Record.Spec.Runtime, hub), true}
		if x := sees(hub, s); x != nil {
			*up = x.State != session.StateError
			h.State, h.Alive, h.Detail = x.State, x.Alive, "reported by the hub"
		} else if k.Live != nil {
			place, *up = k.Live.Location, k.Live.PlaceUp
		} else if s.State == session.StateUnknown {
			up = nil
		}
		x := in(place, k.Record.Spec.Runtime, up)
		x.Sessions = append(x.Sessions, h)
	}
	for _, l := range orphans {
		alive := l.Liveness == session.Alive
		h := Housed{Address: l.Mark.Address, State: session.StateStale, Alive: &alive, Detail: "not in the state"}
		switch {
		case l.Liveness == session.Unknown:
			h.State, h.Alive = session.StateUnknown, nil
		case alive:
			h.State = session.StateRunning
		}
		x := in(l.Location, session.RuntimeSpec{}, &l.PlaceUp)
		x.Sessions = append(x.Sessions, h)
	}
	all := make([]Service, 0, len(found))
	for _, s := range found {
		slices.SortFunc(s.Sessions, func(a, b Housed) int { return a.Address.Compare(b.Address) })
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Service) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), strings.Compare(a.Name, b.Name), strings.Compare(a.Container, b.Container))
	})
	return all
}

const NoPlace = "none"

func (s Service) rank() int {
	switch {
	case s.Kind == NoPlace:
		return 2
	case session.TraitsOf(s.Kind).Server == "":
		return 1
	}
	return 0
}

// Noun returns what the service is called, such as tmux server.
func (s Service) Noun() string {
	t := session.TraitsOf(s.Kind)
	return cmp.Or(t.Server, t.Noun)
}

func upRank(up *bool) int {
	switch {
	case up == nil:
		return 1
	case *up:
		return 2
	}
	return 0
}

func sees(d *api.StatusDocument, s api.Session) *api.Session {
	if d == nil || s.State != session.StateUnknown {
		return nil
	}
	for i, x := range d.Sessions {
		if x.Address == s.Address && x.State != session.StateUnknown {
			return &d.Sessions[i]
		}
	}
	return nil
}

// detailOf returns a session's detail. Only a hub may have more about another machine's.
func detailOf(s api.Session, r session.RuntimeSpec, hub *api.StatusDocument) string {
	if s.State == session.StateUnknown && hub == nil && r.Docker != nil && strings.Contains(r.Docker.Host, "://") && !strings.HasPrefix(r.Docker.Host, "unix://") {
		return "hub not running"
	}
	return s.Detail
}
