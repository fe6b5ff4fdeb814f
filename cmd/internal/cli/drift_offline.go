package cli

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// offlineDrift holds the record against the manifest: what apply would do if
// everything on record were as it is there. Nothing is looked at, so the report
// is never complete.
func offlineDrift(p *project.Project, s state.State, options plan.Options) view.DriftReport {
	q := p.Request(options)
	records := make(map[session.Address]*session.Record, len(s.Sessions))
	for i := range s.Sessions {
		a := s.Sessions[i].Address
		for _, m := range q.Moves {
			if a.Within(m.From) {
				a = m.To + a[len(m.From):]
			}
		}
		records[a] = &s.Sessions[i]
	}
	wanted := make([]session.Spec, len(q.Wanted))
	for i, w := range q.Wanted {
		wanted[i] = moveHome(w, records[w.Address])
	}
	// Imports are left out: what stands under an id is not looked for.
	made := plan.Compute(plan.Input{
		Now: time.Now(), Project: p.Manifest.Project, Lineage: s.Lineage, Serial: s.Serial,
		Wanted: wanted, Moves: q.Moves, Removed: q.Removed, Records: s.Sessions, World: asRecorded(s, wanted), Options: options,
	})
	report := view.DriftReport{Serial: made.Serial, At: made.At, Offline: true}
	faults := map[session.Address]session.Diagnostic{}
	for _, d := range made.Problems {
		if _, told := faults[d.Address]; !told {
			faults[d.Address] = d
		}
	}
	for _, c := range made.Changes {
		if c.Reason == plan.ReasonNotTargeted {
			continue
		}
		report.Sessions = append(report.Sessions, c.Address)
		fault, faulty := faults[c.Address]
		if detail := unapplied(c); detail != "" {
			report.Items = append(report.Items, view.DriftItem{Address: c.Address, Kind: view.NotApplied, Detail: detail})
		} else if faulty {
			first, _, _ := strings.Cut(fault.Detail, "\n")
			report.Items = append(report.Items, view.DriftItem{Address: c.Address, Kind: view.NotApplied, Detail: fault.Summary + ": " + first})
		}
	}
	return report
}

// unapplied says how a session's record is not as the manifest declares it;
// empty: it is.
func unapplied(c plan.Change) string {
	switch {
	case c.Action == plan.None:
		return ""
	case c.Before == nil:
		return "declared, and not on record"
	case c.After == nil && c.Reason != plan.ReasonRemoved:
		return "on record, and no longer in the manifest"
	case c.Reason == plan.ReasonMoved:
		return "on record as " + string(c.Moved)
	case c.Moved != "":
		return "on record as " + string(c.Moved) + "; " + c.Detail
	case c.Detail == "":
		return string(c.Action)
	}
	return c.Detail
}

// asRecorded is the world in which every recorded session is as it is on record,
// and nothing stands in the way of those that are not.
func asRecorded(s state.State, wanted []session.Spec) session.World {
	w := session.World{Runtimes: map[string]error{}, Checkouts: map[string]session.Checkout{}}
	for _, spec := range wanted {
		w.Runtimes[spec.Runtime.Engine()] = nil
		if spec.Workspace.Mode == session.InPlace {
			w.Checkouts[spec.Workspace.Path] = session.Checkout{Path: spec.Workspace.Path, Exists: true, Git: true, Branch: spec.Branch}
		}
	}
	for _, r := range s.Sessions {
		w.Runtimes[r.Spec.Runtime.Engine()] = nil
		w.Checkouts[r.Tree.Path] = session.Checkout{Path: r.Tree.Path, Exists: true, Git: r.Tree.Mode != session.Plain, Branch: r.Tree.Branch}
		told := r.Spec.Desired
		if r.Override != nil {
			told = r.Override.Desired
		}
		if r.Intent == session.Creating || r.Unmade() || told == session.Stopped {
			continue
		}
		w.Lives = append(w.Lives, session.Live{
			Mark:  session.Mark{Project: s.Lineage, Address: r.Address, ID: r.ID, Run: r.Run.ID},
			Place: r.Place, PlaceUp: true, Vital: session.Alive, InputOff: told == session.Paused,
		})
	}
	return w
}

// moveHome is a wanted session as it would be on the machine that its record is
// of. Paths are absolute in both: where the recorded repository is not here, the
// manifest is read in another clone of it, and only that would differ.
func moveHome(w session.Spec, r *session.Record) session.Spec {
	if r == nil {
		return w
	}
	was := r.Spec.Workspace
	home := was.Repo
	if home == "" {
		home = was.Path
	}
	if was.Mode != w.Workspace.Mode || fileExists(home) {
		return w
	}
	inside, err := filepath.Rel(w.Workspace.Repo, w.Workspace.Path)
	switch {
	case w.Workspace.Repo != "" && err == nil && filepath.IsLocal(inside):
		w.Workspace.Path = filepath.Join(was.Repo, inside)
	case !w.Workspace.Explicit && !was.Explicit && w.Branch == r.Spec.Branch:
		w.Workspace.Path = was.Path
	}
	w.Workspace.Repo = was.Repo
	return w
}
