package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentform/agentform/cmd/internal/action/adopt"
	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/session"
)

func findAdoptable(ctx context.Context, a *app) (adopt.Adoptable, error) {
	p, s, err := a.Optional()
	if err != nil {
		return adopt.Adoptable{}, err
	}
	return adopt.Find(ctx, p, s)
}

func runAdoptList(ctx context.Context, a *app) error {
	x, err := findAdoptable(ctx, a)
	if err != nil {
		return err
	}
	if a.JSON {
		return view.AdoptableJSON(a.Out, x.Found, x.Addresses)
	}
	return view.Adoptable(a.Out, a.OutStyle(), x.Found, x.Addresses, x.Managed, time.Now())
}

func runAdoptAll(ctx context.Context, a *app) error {
	x, err := findAdoptable(ctx, a)
	if err != nil {
		return err
	}
	if err := view.NotAdopted(a.Err, a.ErrStyle(), x.Found, x.Addresses); err != nil {
		return err
	}
	drafts, failed := x.Drafts(ctx)
	if len(drafts)+len(failed) == 0 {
		fmt.Fprintln(a.Err, "No agent in your tmux servers can be adopted.")
		return nil
	}
	t, err := newReporter(a, "Adopt")
	if err != nil {
		return err
	}
	if len(drafts) == 0 {
		return t.Fail(nil, errors.Join(failed...))
	}
	made, err := x.All(ctx, drafts)
	if err != nil {
		return err
	}
	ctx, drain, done := a.Interruptible(ctx)
	defer done()
	applied, err := made.Apply(ctx, reconcile.Run{Origin: session.FromAdopt, Drain: drain, Emit: t.Event})
	if err != nil {
		return t.Fail(made.Problems, errors.Join(append(failed, err)...))
	}
	return t.End(applied.Tally, made.Problems, errors.Join(append(failed, applied.Err)...))
}
