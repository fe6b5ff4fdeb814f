package apply

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// entry is the state's record of one session while a change is carried out.
type entry struct {
	journal *journal
	change  *plan.Change

	rec   session.Record    // with changes since it was saved
	saved bool              // the store has it
	lifts *session.Override // to be lifted when the change is complete
	at    time.Time         // of the plan
}

func (e *entry) emit(events ...history.Event) {
	for i := range events {
		events[i] = e.event(events[i])
	}
	e.journal.emit(&e.rec, events...)
}

// event returns an event of the session.
func (e *entry) event(x history.Event) history.Event {
	x.Address, x.ID, x.Run, x.Action = e.change.Address, e.rec.ID, cmp.Or(x.Run, e.rec.Run.ID), string(e.change.Action)
	return x
}

func (e *entry) save() error {
	e.rec.UpdatedAt = e.journal.now()
	if err := e.journal.config.Store.Put(e.rec); err != nil {
		return err
	}
	e.saved = true
	return nil
}

// settle records that the change is complete. That ends an override which the plan lifts or which
// matches the spec.
func (e *entry) settle() error {
	lifted := e.lifts
	e.rec.Intent, e.rec.LastError = session.Settled, ""
	e.liftOverride()
	ignored := e.startOver()
	if err := e.save(); err != nil {
		return err
	}
	if ignored != nil {
		e.emit(history.Event{Kind: history.BudgetIgnored, Old: string(ignored.Desired), New: ignored.Budget, Detail: ignored.Detail})
	}
	if lifted != nil {
		e.lifts = nil
		e.emit(history.Event{Kind: history.OverrideLifted, Old: string(lifted.Desired), New: string(e.rec.Spec.Desired),
			Detail: fmt.Sprintf("%s by %s at %s", lifted.Desired, lifted.By, lifted.At.UTC().Format(time.RFC3339))})
	}
	return nil
}

// is records what the session is. Another agent than that of its fallback ends the fallback.
func (e *entry) is(s session.Spec) {
	e.rec.Spec = s
	if f := e.rec.Fallback; f != nil && f.Agent != s.Agent.Name {
		e.rec.Fallback = nil
	}
}

func (e *entry) liftOverride() {
	if o := e.rec.Override; o != nil && (e.lifts != nil || o.Desired == e.rec.Spec.Desired) {
		e.rec.Override = nil
	}
}

// startOver lets the session's budgets start over if the change ignores one that holds
// the session, and returns that; else nil.
func (e *entry) startOver() *session.OverBudget {
	o := e.rec.OverBudget
	if o == nil || e.change.IgnoresBudget == nil {
		return nil
	}
	e.rec.OverBudget, e.rec.BudgetsFrom = nil, e.at
	return o
}

// keepPrompt keeps the prompt's text under its digest, so that a later start finds it
// without the manifest.
func (e *entry) keepPrompt(s session.Spec) error {
	if s.Prompt.Text == "" {
		return nil
	}
	if _, err := e.journal.config.Blobs.Put(s.Prompt.Text); err != nil {
		return fmt.Errorf("save the prompt: %w", err)
	}
	return nil
}

// prompt returns the text that the run is given: the session's prompt, or what hands over the work.
func (e *entry) prompt() (string, error) {
	p := e.rec.Spec.Prompt
	if f := e.rec.Fallback; f.Hands(p.Digest) && e.rec.Run.PromptSHA == f.Prompt {
		p = session.Prompt{Digest: f.Prompt}
	}
	return e.text(p)
}

// text returns the text of a prompt, from the manifest or as it was kept.
func (e *entry) text(p session.Prompt) (string, error) {
	if p.Digest == "" || p.Text != "" {
		return p.Text, nil
	}
	text, err := e.journal.config.Blobs.Get(p.Digest)
	if err != nil {
		return "", fmt.Errorf("read the saved prompt: %w", err)
	}
	return text, nil
}

// delivered records that the run has its prompt, since when.
func (e *entry) delivered(how string, at time.Time) error {
	e.rec.Run.DeliveredAt = at
	if err := e.settle(); err != nil {
		return err
	}
	e.emit(history.Event{Kind: history.PromptDelivered, Detail: how, New: e.rec.Run.PromptSHA})
	return nil
}

// askedFor are the reasons of starts that a person asked for, after which the turns of before
// do not finish a session.
var askedFor = []plan.Reason{plan.ReasonRequested, plan.ReasonResume, plan.ReasonOverride}

// newRun records the session's next run, before it exists.
func (e *entry) newRun(id string, d delivery) {
	old := e.rec.Run
	e.rec.Past, e.rec.Inherits = e.journal.config.pastRuns(e.rec), nil
	if e.rec.Finished != nil || slices.Contains(askedFor, e.change.Reason) {
		e.rec.FinishFrom = e.at
	}
	e.rec.Finished, e.rec.Landed = nil, nil
	e.rec.Run = session.Run{ID: id, Number: old.Number + 1, PromptSHA: e.rec.Spec.Prompt.Digest, Conversation: d.conversation, Resumed: d.conversation != ""}
	switch f := e.rec.Fallback; {
	case f != nil && e.change.Fresh && e.change.Fallback == nil: // the prompt itself was asked for
		told := *f
		told.Prompt = ""
		e.rec.Fallback = &told
	case f.Hands(e.rec.Spec.Prompt.Digest):
		e.rec.Run.PromptSHA = f.Prompt
	}
	if d.delivered {
		e.rec.Run.DeliveredAt, e.rec.Run.PromptSHA = old.DeliveredAt, old.PromptSHA
	}
}

// A session can be ended on a disk that accepts no writes: an agent that fills the disk
// has to be stopped first of all. The store keeps elsewhere what could not be recorded.

// intend records a change of a session in advance. If the record cannot be written, a session is
// ended anyway, but one that is to be restarted stays unchanged.
func (e *entry) intend(i session.Intent) error {
	e.rec.Intent = i
	err := e.save()
	if state.Unwritable(err) && (e.change.Action == plan.Stop || e.change.Action == plan.Delete) {
		return nil
	}
	return err
}

// settleEnded is settle for a session that was ended.
func (e *entry) settleEnded() error {
	err := e.settle()
	if !state.Unwritable(err) {
		return err
	}
	return e.reportDeferred(err, e.journal.config.Store.Defer(e.rec))
}

// forget removes a session that was ended from the state.
func (e *entry) forget() error {
	err := e.journal.config.Store.Delete(e.rec.Address)
	switch {
	case err == nil:
		e.journal.config.dropRuns(e.rec)
		e.saved = false
		return nil
	case !state.Unwritable(err) || e.change.Action == plan.Replace:
		return fmt.Errorf("remove the session from the state: %w", err)
	}
	if err = e.reportDeferred(fmt.Errorf("remove the session from the state: %w", err), e.journal.config.Store.DeferDelete(e.rec.Address)); err == nil {
		e.saved = false
	}
	return err
}

// spend leaves of a session that was ended only that its work was landed.
func (e *entry) spend() error {
	was := e.rec
	e.rec.Run, e.rec.Past, e.rec.Inherits = session.Run{Number: was.Run.Number}, nil, nil
	e.rec.Location, e.rec.Tree = session.Location{}, session.WorkspaceState{}
	e.rec.Override, e.rec.OverBudget, e.lifts = nil, nil, nil
	if e.rec.Fallback != nil {
		e.rec.Spec, e.rec.Fallback = e.rec.Declared(), nil
	}
	if err := e.settleEnded(); err != nil {
		return err
	}
	e.journal.config.dropRuns(was)
	return nil
}

// reportDeferred reports that the end of a session could not be recorded: as a warning
// if it was deferred, and as an error if that failed, too.
func (e *entry) reportDeferred(why, failed error) error {
	if failed != nil {
		return errors.Join(fmt.Errorf("the agent has exited, but this could not be recorded: %w", why), failed,
			errors.New("free disk space and repeat the command: until then the session counts as running, and the next apply starts it again"))
	}
	e.journal.warn(e.change.Address, "the agent has exited, but this could not be recorded",
		why.Error()+"\nthe next command that changes a session and can write records it")
	return nil
}
