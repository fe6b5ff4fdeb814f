package apply

import (
	"context"
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// update records what changed without touching the agent, and completes what an
// interrupted action left: the live run is what counts, and a prompt that was
// never typed is typed now.
func (j *job) update(ctx context.Context) error {
	before := j.rec
	j.takeUp()
	if err := j.keepPrompt(j.rec.Spec); err != nil {
		return err
	}
	rt, err := j.run.runtime(j.rec.Spec)
	if err != nil {
		return err
	}
	live := j.change.Live
	if live == nil || live.Vital != session.Alive {
		return j.settle()
	}
	if setter, can := rt.(session.TimeoutSetter); can && before.Spec.Timeout != j.rec.Spec.Timeout {
		if err := setter.SetTimeout(ctx, live.Place, live.Mark.Run, j.rec.Spec.Timeout.D()); err != nil {
			return err
		}
	}
	if j.mends() {
		run, err := j.launching()
		if err != nil {
			return err
		}
		if err := j.becomeReady(ctx, run); err != nil {
			return err
		}
	}
	if err := j.complete(ctx); err != nil {
		return err
	}
	return j.settle()
}

// takeUp makes the record say what is wanted, and which run is live: another one
// than recorded, when an apply was interrupted in between.
func (j *job) takeUp() {
	if j.change.After != nil {
		j.want(*j.change.After)
	}
	l := j.change.Live
	if l == nil || j.started {
		return
	}
	j.rec.Place, j.rec.Tree.Ready = l.Place, true
	if l.Mark.Run != j.rec.Run.ID {
		before := j.rec
		before.Past = slices.DeleteFunc(slices.Clone(before.Past), func(id string) bool { return id == l.Mark.Run })
		j.rec.Past = j.run.replaced(before)
		j.rec.Run.ID = l.Mark.Run
		j.rec.Run.StartedAt, j.rec.Run.ReadyAt, j.rec.Run.EndedAt = time.Time{}, time.Time{}, time.Time{}
	}
	if j.rec.Run.StartedAt.IsZero() {
		facts := j.run.Facts(l.Mark.Run)
		j.rec.Run.StartedAt, j.rec.Run.BootID, j.rec.Run.Agent = l.Started, facts.BootID, facts.Agent
	}
}

// want makes the record say what is wanted. A workspace that a person brought
// to the declared branch is recorded on it.
func (j *job) want(s session.Spec) {
	j.rec.Spec = s
	if t := &j.rec.Tree; t.Branch != s.Branch && j.look(*t).Branch == s.Branch {
		t.Branch = s.Branch
	}
}

// complete completes a start that was interrupted: the prompt went with the
// command line, or is typed now.
func (j *job) complete(ctx context.Context) error {
	starting := j.rec.Intent == session.Creating || j.rec.Intent == session.Restarting
	if !starting || !j.rec.Run.DeliveredAt.IsZero() || !takesPrompt(j.rec.Spec) {
		return nil
	}
	text, err := j.promptText()
	if err != nil {
		return err
	}
	r, err := j.launching()
	if err != nil {
		return err
	}
	r.Paste = j.agent().Start(session.StartInput{Spec: j.rec.Spec, Prompt: text, Conversation: j.rec.Run.Conversation}).Paste
	if r.Paste == "" {
		return j.delivered("with its command line", j.run.now())
	}
	return j.deliver(ctx, r)
}
