package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// unmanifested opens the project for a session that needs no manifest line: there
// need not be a manifest, but one that is there must be right.
func (a *app) unmanifested() (*project, state.State, error) {
	p := a.open()
	if len(p.manifest.Files) > 0 || len(a.globals.files) > 0 {
		if _, err := a.wanted(); err != nil {
			return nil, state.State{}, err
		}
	}
	s, err := state.Read(p.state)
	if errors.Is(err, state.ErrNone) {
		err = nil
	}
	if err == nil {
		err = p.check(s)
	}
	return p, s, err
}

// declared is what the manifest says of a session; nil: it has no such one.
func (p *project) declared(address session.Address) *session.Spec {
	for i := range p.manifest.Sessions {
		if p.manifest.Sessions[i].Address == address {
			return &p.manifest.Sessions[i]
		}
	}
	return nil
}

// bring does what one session alone is asked for by hand: to be made, taken over
// or ended. The others are left as they are, whatever the manifest says of them.
func (a *app) bring(ctx context.Context, p *project, t *teller, q engine.Request, address session.Address, origin session.Origin) error {
	q.Options.Targets, q.Options.MaxRunning = []session.Address{address}, p.maxRunning()
	r := a.reconciler(p, toAct)
	r.Applier.Origin, r.Applier.Emit = origin, t.event
	made, err := r.Plan(ctx, q)
	if err != nil {
		return err
	}
	problems := about(made.Problems, address)
	if session.HasErrors(problems) {
		return t.end(apply.Tally{}, problems, nil)
	}
	if c := changeOf(made, address); !c.Action.Acts() {
		return fmt.Errorf("%s: nothing was done: %s", address, c.Detail)
	}
	if err := a.ready(ctx, t, made); err != nil {
		return err
	}
	ctx, drain, done := a.interruptible(ctx)
	defer done()
	tally, err := r.Apply(ctx, q, made, drain)
	if err := t.environment(r.Applier, made); err != nil {
		return err
	}
	return t.end(tally, nil, err)
}

// about are the problems that keep a session from what it is asked for: its own,
// and those of no session.
func about(all []session.Diagnostic, address session.Address) []session.Diagnostic {
	var found []session.Diagnostic
	for _, d := range all {
		if d.Address == address || d.Address == "" {
			found = append(found, d)
		}
	}
	return found
}

func changeOf(p plan.Plan, address session.Address) plan.Change {
	for _, c := range p.Changes {
		if c.Address == address {
			return c
		}
	}
	return plan.Change{}
}

// newAddress reads an address that is to be given to a session, with or without
// its "session."; a key that the shell took the quotes from is understood.
func newAddress(typed string) (session.Address, error) {
	address, err := session.ParseAddress(typed)
	if m := unquoted().FindStringSubmatch(typed); err != nil && m != nil {
		return session.Keyed(m[1], m[2]), nil
	}
	return address, err
}
