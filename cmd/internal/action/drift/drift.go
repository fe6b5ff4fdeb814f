// Package drift compares running sessions, or a manifest, with the state.
package drift

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/remedy"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Failed reports whether CI must fail on a comparison: it is incomplete, has an error, or finds a
// workspace on another branch.
func Failed(r view.DriftReport) bool {
	mismatched := func(i view.DriftItem) bool { return i.Kind == plan.BranchMismatch }
	return !r.Complete && !r.Offline || session.HasErrors(r.Problems) || slices.ContainsFunc(r.Items, mismatched)
}

// Live compares running sessions with a state. It includes declared sessions without a record,
// since they may be running.
func Live(ctx context.Context, p *project.Project, s state.State, options plan.Options) (view.DriftReport, error) {
	const tries = 3
	r := p.Reconciler(project.ToRead)
	for n := 1; ; n++ {
		made, err := r.Plan(ctx, engine.Request{Wanted: recordedOrDeclared(p, s), Options: options})
		if err != nil {
			return view.DriftReport{}, err
		}
		if made.Serial != s.Serial && n < tries { // changed since it was read
			if s, err = state.Read(p.State); err != nil {
				return view.DriftReport{}, err
			}
			continue
		}
		report := reportOf(made, p.Owner())
		report.Complete = report.Complete && made.Serial == s.Serial
		return report, nil
	}
}

func recordedOrDeclared(p *project.Project, s state.State) []session.Spec {
	var specs []session.Spec
	for _, r := range s.Sessions {
		specs = append(specs, r.Spec)
		specs[len(specs)-1].Address = r.Address
	}
	for _, w := range p.Manifest.Sessions {
		if project.Find(s.Sessions, w.Address) == nil {
			specs = append(specs, w)
		}
	}
	return specs
}

// reportOf returns the report of a plan. A session that another machine has was not inspected.
func reportOf(made plan.Plan, here session.Owner) view.DriftReport {
	report := view.DriftReport{Serial: made.Serial, At: made.At}
	ambiguous, drifted := map[session.Address]bool{}, map[session.Address]bool{}
	for _, d := range made.Drift {
		drifted[d.Address] = true
	}
	var strays []view.DriftItem
	for _, c := range made.Changes {
		ambiguous[c.Address] = c.Reason == plan.ReasonAmbiguous
		switch {
		case c.Reason == plan.ReasonNotTargeted:
		case c.Reason == plan.ReasonElsewhere && !drifted[c.Address]:
			report.Sessions = append(report.Sessions, c.Address)
			report.Items = append(report.Items, view.DriftItem{Address: c.Address, Kind: plan.Unreachable,
				Detail: remedy.With(c.Detail, plan.Elsewhere(*c.Before, here))})
		case c.Reason == plan.ReasonUnderWay && !drifted[c.Address]:
			report.UnderWay++
		case c.Before != nil:
			report.Sessions = append(report.Sessions, c.Address)
		case c.Live != nil:
			strays = append(strays, view.DriftItem{Address: c.Address, Kind: plan.Orphaned, Detail: "it is running and declared, but not in the state; apply adopts it"})
		}
	}
	for _, d := range made.Drift {
		if d.Kind != plan.Orphaned || includes(made.Options, d.Address) {
			report.Items = append(report.Items, view.DriftItem{Address: d.Address, Kind: d.Kind, Detail: d.Detail})
		}
	}
	report.Items = append(report.Items, strays...)
	report.Complete = made.Complete && !slices.ContainsFunc(report.Items, unknown)
	// A problem that prevents a session's declared state belongs to plan and is not drift, unless
	// it is unclear which object is the session.
	for _, d := range made.Problems {
		if d.Address == "" || ambiguous[d.Address] {
			report.Problems = append(report.Problems, d)
		}
	}
	return report
}

// includes selects sessions that are neither declared nor recorded.
func includes(o plan.Options, a session.Address) bool {
	return (len(o.Targets) == 0 || slices.ContainsFunc(o.Targets, a.Within)) && !slices.ContainsFunc(o.Exclude, a.Within)
}

// Read returns the state to compare with.
func Read(p *project.Project) (state.State, error) {
	s, err := state.Read(p.State)
	if errors.Is(err, state.ErrNone) {
		err = fmt.Errorf("no state to compare with: %s does not exist\nagentform apply creates it; run this in the project's directory (-C DIR), or give another state with --state FILE", p.State)
	}
	return s, err
}

// Ignore leaves the sessions of typed addresses out of a report, which may complete it. It returns
// the addresses that no session has, and an error for an invalid address.
func Ignore(r *view.DriftReport, known []session.Address, typed []string) (none []string, err error) {
	for _, i := range r.Items {
		known = append(known, i.Address)
	}
	var ignored []session.Address
	for _, t := range typed {
		found, err := choose.Resolve(known, t)
		if err != nil {
			if _, unreadable := session.ParseAddress(t); unreadable != nil {
				return nil, unreadable
			}
			none = append(none, t)
		}
		ignored = append(ignored, found...)
	}

	out := func(a session.Address) bool { return slices.Contains(ignored, a) }
	before := slices.ContainsFunc(r.Items, unknown)
	r.Items = slices.DeleteFunc(r.Items, func(i view.DriftItem) bool { return out(i.Address) })
	compared := len(r.Sessions)
	r.Sessions = slices.DeleteFunc(r.Sessions, out)
	r.Ignored = compared - len(r.Sessions)
	r.Problems = slices.DeleteFunc(r.Problems, func(d session.Diagnostic) bool { return out(d.Address) })
	if before && !slices.ContainsFunc(r.Items, unknown) && !stateMoved(r.Problems) {
		r.Complete, r.Problems = true, nil
	}
	return none, nil
}

func unknown(i view.DriftItem) bool { return i.Kind == plan.Unreachable }

func stateMoved(problems []session.Diagnostic) bool {
	return slices.ContainsFunc(problems, func(d session.Diagnostic) bool { return d.Severity == session.Warning })
}

// Offline compares a state with the manifest, as if every session were running as recorded. Its
// report is never complete.
func Offline(p *project.Project, s state.State, options plan.Options) view.DriftReport {
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
		wanted[i] = relocate(w, records[w.Address])
	}
	// Leave imports out: their ids are not looked up.
	made := engine.Explain(plan.Compute(plan.Input{
		Now: time.Now(), Project: p.Manifest.Project, Lineage: s.Lineage, Serial: s.Serial,
		Wanted: wanted, Moves: q.Moves, Removed: q.Removed, Records: s.Sessions, World: asRecorded(s, wanted), Options: options,
	}))
	report := view.DriftReport{Serial: made.Serial, At: made.At, Offline: true}
	faults := map[session.Address]string{}
	for _, d := range slices.Backward(made.Problems) { // keep the first one
		first, _, _ := strings.Cut(d.Detail, "\n")
		faults[d.Address] = d.Summary + ": " + first
	}
	for _, c := range made.Changes {
		if c.Reason == plan.ReasonNotTargeted {
			continue
		}
		report.Sessions = append(report.Sessions, c.Address)
		if detail := cmp.Or(describe(c), faults[c.Address]); detail != "" {
			report.Items = append(report.Items, view.DriftItem{Address: c.Address, Kind: view.NotApplied, Detail: detail})
		}
	}
	return report
}

func describe(c plan.Change) string {
	switch {
	case c.Action == plan.None:
		return ""
	case c.Before == nil:
		return "declared, but not in the state"
	case c.After == nil && c.Reason != plan.ReasonRemoved:
		return "in the state, but no longer in the manifest"
	case c.Reason == plan.ReasonMoved:
		return "in the state as " + string(c.Moved)
	case c.Moved != "":
		return "in the state as " + string(c.Moved) + "; " + c.Detail
	case c.Detail == "":
		return string(c.Action)
	}
	return c.Detail
}

// asRecorded returns a world in which nothing prevents the other sessions.
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
		desired := plan.Desired(r)
		if r.Intent == session.Creating || r.Unmade() || desired == session.Stopped {
			continue
		}
		w.Lives = append(w.Lives, session.Live{
			Mark:     session.Mark{Project: s.Lineage, Address: r.Address, ID: r.ID, Run: r.Run.ID},
			Location: r.Location, PlaceUp: true, Liveness: session.Alive, InputOff: desired == session.Paused,
		})
	}
	return w
}

// relocate compares in another clone of the recorded repository, where only paths would differ.
func relocate(w session.Spec, r *session.Record) session.Spec {
	if r == nil {
		return w
	}
	was := r.Spec.Workspace
	if was.Mode != w.Workspace.Mode || session.Remote(was.Repo) || session.Remote(w.Workspace.Repo) || exists(cmp.Or(was.Repo, was.Path)) {
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

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Locate adds the manifest's location of a report's sessions. name returns a file's name for the
// report.
func Locate(p *project.Project, r *view.DriftReport, name func(file string) string) {
	if len(p.Manifest.Files) > 0 {
		r.Manifest = name(p.Manifest.Files[0])
	}
	for i := range r.Items {
		if at, known := p.Manifest.Ranges[r.Items[i].Address]; known {
			at.Filename = name(at.Filename)
			r.Items[i].Range = &at
		}
	}
}
