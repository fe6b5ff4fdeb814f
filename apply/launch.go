package apply

import (
	"context"
	"errors"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/session"
)

// launch starts the recorded run, in a place that exists (nil: in a new one), and
// settles the record once nothing is missing: an agent whose prompt is typed is complete
// when it has it.
func (j *job) launch(ctx context.Context, in *session.Place, d delivery) error {
	r, err := j.launching()
	if err != nil {
		return err
	}
	l, err := j.prepare(ctx, r, d)
	if err != nil {
		return err
	}
	taken := func(why error) (session.Place, error) { return j.taken(ctx, r.Runtime, l, why) }
	err = r.Start(ctx, l, in, taken)
	var failed *launch.FailedStartError
	j.started = err == nil || errors.As(err, &failed)
	if err != nil {
		return err
	}
	if r.Paste != "" {
		err = j.save()
	} else {
		if patternless(j.rec.Spec.Agent) && j.run.Facts(j.rec.Run.ID).Alive {
			j.rec.Run.ReadyAt = j.rec.Run.StartedAt
		}
		if !j.awaited && j.change.Then == "" {
			j.idle()
		}
		err = j.settle()
	}
	if err != nil {
		return err
	}
	j.tell(history.Event{Kind: history.Launched})
	j.tell(history.Event{Kind: history.IOAttached, Detail: j.rec.Place.Name})
	if !j.rec.Run.ReadyAt.IsZero() {
		j.tell(history.Event{Kind: history.Ready})
	}
	if r.Paste != "" {
		return j.deliver(ctx, r)
	}
	if d.prompt {
		j.tell(history.Event{Kind: history.PromptDelivered, Detail: "with its command line", New: j.rec.Run.PromptSHA})
	}
	if !j.awaited || !j.rec.Run.ReadyAt.IsZero() {
		return nil
	}
	if err := j.becomeReady(ctx, r); err != nil {
		return err
	}
	return j.save()
}

// launching returns the session's run, as it is launched and looked at.
func (j *job) launching() (*launch.Run, error) {
	return j.run.launching(&j.rec, j.agent())
}

func (r *run) launching(rec *session.Record, a session.Agent) (*launch.Run, error) {
	rt, err := r.runtime(rec.Spec)
	if err != nil {
		return nil, err
	}
	return &launch.Run{
		Record: rec, Agent: a, Runtime: rt, Facts: r.Facts, Reader: r.activity, Now: r.Now,
		Lives: func(ctx context.Context) ([]session.Live, error) { return r.look(ctx, rec.Spec, true) },
	}, nil
}

// prepare returns what the runtime needs to start the run.
func (j *job) prepare(ctx context.Context, run *launch.Run, d delivery) (l session.Launch, err error) {
	s, r := j.rec.Spec, j.run
	o := launch.Options{
		Name: j.rec.Address.OutsideName(r.Project), Project: r.plan.Lineage, Dir: runDir(r.DataDir, j.rec.Run.ID),
		Conversation: d.conversation, Fresh: launch.UUID(r.newID), Root: r.asRoot(s),
	}
	if d.prompt {
		if o.Prompt, err = j.promptText(); err != nil {
			return l, err
		}
	}
	if o.Secrets, err = launch.Secrets(s, r.Secrets); err != nil {
		return l, err
	}
	if r.Hooks != nil {
		if o.Hook, err = r.Hooks(); err != nil {
			return l, err
		}
	}
	if o.Identity, err = j.identity(ctx); err != nil {
		return l, err
	}
	if o.Inherited, err = r.inherited(s); err != nil {
		return l, err
	}
	if s.Runtime.Docker == nil {
		o.ProjectDir = r.ProjectDir
	}
	return run.Prepare(o)
}

// lateFor is how long a container may take to show after the engine has given its
// name away.
const lateFor = 5 * time.Second

// taken starts a run whose place's name was taken, if what has it is ours; else it
// returns why that could not be, which is given.
func (j *job) taken(ctx context.Context, rt session.Runtime, l session.Launch, why error) (session.Place, error) {
	beside := func() (session.Place, error) {
		// Another clone of the repository has a session of this name.
		l.Name += "-" + l.Mark.Project[:min(len(l.Mark.Project), 6)]
		return rt.Create(ctx, l)
	}
	for until := time.Now().Add(lateFor); ; {
		has, found := j.run.standing(ctx, l)
		switch {
		case found && !has.Foreign && has.Mark.ID != l.Mark.ID:
			// A session keeps its name when its address moves; the next one at the old
			// address gets another.
			l.Name += "-" + l.Mark.Run[:4]
			return rt.Create(ctx, l)
		case found && !has.Foreign && has.Vital == session.Dead:
			// An apply that was killed told the engine to make it, which did that after
			// we had looked.
			if err := rt.Remove(ctx, has.Place); err != nil {
				return session.Place{}, errors.Join(why, err)
			}
			return rt.Create(ctx, l)
		case found && has.Foreign && has.Mark.Project != "":
			return beside()
		case !found && l.Spec.Runtime.Socket != "": // on a person's server others are not listed
			return beside()
		case found || time.Now().After(until):
			return session.Place{}, why
		}
		select {
		case <-ctx.Done():
			return session.Place{}, why
		case <-time.After(100 * time.Millisecond):
		}
	}
}
