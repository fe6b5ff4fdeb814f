package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/action/run"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/reporter"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/status"
)

type runWaiter struct {
	app      *app
	reporter *reporter.Reporter
	session  *run.Session
	rm       bool // removes the session, also if it cannot start
	shown    progress
	start    time.Time
}

func (w *runWaiter) run(ctx context.Context, until string) error {
	a := w.app
	why, err := w.session.Awaits(until)
	if err != nil {
		return fmt.Errorf("--for=turn: %w", err)
	}
	w.reporter.UseStderr()
	waiting, stop := streams.UntilInterrupted(ctx)
	defer stop()
	if err := startOne(ctx, a, w.reporter, w.session); err != nil {
		if gone := w.remove(ctx); gone != nil {
			printError(a, gone)
		}
		return err
	}
	if why != "" {
		fmt.Fprintf(a.Err, "Waiting until %s exits: %s.\n", w.session.Spec.Address, why)
	}
	return w.wait(ctx, waiting)
}

// wait removes the session or, if interrupted without rm, leaves it running.
func (w *runWaiter) wait(ctx, waiting context.Context) error {
	a, address := w.app, w.session.Spec.Address
	end, err := w.session.Follow(waiting, streams.PollInterval, w.reportProgress)
	interrupted := waiting.Err() != nil
	switch {
	case interrupted && w.rm:
		fmt.Fprintf(a.Err, "\nInterrupted: stopping %s.\n", address)
	case interrupted:
		fmt.Fprintf(a.Err, "\n%s keeps running: agentform attach %s\n", address, target.Quoted(address))
		return exit.Interrupted
	case err != nil:
		return err
	default:
		if err := w.finish(waiting, end); err != nil {
			return err
		}
	}
	if err := w.remove(ctx); err != nil {
		return err
	}
	if interrupted {
		return exit.Interrupted
	}
	good := end.Good()
	if err := w.reporter.Complete(good); err != nil || good {
		return err
	}
	return exit.Error
}

func (w *runWaiter) reportProgress(x api.Session, at time.Time) error {
	if lines := w.reporter.Lines; lines != nil {
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
func (w *runWaiter) finish(ctx context.Context, end *run.End) error {
	answer, err := end.Answer(ctx, streams.PollInterval/2)
	if err != nil {
		return err
	}
	x := view.Finished{Session: status.Of(end.Last), Elapsed: time.Since(w.start), Turn: end.Reached, Answer: answer}
	a := w.app
	if lines := w.reporter.Lines; lines != nil {
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

func (w *runWaiter) remove(ctx context.Context) error {
	if !w.rm {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	made, there, err := w.session.Removal(ctx)
	if err != nil || !there {
		return err
	}
	w.reporter.Command = "Removal"
	defer func() { w.reporter.Command = "Run" }()
	return applyOnly(ctx, w.app, w.reporter, made, reconcile.Run{})
}
