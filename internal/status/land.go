package status

import (
	"errors"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/internal/wire"
)

// LandOf returns the document of one session's landing, real or previewed.
func LandOf(d land.Landed, dryRun bool) api.LandDocument {
	x := api.Landed{Address: d.Address, Branch: d.Branch, Commit: d.Commit, Base: d.Base, Method: string(d.Method), Done: d.Done, Already: d.Already,
		Commits: d.Commits, From: d.From, To: d.To, Moved: d.Moved, Remote: d.Remote, URL: d.URL, Open: d.Open, Note: d.Note, Steps: []api.LandStep{}}
	for _, s := range d.Steps {
		x.Steps = append(x.Steps, api.LandStep(s))
	}
	return api.LandDocument{Format: api.FormatVersion, DryRun: dryRun, Result: x}
}

// LandingOf returns the document of several landings, with their order and results.
func LandingOf(l land.Many, dryRun bool) api.LandingDocument {
	d := api.LandingDocument{Format: api.FormatVersion, DryRun: dryRun, Steps: []api.LandingStep{}, LeftOut: []api.LeftOut{}, Refreshes: refreshes(l.Refreshed)}
	for _, m := range l.Members {
		if m.Refused != nil {
			left := api.LeftOut{Address: m.Address, Branch: m.Branch, Why: m.Refused.Error()}
			if r := (*land.Refusal)(nil); errors.As(m.Refused, &r) {
				left.Unsaved = r.Unsaved
			}
			d.LeftOut = append(d.LeftOut, left)
			continue
		}
		x := api.LandingStep{Address: m.Address, Branch: m.Branch, Base: m.Base, Commit: m.Commit, Commits: len(m.Commits), Tree: m.Tree}
		switch n := len(d.Steps); {
		case n < len(l.Landed):
			x.Landed, x.To = l.Landed[n].Done, l.Landed[n].To
		case n == len(l.Landed) && l.Failed != nil:
			x.Error = l.Failed.Error()
		}
		d.Steps = append(d.Steps, x)
	}
	return d
}

// RefreshesOf returns the document of refreshed sessions, real or previewed.
func RefreshesOf(all []land.RefreshResult, dryRun bool) api.RefreshDocument {
	return api.RefreshDocument{Format: api.FormatVersion, DryRun: dryRun, Refreshes: refreshes(all)}
}

func refreshes(all []land.RefreshResult) []api.Refreshed {
	list := make([]api.Refreshed, len(all))
	for i, x := range all {
		list[i] = api.Refreshed{Address: x.Address, Branch: x.Branch, Base: x.Base, Method: string(x.Method), Done: x.Done, Already: x.Already, Commits: x.Commits,
			From: x.From, To: x.To, Conflicts: wire.List(x.Conflicts), Sent: x.Sent}
		if x.Err != nil {
			list[i].Error = x.Err.Error()
		}
	}
	return list
}
