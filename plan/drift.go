package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// drift lists the differences between live sessions and their records, and the managed live
// sessions without a record.
func drift(j *join, selected func(session.Address) bool) []Drift {
	var found []Drift
	for _, a := range j.addresses {
		if r := j.records[a]; r != nil && selected(a) {
			found = append(found, drifted(r, j.lives[a], j.in.World)...)
		}
	}
	slices.SortFunc(j.orphans, func(a, b session.Live) int {
		return cmp.Or(session.Address.Compare(a.Mark.Address, b.Mark.Address), strings.Compare(where(a.Location), where(b.Location)))
	})
	for _, l := range j.orphans {
		found = append(found, Drift{Address: l.Mark.Address, Kind: Orphaned,
			Detail: fmt.Sprintf("%s (run %s) is managed by agentform but not in the state; it is not changed", where(l.Location), l.Mark.Run)})
	}
	return found
}

func drifted(r *session.Record, l *session.Live, w session.World) []Drift {
	var found []Drift
	add := func(k DriftKind, detail string) {
		found = append(found, Drift{Address: r.Address, Kind: k, Detail: detail})
	}
	d := Diagnose(r, l, w)
	if d.Reason == ReasonElsewhere && w.Shared {
		return nil // it is for another machine to tell
	}
	diagnosed := func(k DriftKind) {
		found = append(found, Drift{Address: r.Address, Kind: k, Detail: d.Detail, Remedy: d.Remedy})
	}
	switch d.State {
	case session.StateUnknown:
		diagnosed(Unreachable)
	case session.StateError:
		if r.Intent != session.Creating && !r.Unmade() { // what never stood is not missing
			diagnosed(Missing)
		}
	case session.StateStale:
		switch { // as status names it
		case d.Activity == session.Failed:
			diagnosed(Failed)
		case d.Reason == ReasonExited:
			diagnosed(Exited)
		default:
			diagnosed(Stale)
		}
	case session.StatePaused:
		switch {
		case Desired(*r) == session.Running && l.Suspended:
			diagnosed(Changed)
		case Desired(*r) == session.Running:
			add(Changed, "paused outside of agentform")
		}
	case session.StateRunning:
		switch {
		case Desired(*r) != session.Running:
			add(Changed, fmt.Sprintf("runs although it should be %s", Desired(*r)))
		case l.Mark.Run != r.Run.ID:
			add(Changed, fmt.Sprintf("run %s is running, the state has run %s", l.Mark.Run, r.Run.ID))
		}
	}
	if l != nil && d.State != session.StateUnknown && d.State != session.StatePending {
		for _, e := range l.EditsBut(r.Spec.Lifecycle) {
			if !e.Restarts || !over(d) { // else the next start puts it back
				add(Changed, editWords(e))
			}
		}
	}
	if l != nil && l.Losing != "" {
		found = append(found, Drift{Address: r.Address, Kind: Changed, Detail: l.Losing, Remedy: fetchWork(r.Address)})
	}
	if co, looked := w.Checkouts[r.Tree.Path]; looked && r.Tree.Path != "" && r.Intent != session.Creating && !r.Unmade() {
		if co.Err != nil { // an agent that makes it unreadable does not hide where it is
			add(Unreachable, fmt.Sprintf("workspace %s cannot be read: %v", r.Tree.Path, co.Err))
		} else if detail := wandered(r.Tree, co); detail != "" {
			add(BranchMismatch, detail)
		}
	}
	return found
}

// wandered returns how a workspace differs from its recorded branch, or "".
func wandered(t session.WorkspaceState, co session.Checkout) string {
	switch {
	case !co.Exists:
		return fmt.Sprintf("workspace %s is gone%s", t.Path, onBranch(t.Branch))
	case t.Mode == session.Plain || co.Branch == t.Branch:
		return ""
	case !co.Git:
		return fmt.Sprintf("workspace %s is no longer a git checkout", t.Path)
	case co.BranchGone != "":
		return fmt.Sprintf("workspace %s is %s", t.Path, position(co))
	case co.Branch == "":
		return fmt.Sprintf("workspace %s is detached at %s, the state has %q", t.Path, short(co.Head), t.Branch)
	}
	return fmt.Sprintf("workspace %s is on %q, the state has %q", t.Path, co.Branch, t.Branch)
}
