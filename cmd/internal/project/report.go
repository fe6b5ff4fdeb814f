package project

import (
	"slices"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/report"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Removed returns the histories of sessions that left the state and have an event since a time.
// None is empty.
func Removed(p *Project, records []session.Record, since time.Time) [][]history.Event {
	own := make(map[string]bool, len(records))
	for _, r := range records {
		own[p.SessionDir(r)] = true
	}
	var gone [][]history.Event
	for _, folder := range p.SessionDirs() {
		if own[folder] || history.Changed(folder).Before(since) {
			continue
		}
		if events, err := history.Read(folder, time.Time{}); err == nil && len(events) > 0 {
			gone = append(gone, events)
		}
	}
	return gone
}

// Reported returns the facts for a report since a time: about the observed sessions that are
// recorded, and about removed ones. The error is why the usage of some is not known.
func Reported(p *Project, observed []status.Input, store *usage.Store, since time.Time) ([]report.Known, error) {
	all, err := store.All()
	used := make(map[string]*usage.Sum, len(all))
	for _, x := range all {
		used[x.ID] = new(x.Since(since.UTC().Truncate(usage.SliceLength), time.Time{}, ""))
	}
	var records []session.Record
	var found []report.Known
	for _, k := range observed {
		if k.Record == nil {
			continue
		}
		records = append(records, *k.Record)
		found = append(found, report.Known{Session: status.Of(k), Events: k.Events, Prompt: promptOf(p, k.Record.Spec.Prompt.Digest), Used: used[k.Record.ID]})
	}
	for _, events := range Removed(p, records, since) {
		given := ""
		for _, e := range slices.Backward(events) {
			if e.Kind == history.PromptDelivered {
				given = e.New
				break
			}
		}
		found = append(found, report.Known{Events: events, Prompt: promptOf(p, given), Used: used[events[len(events)-1].ID]})
	}
	return found, err
}

// promptOf returns the stored text of a prompt, or "" if there is none or it is lost.
func promptOf(p *Project, digest string) string {
	if digest == "" {
		return ""
	}
	text, _ := state.Blobs{Dir: layout.Data{Dir: p.Manifest.DataDir}.Blobs()}.Get(digest) // a report can lack it
	return text
}

// HubReport returns the report of a hub's observation since a time.
func HubReport(p *Project, s *hub.Snapshot, store *usage.Store, since time.Time) api.Report {
	observed := slices.Clone(s.Sessions)
	for i, k := range observed {
		events, err := history.Read(p.SessionDir(*k.Record), time.Time{}) // the hub only keeps the last ones
		if err != nil {
			p.Log.Warn("a history cannot be read", "session", k.Record.Address, "error", err)
			continue
		}
		observed[i].Events = events
	}
	in := report.Input{Project: p.Manifest.Project, Since: since, Until: s.At.Local(), Supervisor: api.HubRuns}
	in.Sessions, in.Unread = Reported(p, observed, store, since)
	return report.Of(in)
}

// ReportTimes returns the times of day at which notify blocks get a report.
func ReportTimes(m *config.Manifest) []string {
	var all []string
	for _, n := range m.Notifies {
		if n.Report != "" {
			all = append(all, n.Report)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
