package apply

import (
	"context"
	"fmt"

	"github.com/agentform/agentform/session"
)

// create makes a session: its record, its workspace, its run. One whose
// creation was interrupted goes on with what there is, under a new run.
func (j *job) create(ctx context.Context) error {
	spec := *j.change.After
	d, err := j.promptDue(spec, false)
	if err != nil {
		return err
	}
	if j.change.Before != nil {
		if err := j.sweep(ctx); err != nil {
			return err
		}
	}
	return j.begin(ctx, spec, d)
}

// begin records what is about to be made, and makes it.
func (j *job) begin(ctx context.Context, spec session.Spec, d delivery) error {
	if err := j.keepPrompt(spec); err != nil {
		return err
	}
	j.rec.Spec = spec
	j.rec.Intent, j.rec.Trouble = session.Creating, ""
	j.rec.Place = session.Place{}
	j.rec.Tree = j.plannedTree()
	j.newRun(d)
	if err := j.save(); err != nil {
		return err
	}
	if err := j.workspace(ctx); err != nil {
		return err
	}
	return j.launch(ctx, nil, d)
}

// newRun puts the session's next run on record, before it exists.
func (j *job) newRun(d delivery) {
	old := j.rec.Run
	j.rec.Past, j.rec.Inherits = j.run.replaced(j.rec), nil
	j.rec.Run = session.Run{
		ID:           j.run.newID(16),
		Number:       old.Number + 1,
		PromptSHA:    j.rec.Spec.Prompt.Digest,
		Conversation: d.conversation,
	}
	if d.delivered {
		j.rec.Run.DeliveredAt = old.DeliveredAt
	}
}

// sweep ends what is left of the recorded run: its place may be gone while
// something in it still lives.
func (j *job) sweep(ctx context.Context) error {
	run := j.rec.Run.ID
	if run == "" || !j.run.Facts(run).Claimed {
		return nil
	}
	rt, err := j.run.runtime(j.rec.Spec)
	if err != nil {
		return err
	}
	if err := rt.Stop(ctx, j.rec.Place, run, j.rec.Spec.Stop); err != nil {
		return fmt.Errorf("end what is left of run %s: %w", run, err)
	}
	return nil
}
