package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// create creates a session: its record, its workspace, its run. One whose creation was
// interrupted continues under a new run.
func (j *job) create(ctx context.Context) error {
	spec := *j.change.After
	d, err := j.run.conversations.due(j.entry.rec, j.agent(), spec, false)
	if err != nil {
		return err
	}
	if j.change.Before != nil {
		if err := j.run.stopper.sweep(ctx, j.entry.rec); err != nil {
			return err
		}
	}
	return j.begin(ctx, spec, d)
}

func (j *job) begin(ctx context.Context, spec session.Spec, d delivery) error {
	e := j.entry
	if err := e.keepPrompt(spec); err != nil {
		return err
	}
	e.is(spec)
	e.rec.Intent, e.rec.LastError = session.Creating, ""
	e.rec.Location = session.Location{}
	e.rec.Tree = j.run.workspaces.planned(ctx, e.rec)
	begun, err := j.run.starter.newRun(e, d)
	if err != nil {
		return err
	}
	defer begun()
	unmake, err := j.run.starter.makePlace(ctx, e.rec)
	if err != nil {
		return err
	}
	if err = j.run.workspaces.prepare(ctx, e); err == nil {
		err = j.launch(ctx, nil, d)
	}
	if err != nil && !j.started {
		err = errors.Join(err, unmake())
	}
	return err
}

func (j *job) launch(ctx context.Context, in *session.Location, d delivery) error {
	o := launchOptions{in: in, ready: j.awaited}
	if !j.awaited && j.change.Then == "" {
		o.last = j.idle
	}
	started, err := j.run.starter.launch(ctx, j.entry, j.agent(), d, o)
	j.started = j.started || started
	return err
}

// restart ends what is left of the old run and starts the agent again, in the same place if
// that exists.
func (j *job) restart(ctx context.Context) error {
	spec, e := *j.change.After, j.entry
	if err := e.keepPrompt(spec); err != nil {
		return err
	}
	j.run.conversations.observe(e)
	d, err := j.run.conversations.due(e.rec, j.agent(), spec, j.change.Fresh)
	if err != nil {
		return err
	}
	var fallback *session.Fallback
	if j.change.Fallback != nil {
		if fallback, err = handOver(ctx, j); err != nil {
			return err
		}
		d.prompt = true
	}
	e.rec.Intent = session.Restarting
	if err := e.save(); err != nil {
		return err
	}
	if err := j.run.stopper.end(ctx, e); err != nil {
		return err
	}
	j.want(spec)
	if fallback != nil {
		e.rec.Fallback = fallback
	}
	begun, err := j.run.starter.newRun(e, d)
	if err != nil {
		return err
	}
	defer begun()
	if !e.rec.Tree.Ready { // its setup never succeeded
		if err := j.run.workspaces.prepare(ctx, e); err != nil {
			return err
		}
	}
	var in *session.Location
	if l := j.change.Live; l != nil && (l.PlaceUp || l.Location.Container != "") { // a container that does not run is started
		in = &l.Location
	}
	return j.launch(ctx, in, d)
}

func (j *job) replace(ctx context.Context) error {
	if err := j.remove(ctx); err != nil {
		return err
	}
	old := j.entry.rec
	j.entry.rec = j.run.newRecord(j.change)
	j.entry.rec.Tree = old.Tree // a workspace that is kept keeps its creator
	spec := j.entry.rec.Spec
	return j.begin(ctx, spec, delivery{prompt: takesPrompt(spec)})
}

// update records what changed without touching the agent, and completes what an
// interrupted action left.
func (j *job) update(ctx context.Context) error {
	e, before := j.entry, j.entry.rec.Spec.Timeout
	if err := j.sync(ctx); err != nil {
		return err
	}
	if err := e.keepPrompt(e.rec.Spec); err != nil {
		return err
	}
	live := j.change.Live
	if live == nil || live.Liveness != session.Alive {
		return e.settle()
	}
	rt, err := j.run.runtimes.of(e.rec.Spec)
	if err != nil {
		return err
	}
	if setter, can := rt.(session.TimeoutSetter); can && before != e.rec.Spec.Timeout {
		if err := setter.SetTimeout(ctx, live.Location, live.Mark.Run, e.rec.Spec.Timeout.D()); err != nil {
			return err
		}
	}
	if repairs(j.change) {
		r, err := j.run.starter.run(&e.rec, j.agent())
		if err != nil {
			return err
		}
		if err := j.run.starter.await(ctx, r); err != nil {
			return err
		}
	}
	return j.complete(ctx)
}

func (j *job) complete(ctx context.Context) error {
	if err := j.run.starter.give(ctx, j.entry, j.agent()); err != nil {
		return err
	}
	return j.entry.settle()
}

// sync records the spec, and the live run, which differs if an apply was killed. It reverts edits
// of the session's place.
func (j *job) sync(ctx context.Context) error {
	if j.change.After != nil {
		j.want(*j.change.After)
	}
	l, rec := j.change.Live, &j.entry.rec
	if l != nil && !j.started {
		rec.Location, rec.Tree.Ready = l.Location, true
		if l.Mark.Run != rec.Run.ID {
			before := *rec
			before.Past = slices.DeleteFunc(slices.Clone(before.Past), func(id string) bool { return id == l.Mark.Run })
			rec.Past = j.run.config.pastRuns(before)
			rec.Run.ID = l.Mark.Run
			rec.Run.StartedAt, rec.Run.ReadyAt, rec.Run.EndedAt = time.Time{}, time.Time{}, time.Time{}
		}
		if rec.Run.StartedAt.IsZero() {
			facts := j.run.config.Facts(l.Mark.Run)
			rec.Run.StartedAt, rec.Run.BootID, rec.Run.Agent = l.Started, facts.BootID, facts.Agent
		}
	}
	return j.run.runtimes.revert(ctx, l, rec.Spec)
}

// want records what is wanted, and the branch if someone has switched to the declared one.
func (j *job) want(s session.Spec) {
	j.entry.is(s)
	rec := &j.entry.rec
	if t := &rec.Tree; t.Branch != s.Branch && j.run.workspaces.checkoutOf(context.Background(), *rec, *t).Branch == s.Branch {
		t.Branch = s.Branch
	}
}

// pause pauses the session in the mode of the wanted spec. A prompt that is still to be
// typed is typed first: a paused session takes none. One over its budget must not work, so
// it is given nothing and its agent is suspended.
func (j *job) pause(ctx context.Context) error {
	if err := j.sync(ctx); err != nil {
		return err
	}
	e := j.entry
	rt, err := j.run.runtimes.of(e.rec.Spec)
	if err != nil {
		return err
	}
	mode := e.rec.Spec.Pause.Mode
	if e.rec.OverBudget != nil {
		mode = session.Freeze
	} else if err := j.run.starter.give(ctx, j.entry, j.agent()); err != nil {
		return err
	}
	if err := rt.Pause(ctx, e.rec.Location, e.rec.Run.ID, mode); err != nil {
		return err
	}
	return e.settle()
}

func (j *job) resume(ctx context.Context) error {
	if err := j.sync(ctx); err != nil {
		return err
	}
	rt, err := j.run.runtimes.of(j.entry.rec.Spec)
	if err != nil {
		return err
	}
	if err := rt.Resume(ctx, j.entry.rec.Location, j.entry.rec.Run.ID); err != nil {
		return err
	}
	return j.complete(ctx)
}

func (j *job) stop(ctx context.Context) error {
	e := j.entry
	if f := j.change.Finishes; f != nil {
		if rests, err := j.run.stopper.awaitTurn(ctx, e.rec, *j.change.Live, restTimeout); err != nil || !rests {
			return cmp.Or(err, errWorksOn)
		}
		if done := *f; e.rec.Finished == nil || !e.rec.Finished.At.Equal(f.At) {
			done.Commit = j.run.workspaces.tip(ctx, e.rec)
			e.rec.Finished = &done
		}
	}
	j.run.conversations.observe(e)
	if err := e.intend(session.Stopping); err != nil {
		return err
	}
	if err := j.run.stopper.remove(ctx, e); err != nil {
		return err
	}
	e.rec.Location = session.Location{}
	if j.change.After != nil {
		switch err := e.keepPrompt(*j.change.After); {
		case err == nil:
			j.want(*j.change.After)
		case !state.Unwritable(err): // otherwise the next apply plans the state for its start
			return err
		}
	}
	j.idle()
	if err := e.settleEnded(); err != nil {
		return err
	}
	if f := e.rec.Finished; f != nil && j.change.Finishes != nil {
		e.emit(history.Event{Kind: history.Finished, Reason: string(f.By), New: f.Commit, Detail: j.change.Detail})
	}
	return nil
}

// restTimeout is more than an agent must rest for its turn to have ended.
const restTimeout = turn.Settle + time.Second

// errWorksOn reports that a session that was done was given something else since.
var errWorksOn = errors.New("it has begun another turn")

// remove removes agent, place, workspace if that is wanted and safe, and then the record.
func (j *job) remove(ctx context.Context) error {
	if err := j.entry.intend(session.Removing); err != nil {
		return err
	}
	if err := j.run.stopper.remove(ctx, j.entry); err != nil {
		return err
	}
	if err := j.run.workspaces.remove(ctx, j.entry); err != nil {
		return err
	}
	if j.change.Action == plan.Delete {
		j.idle()
	}
	return leave(j)
}

// leave removes a session's record, or leaves that its work was landed.
func leave(j *job) error {
	if j.run.plan.Options.KeepLanded && j.entry.rec.Landed != nil {
		return j.entry.spend()
	}
	return j.entry.forget()
}

// adoptForeign marks a session that agentform did not start, then records it: a session with a mark
// but without a record is found again.
func (j *job) adoptForeign(ctx context.Context) error {
	e, s := j.entry, j.entry.rec.Spec
	rt, err := j.run.runtimes.of(s)
	if err != nil {
		return err
	}
	adopter, can := rt.(session.Adopter)
	if !can {
		return errors.New("its runtime cannot adopt sessions")
	}
	if err := e.keepPrompt(s); err != nil {
		return err
	}
	id := j.run.newID(16)
	place, err := adopter.Adopt(ctx, j.change.Import, session.Mark{Project: j.run.plan.Lineage,
		Address: e.rec.Address, ID: e.rec.ID, Run: id, Hash: s.Hash()})
	if err != nil {
		return err
	}
	l := *j.change.Live
	l.Location, l.Mark.Run, l.Mark.ID = place, id, e.rec.ID
	facts, created := j.run.config.Facts(id), e.rec.CreatedAt
	l.BootID = facts.BootID
	e.rec = Restored(l, s, facts, e.rec.Address, e.rec.Origin, "")
	e.rec.Tree.Created = false // the session's creator created it
	if l.Started.IsZero() {
		e.rec.CreatedAt = created
	}
	return e.settle()
}

// Restored returns the record of a live session that is in no state. A workspace outside of dataDir
// counts as the user's.
func Restored(l session.Live, spec session.Spec, facts session.RunFacts, address session.Address, origin session.Origin, dataDir string) session.Record {
	run := session.Run{ID: l.Mark.Run, Number: 1, StartedAt: l.Started, BootID: l.BootID, Agent: facts.Agent, PromptSHA: spec.Prompt.Digest}
	if spec.Prompt.Digest != "" {
		run.DeliveredAt = l.Started // or somebody has seen that it was not
	}
	if l.Liveness == session.Alive {
		run.ReadyAt = l.Started // as far as can be known
	}
	return session.Record{
		ID: l.Mark.ID, Address: address, Origin: origin, Spec: spec, Location: l.Location, Run: run,
		Tree: session.WorkspaceState{Path: spec.Workspace.Path, Mode: spec.Workspace.Mode, Repo: spec.Workspace.Repo,
			Branch: spec.Branch, Created: spec.Workspace.Mode != session.InPlace && madeIn(dataDir, spec, spec.Workspace.Path), Ready: true},
		CreatedAt: l.Started,
	}
}

func queues(c plan.Change) bool { return c.Approved && c.Queues() }

// queue records that exactly this start of the session was approved.
func (j *job) queue() {
	j.outcome, j.detail = Held, j.change.Detail
	if j.change.Queued() {
		return
	}
	if err := j.enqueue(); err != nil {
		j.outcome, j.detail, j.err = Failed, "", fmt.Errorf("hold %s: %w", j.change.Address, err)
		j.entry.emit(history.Event{Kind: history.ApplyErrored, Detail: j.err.Error()})
		return
	}
	j.entry.emit(history.Event{Kind: history.Held, Reason: string(j.change.Reason), Detail: j.detail})
}

func (j *job) enqueue() error {
	e, spec := j.entry, *j.change.After
	if j.change.Before == nil {
		e.rec = j.run.newRecord(j.change)
	}
	if j.change.Holds == plan.Create { // nothing of an earlier attempt is left
		e.rec.Run, e.rec.Location = session.Run{Number: e.rec.Run.Number}, session.Location{}
	}
	if err := e.keepPrompt(spec); err != nil {
		return err
	}
	in, err := j.run.environs.inherited(spec)
	if err != nil {
		return err
	}
	e.is(spec)
	e.rec.Inherits = slices.Sorted(maps.Keys(in.Secrets))
	e.rec.Run.Credential = credential(spec, in, j.run.plan.Lineage, e.rec.ID)
	e.rec.Intent, e.rec.LastError = session.Queued, ""
	e.liftOverride()
	if o := e.startOver(); o != nil {
		e.emit(history.Event{Kind: history.BudgetIgnored, Old: string(o.Desired), New: o.Budget, Detail: o.Detail})
	}
	return e.save()
}
