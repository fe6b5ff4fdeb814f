package plan

import (
	"cmp"
	"time"

	"github.com/agentform/agentform/session"
)

// reached returns that a live session is done by its finish; nil: it is not.
func (j *join) reached(c Change, d Diagnosis) *session.Finished {
	r := c.Before
	switch {
	case !alive(d) || c.Live == nil:
		return nil
	case r.Finished != nil && !j.givenSince(c.Address, r.Finished.At):
		return r.Finished // a command was killed before it had ended the agent
	case r.Run.ID != c.Live.Mark.Run:
		return nil
	}
	does, known := j.doing(c.Address)
	rests := known && !does.Ended.IsZero() && does.Ended.After(r.FinishFrom)
	switch f := c.After.Finish; {
	case f == session.FinishTurn && rests:
		return &session.Finished{By: f, At: does.Ended.UTC()}
	case f == session.FinishVerified && rests && r.Verified.By(c.After.Verify) && !does.Ended.After(r.Verified.At): // what it did since is not
		return &session.Finished{By: f, At: r.Verified.At}
	case f == session.FinishLanded && rests && r.Landed != nil && !j.givenSince(c.Address, r.Landed.At) && !does.Ended.After(r.Landed.At): // else it works on
		return &session.Finished{By: f, At: r.Landed.At}
	}
	return nil
}

// givenSince reports whether an agent was given something after a moment.
func (j *join) givenSince(a session.Address, at time.Time) bool {
	does, known := j.doing(a)
	return known && does.Since.After(at)
}

// finishable reports whether the plan depends on whether the session is done.
func (c Change) finishable() bool {
	return c.After != nil && c.After.Finish != session.FinishNever && c.Before != nil &&
		c.Live != nil && c.Live.Liveness == session.Alive
}

// end ends the agent of a session that is done.
func end(c Change, f *session.Finished) Change {
	c.Then, c.Finishes = "", f
	return act(c, Stop, ReasonFinished, cmp.Or(landing(c.Before), finishWords[f.By]))
}

// finishWords are why a session is finished.
var finishWords = map[session.Finish]string{session.FinishTurn: "done: its turn has ended", session.FinishVerified: "done: its work is verified", session.FinishLanded: "done: its work is in its base"}

// landing returns where the work of a session is, or "".
func landing(r *session.Record) string {
	if r == nil || r.Landed == nil {
		return ""
	}
	return r.Landed.String()
}

// renews reports whether what is wanted makes a session that is done run again.
func renews(c Change, reach Forces) bool {
	return reach == ForcesReplace || changed(c.Fields, promptField) && c.After.OnPromptChange != session.PromptIsKept
}

// decideSpent decides for a session of which only the record of its landed work is left.
func decideSpent(j *join, c Change, want session.Desired, replace bool) (Change, []session.Diagnostic) {
	elsewhere := *c.After
	elsewhere.Runtime = c.Before.Spec.Runtime // it is done wherever it ran
	if was := c.Before.Spec; !was.Workspace.Explicit && !c.After.Workspace.Explicit && was.Branch == c.After.Branch {
		elsewhere.Workspace.Path = was.Workspace.Path // it is named after the address, which may have moved
	}
	_, reach := compare(&c.Before.Spec, &elsewhere)
	c.Fields, _ = compare(&c.Before.Spec, c.After)
	switch {
	case want != session.Stopped && (replace || renews(c, reach)):
		reason, detail := ReasonRequested, "as requested"
		if !replace {
			reason, detail = ReasonChanged, paths(c.Fields, "")+" changed"
		}
		if problems := creatable(j, c.After); len(problems) > 0 {
			return stuck(c, problems...)
		}
		c.Fields, c.Then, c.Fresh = made(c.After), thenPause(want), true
		return act(c, Create, reason, detail+"; the work before is "+landing(c.Before)), nil
	case len(c.Fields) > 0:
		return act(c, Update, ReasonChanged, landing(c.Before)), nil
	case c.Moved != "":
		return act(c, Update, ReasonMoved, "it was "+string(c.Moved)), nil
	}
	return act(c, None, ReasonFinished, landing(c.Before)), nil
}
