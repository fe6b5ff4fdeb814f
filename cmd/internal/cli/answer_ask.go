package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
)

// openAsking opens the sessions that are to be answered: those that are named, or those of
// the chosen ones that ask something.
func openAsking(ctx context.Context, a *app, o answerOptions) ([]*target.Asking, error) {
	p, _, meant, err := o.open(a)
	if err != nil || len(meant) == 0 {
		return nil, err
	}
	e := project.Fleet(p)
	seen, err := e.Look(ctx)
	if err != nil {
		return nil, err
	}
	return target.AskingOf(p, e, seen, meant, o.ByFlag()), nil
}

// askPerson shows a session's question and reads the answer.
func askPerson(a *app, targets []*target.Asking) (target.Reply, error) {
	if len(targets) > 1 {
		return target.Reply{}, errors.New("missing argument: the answer")
	}
	t := targets[0]
	if err := t.CheckRunning(); err != nil {
		return target.Reply{}, err
	}
	if t.Shown == nil {
		return target.Reply{}, fmt.Errorf("%s has no question that can be answered here\nagentform status %s shows what it does", t.Record.Address, target.Quoted(t.Record.Address))
	}
	if err := view.Question(a.Err, a.ErrStyle(), t.Record.Address, *t.Shown); err != nil {
		return target.Reply{}, err
	}
	if !streams.IsTerminal(a.In) {
		return target.Reply{}, fmt.Errorf("no answer is given, and standard input is not a terminal\nagentform answer %s ANSWER gives it", target.Quoted(t.Record.Address))
	}
	fmt.Fprint(a.Err, "Answer: ")
	text, err := a.Answer()
	if err == nil && text == "" {
		err = errors.New("no answer: nothing was sent")
	}
	return target.Reply{Text: text, Question: t.Shown.ID}, err
}
