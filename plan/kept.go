package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// kept decides for a session that is wanted and on record.
func (s *scene) kept(c Change, d Diagnosis) (Change, []session.Diagnostic) {
	r := c.Before
	replace := within(c.Address, s.in.Options.Replace)
	want := c.After.Desired
	if s.in.ByHand {
		want = standing(*r)
	} else if r.Override != nil && r.Override.Desired != want {
		c.Lifts = r.Override
	}
	if s.unmade(c) {
		return s.remake(c, want)
	}
	settled, problems := s.workspace(r, c.After, replace)
	if len(problems) > 0 && !(s.in.ByHand && quiets(want, d)) {
		return stuck(c, problems)
	}
	c.After = stays(r, c.After, settled)
	var reach Forces
	var noted []string
	switch {
	case settled:
		noted = []string{"branch", "workspace.path"}
	case c.After.Workspace.Path == r.Tree.Path:
		noted = []string{"workspace.path"} // where it is already
	}
	c.Fields, reach = compare(&r.Spec, c.After, noted...)
	if over(d) {
		reach = afterFinish(&c, reach, noted)
	}
	c.Then = thenPause(want)
	if replace || reach == ForcesReplace {
		return s.replace(c, want, replace)
	}
	c = s.converge(c, d, want, reach)
	if s.in.Hub != nil {
		c = s.bounded(c)
	}
	if c.Action == Restart && guestless(c.Live) {
		return stuck(c, []session.Diagnostic{problem(c.Address, ReasonNoGuest, "nothing can be started in its container",
			fmt.Sprintf("%s; container %s was adopted, and has no guest that could start anything in it\nto have another made in its place: agentform apply --replace %s", c.Detail, c.Live.Place.Name, shell(string(c.Address))))})
	}
	if l, ok := s.taken(c.Address); ok && starts(c) && c.Live == nil {
		return stuck(c, []session.Diagnostic{nameTaken(c.Address, l)})
	}
	return c, nil
}

// unmade reports whether nothing of a recorded session is there: its start was
// approved and waits, or its creation failed before anything of it lived. A
// workspace that was made stays its own only if it is still the declared one.
func (s *scene) unmade(c Change) bool {
	r := c.Before
	if r.Unmade() {
		return true
	}
	if r.Intent != session.Creating || c.Live != nil || s.in.World.Runs[r.Run.ID].Alive || s.in.Hub != nil {
		return false
	}
	at, w := s.in.World.Checkouts[r.Tree.Path], c.After
	same := r.Tree.Path == w.Workspace.Path && r.Tree.Mode == w.Workspace.Mode && r.Tree.Repo == w.Workspace.Repo && r.Tree.Branch == w.Branch
	return r.Tree.Path == "" || at.Err == nil && (same || !at.Exists)
}

// remake decides for a session of which nothing but its record is there: it is
// created as if it were new.
func (s *scene) remake(c Change, want session.Desired) (Change, []session.Diagnostic) {
	switch {
	case want == session.Stopped && c.Before.Unmade():
		return act(c, None, ReasonStop, stoppedBy(*c.Before, "stopped")), nil
	case want == session.Stopped:
		return s.undone(c, "its creation was interrupted, and it is wanted stopped"), nil
	}
	if problems := s.creatable(c.After); len(problems) > 0 {
		return stuck(c, problems)
	}
	c.Fields, c.Then = made(c.After), thenPause(want)
	if c.Before.Unmade() {
		c = act(c, Create, ReasonNew, "")
	} else if c = act(c, Create, ReasonInterrupted, "its creation was interrupted"); c.Before.Trouble != "" {
		c.Detail = "last attempt failed: " + c.Before.Trouble
	}
	if s.in.Hub != nil {
		c = s.startable(c)
	}
	return c, nil
}

// guestless reports whether a session lives in a container that was adopted: in one
// that agentform made, the pane is not a place of its own.
func guestless(l *session.Live) bool {
	return l != nil && l.Place.Runtime == "docker" && l.Place.Pane != ""
}

// over reports whether a session's run came to its end, so that it is not run
// again unasked: its work is done, or its time is up.
func over(d Diagnosis) bool { return d.Reason == ReasonFinished || d.Reason == ReasonTimeout }

// quiets reports whether what is wanted only takes a session away from its work:
// a person may stop what works in the wrong place.
func quiets(want session.Desired, d Diagnosis) bool {
	return want == session.Stopped || want == session.Paused && d.Alive != nil && *d.Alive
}

// converge decides what a session that stays needs to be as it is wanted.
func (s *scene) converge(c Change, d Diagnosis, want session.Desired, reach Forces) Change {
	requested := within(c.Address, s.in.Options.Restart)
	alive := d.Alive != nil && *d.Alive
	prompt := changed(c.Fields, "prompt")
	queued := c.Before.Intent == session.Queued
	c.Fresh = prompt || within(c.Address, s.in.Options.Fresh) || queued && c.Before.Run.PromptSHA != c.After.Prompt.Digest
	switch {
	case c.Before.Intent == session.Creating && c.Live == nil && want == session.Stopped && !s.agentRuns(c.Before):
		return s.undone(c, "its creation was interrupted, and it is wanted stopped")
	case c.Before.Intent == session.Removing && c.Live == nil && want != session.Stopped:
		return act(c, Create, ReasonInterrupted, "its removal was interrupted, and it is wanted again")
	case c.Before.Intent == session.Removing && c.Live == nil && !s.agentRuns(c.Before):
		return s.undone(c, "its removal was interrupted")
	case c.Before.Intent == session.Creating && c.Live == nil && want != session.Stopped && !s.agentRuns(c.Before):
		return act(c, Create, ReasonInterrupted, d.Detail)
	case requested:
		return act(c, Restart, ReasonRequested, "asked for")
	case want == session.Stopped:
		return s.stop(c, d)
	case d.Reason == ReasonTimeout && s.in.ByHand && within(c.Address, s.in.Options.Targets):
		return s.wake(c, Restart) // a person asks for it
	case over(d) && prompt:
		return act(c, Restart, ReasonPromptChanged, "the prompt changed: a fresh conversation")
	case over(d) && len(c.Fields) > 0:
		return act(c, Update, ReasonChanged, "over; takes effect at the next start")
	case over(d) && c.Moved != "":
		return act(c, Update, ReasonMoved, "it was "+string(c.Moved))
	case over(d) && c.Before.Trouble != "":
		return act(c, Update, ReasonTrouble, "it is over, and its last action failed: "+c.Before.Trouble)
	case over(d):
		return act(c, None, d.Reason, d.Detail)
	case d.State == session.StateStopped:
		return s.wake(c, Restart)
	case d.State == session.StateUnknown:
		return act(c, Hold, ReasonUnreachable, d.Detail)
	case !alive:
		return act(c, Restart, d.Reason, d.Detail)
	case prompt:
		return act(c, Restart, ReasonPromptChanged, "the prompt changed: a fresh conversation")
	case reach == ForcesRestart:
		return act(c, Restart, ReasonChanged, paths(c.Fields, ForcesRestart)+" changed")
	case want == session.Paused && (d.State == session.StateRunning || c.Live != nil && c.Live.Suspended && !c.Live.InputOff):
		c.Then = ""
		return act(c, Pause, ReasonPause, "wanted paused")
	case want == session.Running && d.State == session.StatePaused:
		return s.wake(c, Resume)
	case len(c.Fields) > 0:
		return act(c, Update, ReasonChanged, paths(c.Fields, "")+" changed")
	case c.Moved != "":
		return act(c, Update, ReasonMoved, "it was "+string(c.Moved))
	case c.Before.Trouble != "":
		return act(c, Update, ReasonTrouble, "it runs, and its last action failed: "+c.Before.Trouble)
	case c.Before.Intent != session.Settled || c.Live != nil && c.Live.Mark.Run != c.Before.Run.ID:
		return act(c, Update, ReasonInterrupted, "an interrupted "+intentWord(c.Before.Intent)+" is settled")
	}
	c.Then = ""
	return c
}

// agentRuns reports whether the process of a session's agent runs, whatever became of
// the place it was started in.
func (s *scene) agentRuns(r *session.Record) bool {
	return r != nil && s.in.World.Runs[r.Run.ID].Alive
}

// undone takes back what was interrupted: with nothing else left of the session, its
// workspace, where that is to go with it, and its record.
func (s *scene) undone(c Change, detail string) Change {
	if s.removable(c.Before) {
		return act(c, Delete, ReasonInterrupted, detail)
	}
	return act(c, Forget, ReasonInterrupted, detail)
}

// removable reports whether a session's workspace is to go with it.
func (s *scene) removable(r *session.Record) bool {
	return r.Tree.Created && r.Spec.Workspace.OnDestroy == session.RemoveClean && s.in.World.Checkouts[r.Tree.Path].Exists
}

// stop decides for a session that is wanted stopped.
func (s *scene) stop(c Change, d Diagnosis) Change {
	c.Then = ""
	alive := d.Alive != nil && *d.Alive || s.agentRuns(c.Before)
	switch {
	case !alive && c.Live == nil && len(c.Fields) == 0 && c.Moved != "":
		return act(c, Update, ReasonMoved, "it was "+string(c.Moved))
	case d.Reason == ReasonFinished && !alive && len(c.Fields) == 0:
		return act(c, None, ReasonFinished, "finished")
	case alive || c.Live != nil && d.Reason != ReasonFinished:
		return act(c, Stop, ReasonStop, stoppedBy(*c.Before, "wanted stopped"))
	case len(c.Fields) > 0 || c.Before.Intent != session.Settled:
		return act(c, Update, ReasonChanged, "stopped; takes effect at the next start")
	case c.Before.Trouble != "":
		return act(c, Update, ReasonTrouble, "it is stopped, and its last action failed: "+c.Before.Trouble)
	}
	return act(c, None, ReasonStop, stoppedBy(*c.Before, "stopped"))
}

// wake brings back a session that stands stopped or paused, naming the person
// whose hand is lifted by it.
func (s *scene) wake(c Change, how Action) Change {
	if how == Resume {
		c.Then = ""
	}
	if c.Lifts != nil {
		return act(c, how, ReasonOverride, fmt.Sprintf("%s by %s at %s, the manifest wants it running",
			c.Lifts.Desired, c.Lifts.By, c.Lifts.At.UTC().Format(time.RFC3339)))
	}
	return act(c, how, ReasonResume, "wanted running")
}

// replace decides for a session that has to be made anew.
func (s *scene) replace(c Change, want session.Desired, requested bool) (Change, []session.Diagnostic) {
	if c.Before.Spec.Lifecycle.PreventDestroy || c.After.Lifecycle.PreventDestroy {
		return stuck(c, []session.Diagnostic{prevented(c.Address, "replaced")})
	}
	if problems := s.creatable(c.After); len(problems) > 0 {
		return stuck(c, problems)
	}
	c.Fresh = true
	reason, detail := ReasonChanged, paths(c.Fields, ForcesReplace)+" changed"
	switch {
	case requested:
		reason, detail = ReasonRequested, "asked for"
	case changed(c.Fields, "branch"):
		reason, detail = ReasonBranchChanged, fmt.Sprintf("branch %q becomes %q; the old workspace %s stays", c.Before.Tree.Branch, c.After.Branch, c.Before.Tree.Path)
	case changed(c.Fields, "lifecycle.replace_triggered_by"):
		reason, detail = ReasonReplaceTrigger, "a value in replace_triggered_by changed"
	}
	if want == session.Stopped {
		c.Then = ""
		return act(c, Delete, reason, detail+"; stopped, so it is made anew when it is started"), nil
	}
	return act(c, Replace, reason, detail), nil
}

// afterFinish leaves out of a finished session's changes what would run it
// again unasked: only its prompt, branch and workspace may. Unless one of those
// changes, its runtime and what finishing means for it stay as they were.
func afterFinish(c *Change, reach Forces, noted []string) Forces {
	after := *c.After
	after.Runtime = c.Before.Spec.Runtime
	after.Agent.OneShot = c.Before.Spec.Agent.OneShot
	rest, restReach := compare(&c.Before.Spec, &after, noted...)
	if restReach == ForcesReplace || changed(rest, "prompt") {
		return reach
	}
	c.After, c.Fields = &after, rest
	return restReach
}

func act(c Change, a Action, r Reason, detail string) Change {
	c.Action, c.Reason, c.Detail = a, r, detail
	if !a.Acts() {
		c.Then = ""
	}
	return c
}

func changed(fields []Field, path string) bool {
	for _, f := range fields {
		if f.Path == path {
			return true
		}
	}
	return false
}

// paths names the changed fields of one reach, or all of them.
func paths(fields []Field, forces Forces) string {
	var names []string
	for _, f := range fields {
		if forces == "" || f.Forces == forces {
			names = append(names, f.Path)
		}
	}
	return strings.Join(names, ", ")
}

func stoppedBy(r session.Record, otherwise string) string {
	if o := r.Override; o != nil && o.Desired == session.Stopped {
		return fmt.Sprintf("stopped by %s at %s", o.By, o.At.UTC().Format(time.RFC3339))
	}
	return otherwise
}

func intentWord(i session.Intent) string {
	if i == session.Settled {
		return "action"
	}
	return string(i)
}

func within(a session.Address, targets []session.Address) bool {
	for _, t := range targets {
		if a.Within(t) {
			return true
		}
	}
	return false
}
