package target

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/session"
)

// Send types texts and keys into the session and records that. command means that a text is a
// command of the agent. After a key that fails, no more are pressed.
func (t *Target) Send(ctx context.Context, reader *activity.Reader, inputs []session.Input, command bool) view.Sent {
	x := view.Sent{Address: t.Record.Address, Outcome: "failed"}
	if x.Err = t.CheckRunning(); x.Err != nil {
		return x
	}
	for i, in := range inputs {
		if i > 0 {
			sleep.For(ctx, keyPause)
		}
		outcome, sent, err := reader.Send(ctx, t.Runtime, t.Record, *t.Live, in, command, t.Project.Log)
		if err != nil {
			what := ""
			if len(inputs) > 1 {
				what = "key " + in.Key + " "
			}
			x.Outcome, x.Err = "failed", t.WithRemedy(fmt.Errorf("send %sto %s: %w", what, t.Record.Address, err))
			return x
		}
		x.Outcome = "sent"
		sent.By = t.Project.Who().User
		if outcome == input.Queued {
			sent.Detail += ", queued"
			x.Outcome = "queued"
		}
		if err := t.note(sent); err != nil {
			t.Project.Log.Warn("it was sent, but the history cannot be written", "error", err)
		}
	}
	return x
}

// keyPause is the time between two keys. A program that reads two at once may take them for another
// one, as Escape Escape for Alt+Escape. Copilot CLI 1.0.102 waits half a second for the second one.
const keyPause = 200 * time.Millisecond

// Capture returns the session's screen.
func (t *Target) Capture(ctx context.Context, lines int) view.Tail {
	x := view.Tail{Address: t.Record.Address, Err: t.Fault}
	switch {
	case x.Err != nil:
	case t.Live == nil:
		x.Err = fmt.Errorf("%s has no screen: %s\nFor its log: agentform logs %s", t.Record.Address, t.Diagnosis.Detail, Quoted(t.Record.Address))
	default:
		text, err := t.Runtime.Capture(ctx, t.Place(), lines)
		if err != nil {
			err = t.WithRemedy(fmt.Errorf("capture %s: %w", t.Record.Address, err))
		}
		x.Text, x.Err = text, err
	}
	return x
}

// Asking is a session to be answered.
type Asking struct {
	*Target
	Activity *activity.Reader
	Shown    *session.Question // nil: not drawn yet, or there is none
}

// Reply is an answer; see input.Reply.
type Reply = input.Reply

// AskingOf returns the sessions to be answered: those that are named, or those selected by flags
// that ask a question.
func AskingOf(p *project.Project, e *fleet.Observer, seen *fleet.Snapshot, meant []session.Address, byFlag bool) (found []*Asking) {
	for _, address := range meant {
		k := seen.Of(address)
		if k.Record == nil {
			continue // removed from the state meanwhile
		}
		t := &Asking{
			Target:   &Target{Project: p, Seen: engine.Seen{Record: *k.Record, Live: k.Live, Diagnosis: k.Diagnosis}},
			Activity: e.Activity, Shown: k.Look.Detection.Question,
		}
		if byFlag && t.Shown == nil && k.Look.Activity != session.Blocked {
			continue
		}
		t.Runtime, t.Fault = e.Engine.For(t.Record.Spec)
		found = append(found, t)
	}
	return found
}

// Answer answers the session's question and records that.
func (t *Asking) Answer(ctx context.Context, r input.Reply) view.Answer {
	x := view.Answer{Address: t.Record.Address, Question: t.Shown, Err: t.CheckRunning()}
	if x.Err != nil {
		return x
	}
	if r.Question == "" && t.Shown != nil {
		r.Question = t.Shown.ID
	}
	done, sent, err := t.Activity.Answer(ctx, t.Runtime, t.Record, *t.Live, r, t.Project.Log)
	if done.Question.ID != "" {
		x.Question = &done.Question
	}
	if err != nil {
		x.Err = t.answerRemedy(fmt.Errorf("%s: %w", t.Record.Address, err))
		return x
	}
	x.Given, x.Next, x.Exited = done.String(), done.Next, done.Exited
	if done.Option.Number > 0 {
		x.Option = &done.Option
	}
	sent.By = t.Project.Who().User
	if err := t.note(sent); err != nil {
		t.Project.Log.Warn("it was answered, but the history cannot be written", "error", err)
	}
	return x
}

// answerRemedy adds a remedy to an error of answering.
func (t *Asking) answerRemedy(err error) error {
	name := Quoted(t.Record.Address)
	var none *input.NoQuestionError
	var other *input.OtherQuestionError
	var still *input.NotAnsweredError
	switch {
	case errors.As(err, &none) && none.Activity == session.Booting:
		return fmt.Errorf("%w\nagentform wait %s --for=ready,blocked waits until it accepts a prompt or asks", err, name)
	case errors.As(err, &none) && none.Activity != session.Blocked:
		return fmt.Errorf("%w\nagentform send %s TEXT sends a prompt", err, name)
	case errors.As(err, &other):
		return fmt.Errorf("%w\nagentform status %s shows its current question", err, name)
	case errors.As(err, &none), errors.As(err, &still):
		return fmt.Errorf("%w\nagentform attach %[2]s shows it, agentform send %[2]s --key KEY presses a key", err, name)
	}
	return t.WithRemedy(err)
}
