package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

type runWaiter struct {
	app      *app
	project  *project.Project
	reporter *reporter
	address  session.Address
	turn     bool // until the end of its turn; else until it has ended
	follower follow.Follower
	shown    progress
	start    time.Time
}

var untilWords = []string{"turn", "exit"}

// untilTurn returns why it waits for the exit instead, if that is worth a message.
func untilTurn(spec session.Spec, given string) (turn bool, why string, err error) {
	unseen := follow.Visible(spec, follow.Turn)
	switch {
	case spec.Agent.OneShot || given == "exit":
		return false, "", nil
	case given == "turn":
		return true, "", unseen
	case spec.Prompt.Text == "":
		return false, "it has no prompt", nil
	case unseen != nil:
		return false, unseen.Error(), nil
	}
	return true, "", nil
}

// run removes the session with --rm, also if it cannot start.
func (w *runWaiter) run(ctx context.Context, q engine.Request, spec session.Spec, o runOptions) error {
	a := w.app
	turn, why, err := untilTurn(spec, o.until)
	if err != nil {
		return fmt.Errorf("--for=turn: %w", err)
	}
	w.turn = turn
	w.reporter.useStderr()
	waiting, stop := streams.UntilInterrupted(ctx)
	defer stop()
	if err := applySingle(ctx, a, w.project, w.reporter, q, w.address, session.FromRun); err != nil {
		if gone := w.remove(ctx, o.rm); gone != nil {
			printError(a, gone)
		}
		return err
	}
	if why != "" {
		fmt.Fprintf(a.Err, "Waiting until %s exits: %s.\n", w.address, why)
	}
	return w.wait(ctx, waiting, o.rm)
}

// wait removes the session or, if interrupted without rm, leaves it running.
func (w *runWaiter) wait(ctx, waiting context.Context, rm bool) error {
	a := w.app
	last, reached, err := w.follow(waiting)
	interrupted := waiting.Err() != nil
	switch {
	case interrupted && rm:
		fmt.Fprintf(a.Err, "\nInterrupted: stopping %s.\n", w.address)
	case interrupted:
		fmt.Fprintf(a.Err, "\n%s keeps running: agentform attach %s\n", w.address, target.Quoted(w.address))
		return exit.Interrupted
	case err != nil:
		return err
	default:
		if err := w.finish(waiting, last, reached); err != nil {
			return err
		}
	}
	if err := w.remove(ctx, rm); err != nil {
		return err
	}
	if interrupted {
		return exit.Interrupted
	}
	good := reached || succeeded(last)
	if err := w.reporter.complete(good); err != nil || good {
		return err
	}
	return exit.Error
}

// follow observes an end twice before it returns.
func (w *runWaiter) follow(ctx context.Context) (last status.Input, reached bool, err error) {
	e := project.Fleet(w.project)
	over := false
	var runs []string
	heard := func() int64 { return e.Activity.Heard(runs) }
	for s, err := range follow.Looks(ctx, streams.PollInterval, heard, e.Look) {
		if err != nil {
			return status.Input{}, false, err
		}
		k := s.Of(w.address)
		if k.Record == nil {
			return k, false, fmt.Errorf("%s is no longer in the state", w.address)
		}
		runs = []string{k.Record.Run.ID}
		x := status.Of(k)
		w.follower.See(s.World.At, []follow.Sight{status.Followed(k, x, e.Activity.Agent)})
		if w.turn && w.follower.Verdict(w.address, follow.Turn) == follow.Reached {
			return k, true, nil
		}
		if ended := w.follower.Ended(w.address); ended && over {
			return k, false, nil
		} else if over = ended; !ended {
			if err := w.reportProgress(x, s.World.At); err != nil {
				return k, false, err
			}
		}
	}
	return status.Input{}, false, ctx.Err()
}

func (w *runWaiter) reportProgress(x api.Session, at time.Time) error {
	if lines := w.reporter.lines; lines != nil {
		if old := w.shown.last; old == nil || status.Word(*old) != status.Word(x) {
			w.shown.last = &x
			return lines.Step(view.Step{At: at, Old: old, New: &x})
		}
		return nil
	}
	return w.shown.show(w.app.Err, w.app.ErrStyle(), x, at)
}

type progress struct {
	last      *api.Session
	since     time.Time // when it began with that
	printedAt time.Time
	region    *view.Region
}

// reminderInterval is how often an unchanged state is printed where no line can be redrawn.
const reminderInterval = time.Minute

func (p *progress) show(w io.Writer, style view.Style, x api.Session, at time.Time) error {
	if p.last == nil || status.Word(*p.last) != status.Word(x) || p.last.Detail != x.Detail {
		p.since, p.printedAt, p.region = at, time.Time{}, view.NewRegion(w)
	}
	p.last = &x
	name := target.Quoted(x.Address)
	how := "agentform attach " + name + ", or agentform send " + name + " --key KEY"
	if x.Question != nil {
		how = "agentform answer " + name + " ANSWER, or agentform attach " + name
	}
	line := view.WaitingLine(style, x, at.Sub(p.since), how)
	if style.Width > 0 {
		return p.region.Draw(line, style.Width, style.Rows)
	}
	if at.Sub(p.printedAt) < reminderInterval {
		return nil
	}
	p.printedAt = at
	_, err := io.WriteString(w, line)
	return err
}

// finish prints the answer to standard output and the end to standard error.
func (w *runWaiter) finish(ctx context.Context, last status.Input, reached bool) error {
	answer, err := w.answer(ctx, last)
	if err != nil {
		return err
	}
	x := view.Finished{Session: status.Of(last), Elapsed: time.Since(w.start), Turn: reached, Answer: answer}
	a := w.app
	if lines := w.reporter.lines; lines != nil {
		return lines.Finished(x)
	}
	if err := view.FinishedLine(a.Err, a.ErrStyle(), x, time.Now()); err != nil {
		return err
	}
	if answer == "" {
		return nil
	}
	_, err = io.WriteString(a.Out, answer+"\n")
	return err
}

// answer reads the screen of an agent without a session file.
func (w *runWaiter) answer(ctx context.Context, last status.Input) (string, error) {
	e := project.Fleet(w.project)
	given, _ := activity.Given(*last.Record, last.Events)
	for end := time.Now().Add(turn.FileLag); ; {
		n := last.Look.Transcript
		if n == nil {
			break
		}
		if n.Answered(given) || time.Now().After(end) {
			return plaintext.Safe(n.LastMessage), nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(streams.PollInterval / 2):
		}
		look := e.Activity.Look(*last.Record, last.Live, last.Events, time.Now())
		last.Look = &look
	}
	if last.Live == nil {
		return "", nil
	}
	s, err := state.Read(w.project.State)
	if err != nil {
		return "", err
	}
	rt, err := e.Engine.Opened(s.Lineage, last.Record.Spec.Runtime)
	if err != nil {
		return "", err
	}
	text, err := rt.Capture(ctx, last.Live.Location, 0)
	if errors.Is(err, session.ErrGone) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the screen of %s: %w", w.address, err)
	}
	tail, _ := wire.Tail(plaintext.Safe(text))
	return tail, nil
}

func (w *runWaiter) remove(ctx context.Context, rm bool) error {
	if !rm {
		return nil
	}
	s, err := state.Read(w.project.State)
	if err != nil && !errors.Is(err, state.ErrNone) {
		return err
	}
	if project.Find(s.Sessions, w.address) == nil {
		return nil
	}
	w.reporter.command = "Removal"
	defer func() { w.reporter.command = "Run" }()
	return applySingle(context.WithoutCancel(ctx), w.app, w.project, w.reporter, engine.Request{Options: plan.Options{Destroy: true}}, w.address, "")
}

// succeeded accepts a session that is done or exited by itself with 0.
func succeeded(k status.Input) bool {
	switch status.Of(k).Status {
	case session.StatusDone:
		return true
	case session.StatusExited:
		return k.Live != nil && k.Live.Exit.Clean()
	}
	return false
}
