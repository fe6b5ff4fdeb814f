package cli

import (
	"context"
	"os"
	"path/filepath"
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

// look sees the project's sessions with their screens. Without a manifest that
// can be read, those on record are shown; that it cannot be read is said.
func (a *app) look(ctx context.Context) (*sight, error) {
	p, _, err := a.recorded()
	if err != nil {
		return nil, err
	}
	if session.HasErrors(p.problems) {
		if err := view.Diagnostics(a.env.Stderr, a.err(), p.problems); err != nil {
			return nil, err
		}
	}
	status, err := a.reconciler(p, toLook).Status(ctx, true)
	if err != nil {
		return nil, err
	}
	s := &sight{project: p, Status: status}
	for _, seen := range status.Sessions {
		s.known = append(s.known, p.know(seen))
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
func (p *project) know(s reconcile.Seen) view.Known {
	k := view.Known{Record: &s.Record, Live: s.Live, Diagnosis: s.Diagnosis, Checkout: &s.Checkout, Reading: read(s)}
	for i := range p.manifest.Sessions {
		if p.manifest.Sessions[i].Address == s.Record.Address {
			k.Wanted = &p.manifest.Sessions[i]
		}
	}
	folder := p.folder(s.Record)
	k.Events, _ = history.Read(folder, time.Time{}) // without it the last event is not shown
	if transcript := filepath.Join(folder, transcriptFile); fileExists(transcript) {
		k.Transcripts.Screen = transcript
	}
	return k
}

// read is what a session's agent says by its title and screen.
func read(s reconcile.Seen) session.Reading {
	if s.Live == nil {
		return session.Reading{}
	}
	spec := s.Record.Spec.Agent
	return agent.For(spec).Read(session.Evidence{
		Vital: s.Live.Vital, Exit: s.Live.Exit, Title: s.Live.Title, Screen: s.Live.Screen, OneShot: spec.OneShot,
	})
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
