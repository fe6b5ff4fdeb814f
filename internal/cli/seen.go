package cli

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/view"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/reconcile"
	"github.com/agentform/agentform/session"
)

// sight is the project's sessions as they are now.
type sight struct {
	project *project
	reconcile.Status
	known []view.Known // on record, then what is only wanted, each in the order of addresses
}

// look sees the project's sessions once.
func (a *app) look(ctx context.Context) (*sight, error) {
	e, err := a.eyes()
	if err != nil {
		return nil, err
	}
	return e.look(ctx)
}

// eyes look at the project's sessions, as often as they are asked to.
type eyes struct {
	project    *project
	reconciler *reconcile.Reconciler
	readers    map[session.Address]reader
	histories  map[string]past // by folder
}

// reader reads the screens of an agent that is so specified.
type reader struct {
	spec  session.AgentSpec
	agent session.Agent
}

// past is a session's history as it was read.
type past struct {
	size   int64
	events []history.Event
}

// eyes opens the project for looking. Without a manifest that can be read, the
// sessions on record are seen; that it cannot be read is said.
func (a *app) eyes() (*eyes, error) {
	p, _, err := a.recorded()
	if err != nil {
		return nil, err
	}
	if session.HasErrors(p.problems) && (len(p.manifest.Files) > 0 || len(a.globals.files) > 0) {
		if err := view.Diagnostics(a.env.Stderr, a.err(), p.problems); err != nil {
			return nil, err
		}
	}
	return &eyes{
		project: p, reconciler: a.reconciler(p, toLook),
		readers: map[session.Address]reader{}, histories: map[string]past{},
	}, nil
}

// look sees all sessions, with their screens.
func (e *eyes) look(ctx context.Context) (*sight, error) {
	p := e.project
	status, err := e.reconciler.Status(ctx, true)
	if err != nil {
		return nil, err
	}
	s := &sight{project: p, Status: status}
	for _, seen := range status.Sessions {
		s.known = append(s.known, e.know(seen))
	}
	for i := range p.manifest.Sessions {
		spec := &p.manifest.Sessions[i]
		if find(status.State.Sessions, spec.Address) == nil {
			s.known = append(s.known, view.Known{Wanted: spec, Diagnosis: unbegun(*spec)})
		}
	}
	return s, nil
}

// unbegun is what is known of a session that is wanted and not on record.
func unbegun(s session.Spec) plan.Diagnosis {
	dead := false
	d := plan.Diagnosis{State: session.StatePending, Alive: &dead, Reason: plan.ReasonNew, Detail: "not applied yet"}
	if s.Desired == session.Stopped {
		d.State, d.Detail = session.StateStopped, "wanted stopped: never started"
	}
	return d
}

// addresses are all that can be named.
func (s *sight) addresses() []session.Address {
	return addresses(s.project.manifest.Sessions, s.State.Sessions)
}

// of is what is known of one session.
func (s *sight) of(a session.Address) view.Known {
	for _, k := range s.known {
		if addressOf(k) == a {
			return k
		}
	}
	return view.Known{}
}

func addressOf(k view.Known) session.Address {
	if k.Record != nil {
		return k.Record.Address
	}
	return k.Wanted.Address
}

// know lays together what is to be known of a recorded session.
func (e *eyes) know(s reconcile.Seen) view.Known {
	p := e.project
	k := view.Known{Record: &s.Record, Live: s.Live, Diagnosis: s.Diagnosis, Checkout: &s.Checkout, Reading: e.read(s)}
	for i := range p.manifest.Sessions {
		if p.manifest.Sessions[i].Address == s.Record.Address {
			k.Wanted = &p.manifest.Sessions[i]
		}
	}
	folder := p.folder(s.Record)
	k.Events = e.history(folder)
	if transcript := filepath.Join(folder, transcriptFile); fileExists(transcript) {
		k.Transcripts.Screen = transcript
	}
	return k
}

// history is what happened to the session of a folder. It is read again only
// when it has grown; what cannot be read is not shown.
func (e *eyes) history(folder string) []history.Event {
	size := history.Size(folder)
	if h, read := e.histories[folder]; read && h.size == size {
		return h.events
	}
	events, _ := history.Read(folder, time.Time{}) // without it the last event is not shown
	e.histories[folder] = past{size, events}
	return events
}

// read is what a session's agent says by its title and screen.
func (e *eyes) read(s reconcile.Seen) session.Reading {
	if s.Live == nil {
		return session.Reading{}
	}
	return e.agent(s.Record).Read(session.Evidence{
		Vital: s.Live.Vital, Exit: s.Live.Exit, Title: s.Live.Title, Screen: s.Live.Screen, OneShot: s.Record.Spec.Agent.OneShot,
	})
}

// agent reads what a session shows. Its patterns are compiled once, and not for
// each look.
func (e *eyes) agent(r session.Record) session.Agent {
	known, there := e.readers[r.Address]
	if !there || !reflect.DeepEqual(known.spec, r.Spec.Agent) {
		known = reader{r.Spec.Agent, agent.For(r.Spec.Agent)}
		e.readers[r.Address] = known
	}
	return known.agent
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
