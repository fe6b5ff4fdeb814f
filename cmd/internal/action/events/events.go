// Package events reads the histories of sessions, including removed ones.
package events

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Reader reads events, and later the added ones.
type Reader struct {
	Typed []string // addresses; none: all sessions in the state
	Since time.Time
	Open  func() (*project.Project, state.State, error)
	Log   *slog.Logger
	past  []history.Event
}

// All returns the events, the oldest first.
func (r *Reader) All() (all []history.Event, err error) {
	r.past, err = r.read()
	return r.past, err
}

// Added returns the events added since the last call.
func (r *Reader) Added() ([]history.Event, error) {
	if n := len(r.past); n > 0 && r.past[n-1].Time.Add(-maxDelay).After(r.Since) {
		r.Since = r.past[n-1].Time.Add(-maxDelay)
	}
	before := r.past
	all, err := r.All()
	if err != nil {
		return nil, err
	}
	return added(all, before), nil
}

// maxDelay bounds how late an event may be written, since several processes write.
const maxDelay = 10 * time.Second

func (r *Reader) read() ([]history.Event, error) {
	p, s, err := r.Open()
	if err != nil {
		return nil, err
	}
	named := choose.Addresses(nil, s.Sessions)
	var all []history.Event
	if len(r.Typed) > 0 {
		gone := removed(p, s.Sessions)
		known := append(choose.Addresses(p.Manifest.Sessions, s.Sessions), slices.Collect(maps.Keys(gone))...)
		slices.SortFunc(known, session.Address.Compare)
		if named, err = choose.All(slices.Compact(known), r.Typed); err != nil {
			return nil, err
		}
		for _, address := range named {
			all = append(all, slices.DeleteFunc(gone[address], func(e history.Event) bool { return e.Time.Before(r.Since) })...)
		}
	}
	for _, rec := range s.Sessions {
		if !slices.Contains(named, rec.Address) {
			continue
		}
		events, err := history.Read(p.SessionDir(rec), r.Since)
		switch {
		case err != nil && len(r.Typed) > 0:
			return nil, fmt.Errorf("read the history of %s: %w", rec.Address, err)
		case err != nil: // the other sessions still have theirs
			r.Log.Warn("a history cannot be read", "session", rec.Address, "error", err)
		}
		all = append(all, events...)
	}
	return history.InOrder(all), nil
}

// removed returns the events of sessions that left the state, by last address.
func removed(p *project.Project, records []session.Record) map[session.Address][]history.Event {
	gone := map[session.Address][]history.Event{}
	for _, events := range project.Removed(p, records, time.Time{}) {
		if a := events[len(events)-1].Address; project.Find(records, a) == nil {
			gone[a] = append(gone[a], events...)
		}
	}
	return gone
}

// added returns the events that are not among the old ones.
func added(all, old []history.Event) []history.Event {
	type key struct {
		at      time.Time
		address session.Address
		kind    history.Kind
	}
	of := func(e history.Event) key { return key{e.Time.UTC(), e.Address, e.Kind} }
	seen := make(map[key]int, len(old))
	for _, e := range old {
		seen[of(e)]++
	}
	var more []history.Event
	for _, e := range all {
		if seen[of(e)] > 0 {
			seen[of(e)]--
			continue
		}
		more = append(more, e)
	}
	return more
}
