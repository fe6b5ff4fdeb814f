package apply

import (
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/go-multierror"

	"github.com/agentform/agentform/plan"
)

// Await waits until every session that the tally says was started is ready: its
// screen shows it, or, where no pattern is known, it lives; each as long as its
// agent may take. It tells a Ready event for each that is not on record as ready
// already, and writes no state, so it needs no lock. The error gathers those that did not become ready.
func (a *Applier) Await(ctx context.Context, t Tally) error {
	r := newRun(a, plan.Plan{})
	var wg sync.WaitGroup
	errs := make([]error, len(t.Results))
	for i, res := range t.Results {
		if !res.Started || res.Outcome != Done || res.Record == nil || !res.Record.Run.ReadyAt.IsZero() {
			continue
		}
		wg.Go(func() {
			rec := *res.Record
			run, err := r.launching(&rec, r.Agent(res.Record.Spec.Agent))
			if err == nil {
				err = r.awaitReady(ctx, run)
			}
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", res.Address, inWords(err))
			}
		})
	}
	wg.Wait()
	var all *multierror.Error
	for _, err := range errs {
		if err != nil {
			all = multierror.Append(all, err)
		}
	}
	return all.ErrorOrNil()
}
