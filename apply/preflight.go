package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// preflight checks the commands and secrets of the sessions that are to start, and reports whether
// to continue: either only those that lack something fail, or all are skipped.
func (r *run) preflight(ctx context.Context) bool {
	faults, search := map[*job]error{}, Search{}
	for _, j := range r.jobs {
		if starts(j.change) {
			if err := r.startable(ctx, j, search); err != nil {
				faults[j] = err
			}
		}
	}
	if len(faults) == 0 {
		return true
	}
	alone := r.config.EachAlone
	for _, j := range r.jobs {
		err := faults[j]
		switch {
		case err == nil && alone:
			continue
		case err == nil:
			j.outcome, j.detail = Skipped, "not started, because something that another session needs is missing"
			r.journal.emit(nil, j.entry.event(history.Event{Kind: history.ApplySkipped, Detail: j.detail}))
			continue
		}
		j.outcome, j.err = Failed, &failure{j.change.Action, j.change.Address, err}
		var of *session.Record
		if alone {
			of = j.change.Before // it is retried, and the history counts the attempts
		}
		r.journal.emit(of, j.entry.event(history.Event{Kind: history.ApplyErrored, Detail: j.err.Error()}))
	}
	if alone {
		for j := range faults {
			j.skipDependents()
		}
	}
	return alone
}

func (r *run) startable(ctx context.Context, j *job, search Search) error {
	s := *j.change.After
	var errs []error
	for _, name := range s.Secrets {
		if _, ok := r.config.Secrets(name); !ok {
			errs = append(errs, fmt.Errorf("secret %s is not set", name))
		}
	}
	return errors.Join(append(errs, r.findAgent(ctx, j.agent(), s, search))...)
}

func (r *run) findAgent(ctx context.Context, a session.Agent, s session.Spec, search Search) error {
	start := a.Start(session.StartInput{Spec: s})
	c, err := r.runtimes.container(s)
	switch {
	case err != nil:
		return err
	case c != nil:
		return c.Check(ctx, s, start.Argv)
	}
	env, _, err := r.environs.of(s, start.Env)
	if err != nil {
		return err
	}
	if err := search.Startable(s, start.Argv, env); err != nil {
		return fmt.Errorf("agent %q: %w", s.Agent.Name, err)
	}
	return nil
}
