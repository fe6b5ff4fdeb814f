package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

func decideExisting(j *join, c Change, d Diagnosis) (Change, []session.Diagnostic) {
	r := c.Before
	replace := within(c.Address, j.in.Options.Replace)
	want := c.After.Desired
	if j.in.ByHand {
		want = asked(*r)
	} else if r.Override != nil && r.Override.Desired != want {
		c.Lifts = r.Override
	}
	want = allowed(want, j.overBudget(r))
	if r.Spent() && c.Live == nil {
		return decideSpent(j, c, want, replace)
	}
	if neverStarted(j, c) {
		return recreate(j, c, want)
	}
	settled, problems := checkWorkspace(j, r, c.After, replace)
	// A person may stop or pause what works in the wrong directory.
	quiets := want == session.Stopped || want == session.Paused && alive(d)
	if len(problems) > 0 && !(j.in.ByHand && quiets) {
		return stuck(c, problems...)
	}
	c.After = keepPath(r, c.After, settled)
	var reach Forces
	var noted []string
	switch {
	case settled:
		noted = []string{"branch", "workspace.path"}
	case c.After.Workspace.Path == r.Tree.Path:
		noted = []string{"workspace.path"} // the session already exists
	}
	c.Fields, reach = compare(&r.Spec, c.After, noted...)
	var done *session.Finished
	if want == session.Running {
		done = j.reached(c, d)
	}
	if over(d) || done != nil {
		reach = afterFinish(&c, reach, noted)
	}
	reach = putBack(&c, reach, over(d))
	c.Then = thenPause(want)
	if replace || reach == ForcesReplace {
		return decideReplace(j, c, want, replace)
	}
	c = converge(j, c, d, want, reach, done)
	if j.in.Hub != nil {
		c = j.bound(c)
	}
	if c.Action == Restart && c.Live != nil && c.Live.Location.Container != "" && c.Live.Location.Pane != "" { // an adopted container
		return stuck(c, fixable(session.Remedy{Code: session.RemedyReplaceContainer, Address: c.Address}, ReasonNoShim, "cannot start an agent in its container",
			fmt.Sprintf("%s; container %s was adopted, and has no shim to start an agent with", c.Detail, c.Live.Location.Name)))
	}
	if l, ok := j.taken(c.Address); ok && starts(c) && c.Live == nil {
		return stuck(c, nameTaken(c.Address, l))
	}
	return c, nil
}

// neverStarted reports whether only a record exists of the session, and maybe its declared
// workspace: its start was approved and waits, or its creation failed early.
func neverStarted(j *join, c Change) bool {
	r := c.Before
	if r.Unmade() {
		return true
	}
	if r.Intent != session.Creating || c.Live != nil || j.agentRuns(r) || j.in.Hub != nil {
		return false
	}
	at, declared := j.in.World.Checkouts[r.Tree.Path], treeOf(c.After)
	same := r.Tree.Path == declared.Path && r.Tree.Mode == declared.Mode && r.Tree.Repo == declared.Repo && r.Tree.Branch == declared.Branch
	return r.Tree.Path == "" || at.Err == nil && (same || !at.Exists)
}

// recreate decides for a session that never started: it is created as a new one.
func recreate(j *join, c Change, want session.Desired) (Change, []session.Diagnostic) {
	unmade := c.Before.Unmade()
	switch {
	case want == session.Stopped && unmade:
		return act(c, None, ReasonStop, setBy(*c.Before, session.Stopped, "stopped")), nil
	case want == session.Stopped:
		return undo(j, c, "its creation was interrupted, and it is declared stopped"), nil
	}
	if problems := creatable(j, c.After); len(problems) > 0 {
		return stuck(c, problems...)
	}
	c.Fields, c.Then = made(c.After), thenPause(want)
	switch {
	case unmade:
		c = act(c, Create, ReasonNew, "")
	case c.Before.LastError != "":
		c = act(c, Create, ReasonInterrupted, "last attempt failed: "+c.Before.LastError)
	default:
		c = act(c, Create, ReasonInterrupted, "its creation was interrupted")
	}
	if j.in.Hub != nil {
		c = j.start(c)
	}
	return c, nil
}

// over reports whether the run ended for good: it is run again only when asked for.
func over(d Diagnosis) bool { return d.Reason == ReasonFinished || d.Reason == ReasonTimeout }

func alive(d Diagnosis) bool { return d.Alive != nil && *d.Alive }

// converge decides what a session needs that is not replaced.
func converge(j *join, c Change, d Diagnosis, want session.Desired, reach Forces, done *session.Finished) Change {
	prompt, policy := changed(c.Fields, promptField), c.After.OnPromptChange
	r := c.Before
	absent := c.Live == nil && !j.agentRuns(r)
	renewed := policy == session.PromptRestarts && prompt
	c.Fresh = renewed || within(c.Address, j.in.Options.Fresh) ||
		policy == session.PromptRestarts && r.Intent == session.Queued && !r.HasPrompt(c.After.Prompt.Digest)
	unsent := policy == session.PromptIsSent && unsent(c)
	switch {
	case r.Intent == session.Creating && absent && want == session.Stopped:
		return undo(j, c, "its creation was interrupted, and it is declared stopped")
	case r.Intent == session.Removing && c.Live == nil && want != session.Stopped:
		return act(c, Create, ReasonInterrupted, "its removal was interrupted, and it is declared again")
	case r.Intent == session.Removing && absent:
		return undo(j, c, "its removal was interrupted")
	case r.Intent == session.Creating && absent:
		return act(c, Create, ReasonInterrupted, d.Detail)
	case within(c.Address, j.in.Options.Restart):
		return act(c, Restart, ReasonRequested, "as requested")
	case want == session.Stopped:
		return decideStopped(j, c, d)
	case done != nil && !renews(c, reach):
		return end(c, done)
	case d.Reason == ReasonTimeout && j.in.ByHand && within(c.Address, j.in.Options.Targets):
		return wake(c, Restart)
	case over(d) && prompt && policy == session.PromptIsSent:
		return act(c, Restart, ReasonPromptChanged, "prompt changed; it runs again and resumes its conversation if possible")
	case over(d) && renewed:
		return act(c, Restart, ReasonPromptChanged, newConversation)
	case over(d) && len(c.Fields) > 0:
		reason, detail := because(c, "")
		if reason == ReasonChanged {
			detail = "finished; takes effect at the next start"
		}
		return act(c, Update, reason, detail)
	case over(d) && c.Moved != "":
		return act(c, Update, ReasonMoved, "it was "+string(c.Moved))
	case over(d) && r.LastError != "":
		return act(c, Update, ReasonLastError, "it has finished, and its last action failed: "+r.LastError)
	case over(d):
		return act(c, None, d.Reason, d.Detail)
	case d.State == session.StateStopped:
		return wake(c, Restart)
	case d.State == session.StateUnknown:
		return act(c, Hold, ReasonUnreachable, d.Detail)
	case !alive(d):
		return act(c, Restart, d.Reason, d.Detail)
	case renewed:
		return act(c, Restart, ReasonPromptChanged, newConversation)
	case reach == ForcesRestart:
		reason, detail := because(c, ForcesRestart)
		return act(c, Restart, reason, detail)
	case j.overBudget(r) != nil && want == session.Paused && d.State == session.StatePaused && c.Live != nil && !c.Live.Frozen:
		c.Then = ""
		return act(c, Pause, ReasonOverBudget, r.OverBudget.String())
	case want == session.Paused && (d.State == session.StateRunning || c.Live != nil && c.Live.Suspended && !c.Live.InputOff):
		c.Then, c.Sends = "", unsent && d.State == session.StateRunning && j.in.Hub == nil
		if o := j.overBudget(r); o != nil {
			c.Sends = false
			return act(c, Pause, ReasonOverBudget, o.String())
		}
		return act(c, Pause, ReasonPause, setBy(*c.Before, session.Paused, "declared paused"))
	case want == session.Running && d.State == session.StatePaused:
		c.Sends = unsent && j.in.Hub == nil
		return wake(c, Resume)
	case unsent && d.State == session.StateRunning && j.in.Hub != nil:
		return act(c, None, ReasonPromptChanged, "its changed prompt is not sent yet; apply sends it")
	case unsent && d.State == session.StateRunning:
		c.Sends = true
		return act(c, Update, ReasonPromptChanged, "prompt changed; it is sent into the running conversation")
	case len(c.Fields) > 0:
		reason, detail := because(c, "")
		return act(c, Update, reason, detail+later(c, prompt)+graceLater(c))
	case c.Moved != "":
		return act(c, Update, ReasonMoved, "it was "+string(c.Moved))
	case r.LastError != "":
		return act(c, Update, ReasonLastError, "it runs, and its last action failed: "+r.LastError)
	case r.Intent != session.Settled || c.Live != nil && c.Live.Mark.Run != r.Run.ID:
		return act(c, Update, ReasonInterrupted, "interrupted "+cmp.Or(string(r.Intent), "action")+" is completed")
	}
	c.Then = ""
	if r.Fallback != nil {
		c.Reason, c.Detail = ReasonFallback, "runs "+r.Fallback.String()
	}
	return c
}

// newConversation is what a changed prompt means to an agent that is restarted for it.
const newConversation = "prompt changed; starts a new conversation"

// unsent reports whether a live agent has not received the declared prompt.
func unsent(c Change) bool {
	p := c.After.Prompt.Digest
	return p != "" && c.After.Agent.PromptVia != "none" && !c.Before.HasPrompt(p)
}

// later returns when a changed prompt that is only recorded takes effect.
func later(c Change, prompt bool) string {
	switch {
	case !prompt || c.After.Prompt.Digest == "":
		return ""
	case c.After.OnPromptChange == session.PromptIsKept:
		return "; the prompt is for the next conversation"
	case c.After.OnPromptChange == session.PromptIsSent:
		return "; the prompt is sent when it is resumed"
	}
	return ""
}

// graceLater says when a changed stop.grace takes effect for a drain of its node: the cluster has the
// grace of the running pod, which cannot be changed.
func graceLater(c Change) string {
	before, after := c.Before.Spec.Stop.Grace, c.After.Stop.Grace
	if before == after || !c.After.Runtime.Traits().Scheduled {
		return ""
	}
	return fmt.Sprintf("; until its next restart a drain of its node leaves it %s", before)
}

// undo removes the remains of an interrupted action: the workspace, if it is removed with the
// session, and the record.
func undo(j *join, c Change, detail string) Change {
	if removable(j, c.Before) {
		return act(c, Delete, ReasonInterrupted, detail)
	}
	return act(c, Forget, ReasonInterrupted, detail)
}

func removable(j *join, r *session.Record) bool {
	remove := r.Spec.Workspace.OnDestroy == session.RemoveClean || j.in.Options.RemoveClean
	return r.Tree.Created && remove && j.in.World.Checkouts[r.Tree.Path].Exists
}

func decideStopped(j *join, c Change, d Diagnosis) Change {
	c.Then = ""
	runs := alive(d) || j.agentRuns(c.Before)
	finished := d.Reason == ReasonFinished
	switch {
	case !runs && c.Live == nil && len(c.Fields) == 0 && c.Moved != "":
		return act(c, Update, ReasonMoved, "it was "+string(c.Moved))
	case finished && !runs && len(c.Fields) == 0:
		return act(c, None, ReasonFinished, d.Detail)
	case runs || c.Live != nil && !finished:
		return act(c, Stop, ReasonStop, setBy(*c.Before, session.Stopped, "declared stopped"))
	case len(c.Fields) > 0 || c.Before.Intent != session.Settled:
		return act(c, Update, ReasonChanged, "stopped; takes effect at the next start")
	case c.Before.LastError != "":
		return act(c, Update, ReasonLastError, "it is stopped, and its last action failed: "+c.Before.LastError)
	}
	return act(c, None, ReasonStop, setBy(*c.Before, session.Stopped, "stopped"))
}

// wake restarts or resumes a stopped or paused session and names whose override
// that lifts.
func wake(c Change, how Action) Change {
	if how == Resume {
		c.Then = ""
	}
	if c.Lifts != nil {
		return act(c, how, ReasonOverride, fmt.Sprintf("%s by %s at %s; the manifest wants it running",
			c.Lifts.Desired, c.Lifts.By, c.Lifts.At.UTC().Format(time.RFC3339)))
	}
	return act(c, how, ReasonResume, "declared running")
}

func decideReplace(j *join, c Change, want session.Desired, requested bool) (Change, []session.Diagnostic) {
	if c.Before.Spec.Lifecycle.PreventDestroy || c.After.Lifecycle.PreventDestroy {
		return stuck(c, prevented(c.Address, "replaced"))
	}
	if d, is := volumeProblem(c); is && !unheld(j.in.World, c) {
		return stuck(c, d)
	}
	if problems := creatable(j, c.After); len(problems) > 0 {
		return stuck(c, problems...)
	}
	c.Fresh = true
	reason, detail := ReasonChanged, paths(c.Fields, ForcesReplace)+" changed"
	switch {
	case requested:
		reason, detail = ReasonRequested, "as requested"
	case changed(c.Fields, "branch"):
		reason, detail = ReasonBranchChanged, fmt.Sprintf("branch %q becomes %q; the old workspace %s is kept", c.Before.Tree.Branch, c.After.Branch, c.Before.Tree.Path)
	case changed(c.Fields, replaceTrigger):
		reason, detail = ReasonReplaceTrigger, "a value in replace_triggered_by changed"
	}
	if was := c.Before.Spec.Runtime; !was.Traits().HostFiles && was.Engine() != c.After.Runtime.Engine() {
		detail += "; what was not fetched stays on " + was.Engine()
	}
	if want == session.Stopped {
		c.Then = ""
		return act(c, Delete, reason, detail+"; stopped, so it is recreated when it is started"), nil
	}
	return act(c, Replace, reason, detail), nil
}

// afterFinish drops changes of runtime and one_shot: a finished session is run again only
// for another prompt, branch or workspace.
func afterFinish(c *Change, reach Forces, noted []string) Forces {
	after := *c.After
	after.Runtime = c.Before.Spec.Runtime
	after.Agent.OneShot = c.Before.Spec.Agent.OneShot
	rest, restReach := compare(&c.Before.Spec, &after, noted...)
	if now := (Change{After: &after, Fields: rest}); renews(now, restReach) {
		return reach
	}
	c.After, c.Fields = &after, rest
	return restReach
}

func changed(fields []Field, path string) bool {
	return slices.ContainsFunc(fields, func(f Field) bool { return f.Path == path })
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

// setBy returns by which budget or person a session is stopped or paused, or otherwise.
func setBy(r session.Record, want session.Desired, otherwise string) string {
	if o := r.OverBudget; o != nil && o.Desired == want && asked(r) != want {
		return o.String()
	}
	if o := r.Override; o != nil && o.Desired == want {
		return fmt.Sprintf("%s by %s at %s", want, o.By, o.At.UTC().Format(time.RFC3339))
	}
	return otherwise
}
