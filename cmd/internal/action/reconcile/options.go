package reconcile

import (
	"errors"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Asked is a command line's request for a plan. Its sessions are addresses as typed, and its
// targets may come from a filter.
type Asked struct {
	Targets, Exclude, Replace []string
	choose.Filter
	Destroy, RefreshOnly, IgnoreBudget bool
}

// Options returns the options of the plan. Errors name each unknown address.
func (q Asked) Options(p *project.Project) (plan.Options, error) {
	o := plan.Options{Destroy: q.Destroy, RefreshOnly: q.RefreshOnly, MaxRunning: p.MaxRunning, IgnoreBudget: q.IgnoreBudget}
	switch {
	case q.Destroy && q.RefreshOnly:
		return o, errors.New("--destroy and --refresh-only cannot be combined")
	case q.Destroy && len(q.Replace) > 0:
		return o, errors.New("--destroy and --replace cannot be combined")
	}
	if len(q.Targets)+len(q.Exclude)+len(q.Replace) == 0 && !q.Given() {
		return o, nil
	}
	s, err := state.Read(p.State)
	if err != nil && !errors.Is(err, state.ErrNone) {
		return o, err
	}
	known := choose.Addresses(p.Manifest.Sessions, s.Sessions)
	var errs []error
	for _, list := range []struct {
		typed []string
		into  *[]session.Address
	}{{q.Targets, &o.Targets}, {q.Exclude, &o.Exclude}, {q.Replace, &o.Replace}} {
		found, err := choose.All(known, list.typed)
		*list.into = found
		errs = append(errs, err)
	}
	if q.Given() {
		chosen, err := q.Match(p.Manifest.Sessions, s.Sessions)
		o.Targets = append(o.Targets, chosen...)
		errs = append(errs, err)
	}
	return o, errors.Join(errs...)
}
