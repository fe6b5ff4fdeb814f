package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// decide decides for one session. A change with the diagnosis as its detail gets its
// remedy, too.
func decide(j *join, a session.Address) (Change, []session.Diagnostic) {
	c := j.base(a, ReasonInSync)
	d := Diagnose(c.Before, c.Live, j.in.World)
	c.State, c.Detail = d.State, d.Detail
	c, problems := lookUp(j, c, d)
	if x, runs := otherAgent(j, c); runs && starts(c) {
		c, problems = stuck(c, x)
	}
	if c.Detail == d.Detail {
		c.Remedy = d.Remedy
	}
	return c, problems
}

// lookUp applies the decision table of docs/ARCHITECTURE.md, in its order.
func lookUp(j *join, c Change, d Diagnosis) (Change, []session.Diagnostic) {
	if c.Before != nil && c.After != nil {
		c.After = keepIgnored(&c.Before.Spec, keepFallback(c.Before, c.After, within(c.Address, j.in.Options.Replace)))
	}
	clash, ambiguous := j.ambiguity(c.Address)
	switch {
	case d.Reason == ReasonElsewhere:
		return decideForeign(j, c, d)
	case ambiguous:
		c.Reason, c.Detail = ReasonAmbiguous, clash.Summary
		return c, []session.Diagnostic{clash}
	case d.State == session.StateUnknown && !endable(j, c) && !lost(j, c), c.Before == nil && j.unreachable(*c.After):
		return decideUnknown(j, c, d)
	case c.Before == nil:
		return decideNew(j, c, d)
	case c.After == nil:
		return decideRemoved(j, c)
	}
	c, problems := decideExisting(j, c, d)
	if len(problems) == 0 {
		c = j.keepBudget(c)
	}
	if busy := atWork(c.Before, j.in.World); busy != "" && c.Reason == ReasonInterrupted {
		c.Reason, c.Detail = ReasonUnderWay, busy
	}
	return c, problems
}

// decideForeign leaves a session of another owner unchanged, which a user's plan reports as a
// problem.
func decideForeign(j *join, c Change, d Diagnosis) (Change, []session.Diagnostic) {
	c.State, c.Reason, c.Detail = session.StateUnknown, ReasonElsewhere, d.Detail
	shared := j.in.World.Shared && !j.in.Options.Destroy
	if j.in.ByHand || shared || c.After == nil && c.Before.Origin != session.FromManifest && !j.in.Options.Destroy {
		return c, nil
	}
	p := problem(c.Address, ReasonElsewhere, "its state is unknown", d.Detail)
	if p.Remedy = d.Remedy; j.in.World.Shared {
		p.Remedy = Elsewhere(*c.Before, j.in.World.Here)
	}
	return c, []session.Diagnostic{p}
}

// decideUnknown leaves a session unchanged. An unresponsive runtime is already a problem.
func decideUnknown(j *join, c Change, d Diagnosis) (Change, []session.Diagnostic) {
	c.State, c.Reason = session.StateUnknown, ReasonUnreachable
	if c.After != nil || j.in.ByHand || j.unreachable(c.Before.Spec) ||
		c.Before.Origin != session.FromManifest && !j.in.Options.Destroy {
		return c, nil
	}
	p := problem(c.Address, ReasonUnreachable, "its state is unknown, so it is not destroyed", c.Detail)
	p.Remedy = d.Remedy
	return c, []session.Diagnostic{p}
}

// endable reports whether a session in an unknown state can be ended, and someone
// asked for that: a container can be killed whatever answers in it.
func endable(j *join, c Change) bool {
	if c.Before == nil || c.Live == nil || !c.Live.PlaceUp || c.Live.Location.Traits().HostProcesses || j.in.Hub != nil {
		return false
	}
	return toEnd(j, c) || within(c.Address, j.in.Options.Restart) || within(c.Address, j.in.Options.Replace)
}

// lost reports whether only the agent's process of a session can be found. The process suffices to
// end it; where tmux does not answer, that is done only on request.
func lost(j *join, c Change) bool {
	if c.Live != nil || !j.agentRuns(c.Before) {
		return false
	}
	return !j.unreachable(c.Before.Spec) || c.Before.Spec.Runtime.Traits().Server != "" && j.in.Hub == nil && toEnd(j, c)
}

func toEnd(j *join, c Change) bool {
	return c.After == nil || j.in.ByHand && within(c.Address, j.in.Options.Targets) && Desired(*c.Before) == session.Stopped
}

func decideNew(j *join, c Change, d Diagnosis) (Change, []session.Diagnostic) {
	i := slices.IndexFunc(j.in.Imports, func(i Import) bool { return i.To == c.Address })
	if i >= 0 {
		id := j.in.Imports[i].ID
		switch found := j.in.World.Found[id].Live; {
		case c.Live == nil || found == nil:
			return takeOver(j, c, id)
		case found.Mark.Run != c.Live.Mark.Run:
			return stuck(c, problem(c.Address, ReasonBlockedByError, "another session has this address",
				fmt.Sprintf("%s is not the session that runs as %s and is not in the state: that is in %s", id, c.Address, where(c.Live.Location))))
		}
	}
	if c.Live != nil {
		return adopt(j, c, d)
	}
	if c.After.Desired == session.Stopped {
		c.Reason, c.State, c.Detail = ReasonStop, session.StateStopped, "declared stopped; created when it is started"
		return c, nil
	}
	if x, runs := otherAgent(j, c); runs { // the reason for what else is wrong
		return stuck(c, x)
	}
	if problems := creatable(j, c.After); len(problems) > 0 {
		return stuck(c, problems...)
	}
	c.Fields, c.Then = made(c.After), thenPause(c.After.Desired)
	return act(c, Create, ReasonNew, ""), nil
}

// adopt decides for a managed live session without a record. If its launched spec cannot be read,
// it is assumed to be the declared one: a guess restarts nothing.
func adopt(j *join, c Change, d Diagnosis) (Change, []session.Diagnostic) {
	c.Action, c.Reason, c.Detail = Adopt, ReasonAdopt, "running but not in the state"
	spec := c.Live.Spec
	if spec == nil {
		spec = c.After
	}
	found := c
	found.Action, found.Before = None, &session.Record{
		ID: c.Live.Mark.ID, Address: c.Address, Spec: *spec, Location: c.Live.Location,
		Run: session.Run{ID: c.Live.Mark.Run, BootID: j.in.World.BootID, PromptSHA: spec.Prompt.Digest}, Tree: treeOf(spec),
	}
	next, problems := decideExisting(j, found, d)
	if len(problems) > 0 {
		next.Before = nil
		return next, problems
	}
	c.Fields, c.Fresh, c.Sends = next.Fields, next.Fresh, next.Sends
	if next.Action.Acts() {
		c.Then, c.Detail = next.Action, c.Detail+"; then "+string(next.Action)+": "+next.Detail
	}
	return c, nil
}

func treeOf(s *session.Spec) session.WorkspaceState {
	return session.WorkspaceState{Path: s.Workspace.Path, Mode: s.Workspace.Mode, Repo: s.Workspace.Repo, Branch: s.Branch}
}

// takeOver decides for a live session that was started manually and is imported.
// It keeps running; its workspace must be the declared one.
func takeOver(j *join, c Change, id string) (Change, []session.Diagnostic) {
	fault := func(summary, detail string) (Change, []session.Diagnostic) {
		return stuck(c, problem(c.Address, ReasonBlockedByError, summary, detail))
	}
	found := j.in.World.Found[id]
	switch {
	case found.Err != nil:
		return fault("nothing to import", fmt.Sprintf("%s: %v", id, found.Err))
	case found.Live == nil:
		return fault("nothing to import", id+" was not found; tmux -L SOCKET list-sessions lists them")
	case found.Live.Liveness == session.Dead:
		return fault("nothing to import", id+": its agent has exited")
	}
	l := *found.Live
	if !l.Foreign && l.Mark.Project == j.in.Lineage {
		d := fixable(session.Remedy{Code: session.RemedyAdopt, Address: c.Address, Holder: l.Mark.Address, ID: id}, ReasonBlockedByError,
			"session is already managed", fmt.Sprintf("%s is %s, which is not in the state", id, l.Mark.Address))
		for a, r := range j.records {
			if r.ID == l.Mark.ID {
				d.Detail, d.Remedy = fmt.Sprintf("%s is %s; a moved block gives it another address", id, a), session.Remedy{}
			}
		}
		return stuck(c, d)
	}
	w := c.After
	if l.Dir != w.Workspace.Path && !strings.HasPrefix(l.Dir, w.Workspace.Path+"/") {
		return fault("session works in another directory",
			fmt.Sprintf("%s works in %s, the declared workspace is %s\ndeclare workspace { path = %q }", id, l.Dir, w.Workspace.Path, l.Dir))
	}
	if _, problems := checkWorkspace(j, &session.Record{Address: c.Address, Spec: *w, Tree: treeOf(w)}, w, false); len(problems) > 0 {
		return stuck(c, problems...)
	}
	c.Live, c.State, c.Import = &l, session.StateRunning, id
	return act(c, Adopt, ReasonImport, "adopted while running: "+id), nil
}

func decideRemoved(j *join, c Change) (Change, []session.Diagnostic) {
	r, destroy := c.Before, j.in.Options.Destroy
	if j.in.ByHand || r.Origin != session.FromManifest && !destroy {
		return c, nil
	}
	named := func(x Removal) bool { return c.Address.Within(x.From) }
	kept := func(x Removal) bool { return named(x) && !x.Destroy }
	if !destroy && slices.ContainsFunc(j.in.Removed, kept) {
		return act(c, Forget, ReasonRemoved, "removed from the state; keeps running"), nil
	}
	if r.Spec.Lifecycle.PreventDestroy {
		return stuck(c, prevented(c.Address, "destroyed"))
	}
	if !destroy && !slices.ContainsFunc(j.in.Removed, named) && !within(c.Address, j.in.Options.Targets) {
		if next := successor(j, r); next != "" { // its problem has the remedy
			c.Reason, c.Detail = ReasonBranchHeld, fmt.Sprintf("not changed: %s needs its branch or its workspace, and cannot start", next)
			return c, nil
		}
	}
	if c.Live == nil && !j.agentRuns(r) && !removable(j, r) {
		c = act(c, Forget, ReasonForget, cmp.Or(landing(r), "already gone")+"; will be removed from the state")
		if r.Tree.Created && j.in.World.Checkouts[r.Tree.Path].Exists {
			c.Detail += "; its workspace " + r.Tree.Path + " is kept"
		}
		return c, nil
	}
	if destroy {
		return act(c, Delete, ReasonDestroy, ""), nil
	}
	return act(c, Delete, ReasonNotWanted, "no longer in the manifest"), nil
}

func prevented(a session.Address, what string) session.Diagnostic {
	return problem(a, ReasonPreventDestroy, "session cannot be "+what, "its lifecycle has prevent_destroy = true; remove that first, and apply")
}

func stuck(c Change, problems ...session.Diagnostic) (Change, []session.Diagnostic) {
	c.Fields = nil
	return act(c, None, Reason(problems[0].Code), problems[0].Summary), problems
}

func act(c Change, a Action, r Reason, detail string) Change {
	c.Action, c.Reason, c.Detail = a, r, detail
	if !a.Acts() {
		c.Then = ""
	}
	return c
}

func thenPause(d session.Desired) Action {
	if d == session.Paused {
		return Pause
	}
	return ""
}
