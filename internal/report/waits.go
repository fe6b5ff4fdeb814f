package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// What sessions wait for. A person gives the first three.
const (
	ForAnswer     = "answer" // to what its agent asks
	ForInput      = "input"  // after a turn
	ForPause      = "pause"  // the end of it
	ForLimit      = "limit"  // of the model's provider
	ForPlace      = "place"  // among those of max_running
	ForDependency = "dependency"
	ForBudget     = "budget"
	ForRestart    = "restart" // of an agent that exited
	ForSecret     = "secret"
)

// held is what a start that is held waits for, by the reason of the hold.
var held = map[plan.Reason]string{
	plan.ReasonQueued: ForPlace, plan.ReasonDependency: ForDependency, plan.ReasonDependencyFailed: ForDependency, plan.ReasonSecret: ForSecret,
	plan.ReasonRefused: ForSecret, plan.ReasonBlockedAPI: ForLimit, plan.ReasonBackingOff: ForRestart, plan.ReasonPolicy: ForRestart,
}

// waited returns what a session waited for within a span, by its history. What ended
// unseen counts as if it had ended when that was seen.
func (k Known) waited(since, until time.Time) []api.ReportWait {
	w := waits{since: since, open: map[string]open{}, sums: map[string]*api.ReportWait{}}
	for _, e := range k.Events {
		w.take(e)
	}
	if k.removed() {
		until = k.last().Time
	}
	for kind := range w.open {
		if w.end(until, kind); w.sums[kind] != nil {
			w.sums[kind].Now = !k.removed()
		}
	}
	all := []api.ReportWait{}
	for _, x := range w.sums {
		x.Seconds = wire.Seconds(time.Duration(x.Seconds * float64(time.Second)))
		all = append(all, *x)
	}
	slices.SortFunc(all, func(a, b api.ReportWait) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.For, b.For))
	})
	return all
}

type waits struct {
	since time.Time
	open  map[string]open            // by reason
	sums  map[string]*api.ReportWait // those that ended in the span
}

type open struct {
	at     time.Time
	detail string
}

func (w *waits) begin(e history.Event, kind, detail string) {
	at := e.Time
	if o, is := w.open[kind]; is {
		at = o.at // it is still the same wait
	}
	w.open[kind] = open{at, detail}
}

// end ends waits, and counts their part in the span.
func (w *waits) end(at time.Time, kinds ...string) {
	for _, kind := range kinds {
		o, is := w.open[kind]
		delete(w.open, kind)
		if !is || at.Before(w.since) {
			continue
		}
		begin := o.at
		if begin.Before(w.since) {
			begin = w.since
		}
		sum := w.sums[kind]
		if sum == nil {
			sum = &api.ReportWait{For: kind}
			w.sums[kind] = sum
		}
		sum.Times++
		sum.Seconds += max(at.Sub(begin), 0).Seconds()
		sum.Detail = o.detail
	}
}

// starts are what a start waits for.
var starts = []string{ForPlace, ForDependency, ForSecret, ForRestart}

// take follows one event.
func (w *waits) take(e history.Event) {
	switch e.Kind {
	case history.StatusChanged:
		w.status(e)
	case history.TurnEnded:
		delete(w.open, ForInput) // a user typed at its terminal, at an unknown time
		w.begin(e, ForInput, e.Detail)
	case history.Sent, history.PromptDelivered:
		if w.end(e.Time, ForInput); activity.Answers(e) {
			w.end(e.Time, ForAnswer)
		}
	case history.Held:
		kind := held[plan.Reason(e.Reason)]
		for _, other := range starts {
			if other != kind {
				w.end(e.Time, other)
			}
		}
		if kind != "" {
			w.begin(e, kind, e.Detail)
		}
	case history.ApplyStart:
		w.end(e.Time, starts...)
	case history.Launched, history.RunEnded:
		w.end(e.Time, starts...)
		w.end(e.Time, ForAnswer, ForInput, ForLimit)
	case history.Finished, history.Landed:
		w.end(e.Time, ForAnswer, ForInput)
	case history.BudgetHeld:
		w.begin(e, ForBudget, e.New)
	case history.BudgetLifted, history.BudgetIgnored:
		w.end(e.Time, ForBudget)
	case history.OverrideSet, history.OverrideLifted:
		if w.end(e.Time, ForPause); e.Kind == history.OverrideSet && e.New == string(session.Paused) {
			w.begin(e, ForPause, cmp.Or(e.By, "someone"))
		}
	}
}

// status follows another status of the agent. One that starts to work is not seen: it is
// running, as when it rests.
func (w *waits) status(e history.Event) {
	switch session.Status(e.New) {
	case session.StatusBlocked:
		w.end(e.Time, ForLimit)
		w.begin(e, ForAnswer, e.Detail)
	case session.StatusBlockedAPI:
		w.end(e.Time, ForAnswer)
		w.begin(e, ForLimit, e.Detail)
	default:
		w.end(e.Time, ForAnswer, ForLimit)
	}
}
