package cli

import (
	"context"
	"fmt"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// bring does what one session alone is asked for by hand: to be made, taken over
// or ended. The others are left as they are, whatever the manifest says of them.
func bring(ctx context.Context, a *app, p *project.Project, t *teller, q engine.Request, address session.Address, origin session.Origin) error {
	q.Options.Targets, q.Options.MaxRunning = []session.Address{address}, p.MaxRunning
	r := p.Reconciler(project.ToAct)
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
	if err := ready(ctx, a, t, made); err != nil {
		return err
	}
	ctx, drain, done := interruptible(ctx, a)
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
