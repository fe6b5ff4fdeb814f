package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/view"
	"github.com/agentform/agentform/session"
)

// attend waits until a session has ended or the waiting is over, which is when it
// is interrupted, and, if rm, takes it away then. Its outcome is the command's.
func (a *app) attend(ctx, waiting context.Context, p *project, t *teller, address session.Address, rm bool) error {
	began := time.Now()
	last, err := a.ended(waiting, p, address)
	interrupted := waiting.Err() != nil
	switch {
	case interrupted && rm:
		fmt.Fprintf(a.env.Stderr, "\nInterrupted: ending %s.\n", address)
	case interrupted:
		fmt.Fprintf(a.env.Stderr, "\n%s works on: agentform attach %s\n", address, quoted(address))
		return outcome(exitInterrupted)
	case err != nil:
		return err
	default:
		x := view.Finished{Session: view.SessionOf(last), Elapsed: time.Since(began)}
		if l := last.Live; l != nil {
			x.Exit = l.Exit
		}
		if err := t.finished(x); err != nil {
			return err
		}
	}
	if rm {
		t.command = "Removal"
		if err := a.bring(ctx, p, t, removal(), address, ""); err != nil {
			return err
		}
	}
	switch {
	case interrupted:
		return outcome(exitInterrupted)
	case !well(last):
		return outcome(exitError)
	}
	return nil
}

// finished tells how a session ended.
func (t *teller) finished(x view.Finished) error {
	if t.lines != nil {
		return t.lines.Finished(x)
	}
	return view.FinishedLine(t.app.env.Stdout, t.app.out(), x, time.Now())
}

// ended waits for the session to do nothing more by itself, and returns what it
// last was. A screen can say so for a moment by mistake: two looks must agree.
func (a *app) ended(ctx context.Context, p *project, address session.Address) (view.Known, error) {
	e := a.eyesOf(p)
	var before session.Status
	for s, err := range follow.Looks(ctx, lookWait, nil, e.look) {
		if err != nil {
			return view.Known{}, err
		}
		k := s.of(address)
		if k.Record == nil {
			return k, fmt.Errorf("%s has gone from the record", address)
		}
		now := view.SessionOf(k).Status
		if now.Terminal() && now == before {
			return k, nil
		}
		before = now
	}
	return view.Known{}, ctx.Err()
}

// well reports whether a session that has ended did so well: its work is done, or
// it left by itself with 0.
func well(k view.Known) bool {
	switch view.SessionOf(k).Status {
	case session.StatusDone:
		return true
	case session.StatusExited:
		l := k.Live
		return l != nil && l.Exit != nil && l.Exit.Cause == "self" && l.Exit.Code == 0 && l.Exit.Signal == ""
	}
	return false
}
