package fleet

import (
	"slices"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
)

// Past is what is kept of one recorded session between looks.
type Past struct {
	Course status.Course
	Events []history.Event // the history, as last read

	folder     string
	keep       int // how many events; 0: all
	tail       *history.Tail
	transcript string
}

// PastOf returns the Past of the session with a directory. keep limits how many events are kept, which
// then have no excerpts and questions; 0: all are.
func PastOf(folder string, keep int) *Past {
	return &Past{folder: folder, keep: keep, tail: history.TailOf(folder)}
}

// Read adds to Events what is new in the history, and returns it.
func (p *Past) Read() ([]history.Event, error) {
	fresh, err := p.tail.More()
	for _, e := range fresh {
		if p.keep > 0 {
			e.Excerpt, e.Question = "", nil
		}
		p.Events = append(p.Events, e)
	}
	if over := len(p.Events) - p.keep; p.keep > 0 && over > 0 {
		p.Events = thin(slices.Clone(p.Events), over) // looks have the others
	}
	if p.transcript == "" && len(fresh) > 0 {
		p.transcript = status.Transcript(p.folder)
	}
	return fresh, err
}

// Known returns what is known of the session that one look saw, whose agent does that. wanted is the
// session in the manifest; nil: there is none.
func (p *Past) Known(x *engine.Seen, wanted *session.Spec, look activity.Look, at time.Time) status.Input {
	k := status.Input{Wanted: wanted, Record: &x.Record, Live: x.Live, Diagnosis: x.Diagnosis, Checkout: x.Checkout, Look: &look,
		Events: p.Events, Transcript: p.transcript, At: at}
	k.See(&p.Course)
	return k
}

// Used adds what a store knows of what a recorded session used. Without a store that is nothing.
func Used(k *status.Input, store *usage.Store) {
	if store == nil {
		return
	}
	if sum, is := store.Known(k.Record.ID); is {
		k.Usage = &sum
	}
}

// Last returns the youngest event that fits, unless one that ends an episode is younger. ends may be nil.
func Last(events []history.Event, fits, ends func(history.Event) bool) *history.Event {
	for i := range slices.Backward(events) {
		switch e := &events[i]; {
		case fits(*e):
			return e
		case ends != nil && ends(*e):
			return nil
		}
	}
	return nil
}

// thin drops the oldest events, but not the last of each kind, nor pull requests, which
// are reported once.
func thin(events []history.Event, over int) []history.Event {
	last := map[history.Kind]int{}
	for i, e := range events {
		last[e.Kind] = i
	}
	i := -1
	return slices.DeleteFunc(events, func(e history.Event) bool {
		i++
		if over > 0 && !e.Kind.Once() && last[e.Kind] != i {
			over--
			return true
		}
		return false
	})
}
