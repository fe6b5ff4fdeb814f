package apply

import (
	"cmp"
	"slices"

	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/hashicorp/go-multierror"
)

// run is one plan being carried out: its jobs and what they share.
type run struct {
	config *Applier
	plan   plan.Plan
	jobs   []*job // the higher priority first

	journal       *journal
	runtimes      *runtimes
	environs      *environments
	workspaces    *workspaces
	conversations *conversations
	starter       *starter
	stopper       *stopper
}

func newRun(a *Applier, p plan.Plan) *run {
	r := &run{config: a, plan: p, journal: &journal{config: a}}
	reader := activity.New(a.DataDir, environ.Vars(a.BaseEnv).Get("HOME"), a.Agent)
	r.runtimes = &runtimes{open: a.Runtime}
	r.environs = &environments{config: a, concealed: map[string]bool{}}
	r.workspaces = &workspaces{config: a, runtimes: r.runtimes, environs: r.environs, removeAll: p.Options.RemoveClean}
	r.conversations = &conversations{reader: reader, journal: r.journal}
	r.starter = &starter{
		config: a, lineage: p.Lineage, journal: r.journal, runtimes: r.runtimes,
		environs: r.environs, reader: reader, newID: r.newID,
	}
	r.stopper = &stopper{config: a, runtimes: r.runtimes, reader: reader, journal: r.journal}
	for i := range p.Changes {
		c := &p.Changes[i]
		e := &entry{journal: r.journal, change: c, lifts: c.Lifts, at: p.At}
		if c.After != nil {
			r.environs.conceal(append([]string{c.After.Workspace.RepoSecret}, c.After.Secrets...))
		}
		if c.Before != nil {
			r.environs.conceal(append([]string{c.Before.Spec.Workspace.RepoSecret}, c.Before.Spec.Secrets...))
			e.rec, e.saved = *c.Before, true
		}
		if c.Action.Acts() || waits(*c) || queues(*c) {
			r.jobs = append(r.jobs, &job{run: r, change: c, entry: e})
		}
	}
	slices.SortStableFunc(r.jobs, func(a, b *job) int {
		return cmp.Or(cmp.Compare(priority(b.change), priority(a.change)), cmp.Compare(a.change.Address, b.change.Address))
	})
	link(r.jobs)
	for i, j := range r.jobs {
		j.rank, j.weight = i, share
		if a.Parallelism > 1 {
			j.weight = weight(j)
		}
	}
	return r
}

func (r *run) newID(digits int) string {
	if r.config.NewID != nil {
		return r.config.NewID(digits)
	}
	return launch.RandomHex(digits)
}

func (r *run) newRecord(c *plan.Change) session.Record {
	return session.Record{ID: c.Address.Slug() + "-" + r.newID(8), Address: c.Address, Origin: r.origin(), Spec: *c.After, CreatedAt: r.journal.now()}
}

func (r *run) origin() session.Origin { return cmp.Or(r.config.Origin, session.FromManifest) }

// tally returns the results in the plan's order.
func (r *run) tally(interrupted bool) (Tally, error) {
	at := make(map[session.Address]int, len(r.plan.Changes))
	for i := range r.plan.Changes {
		at[r.plan.Changes[i].Address] = i
	}
	jobs := slices.Clone(r.jobs)
	slices.SortFunc(jobs, func(a, b *job) int { return cmp.Compare(at[a.change.Address], at[b.change.Address]) })
	t := Tally{Warnings: r.journal.warnings}
	var errs *multierror.Error
	for _, j := range jobs {
		res := result(j)
		t.Results = append(t.Results, res)
		switch res.Outcome {
		case Done:
			t.Done++
		case Failed:
			t.Failed++
			errs = multierror.Append(errs, res.Err)
		case Skipped:
			t.Skipped++
		case Held:
			t.Held++
		}
	}
	if interrupted {
		errs = multierror.Append(errs, ErrInterrupted)
	}
	return t, errs.ErrorOrNil()
}
