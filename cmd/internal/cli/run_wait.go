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
	shown    view.Waiting
	last     *api.Session // that a line was written of
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
		old := w.last
		if old != nil && status.Word(*old) == status.Word(x) {
			return nil
		}
		w.last = &x
		return lines.Step(view.Step{At: at, Old: old, New: &x})
	}
	return w.shown.Show(w.app.Err, w.app.ErrStyle(), x, at)
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
