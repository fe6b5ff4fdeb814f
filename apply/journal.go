package apply

import (
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// journal emits events, keeps them in the histories of sessions, and collects warnings.
type journal struct {
	config *Applier

	mu       sync.Mutex // guards the rest, and makes reports come one at a time
	warnings []session.Diagnostic
	failed   bool // a warning that the history cannot be written was emitted
}

func (l *journal) now() time.Time {
	if l.config.Now != nil {
		return l.config.Now()
	}
	return time.Now()
}

// emit reports events and keeps them in the history of the record's session; nil: they
// are only reported. What has no time happens now.
func (l *journal) emit(of *session.Record, events ...history.Event) {
	l.sign(events)
	if of != nil && of.ID != "" {
		if err := history.Append(l.config.Folder(*of), events...); err != nil {
			l.unwritable(err)
		}
	}
	l.report(events)
}

// emitOnce reports an event of a run, and keeps it unless the history has one of its kind:
// another process may have seen the same.
func (l *journal) emitOnce(of *session.Record, e history.Event) {
	events := []history.Event{e}
	l.sign(events)
	_, err := history.Update(l.config.Folder(*of), func(past []history.Event) []history.Event {
		if slices.ContainsFunc(past, func(x history.Event) bool { return x.Kind == e.Kind && x.Run == e.Run }) {
			return nil
		}
		return events
	})
	if err != nil {
		l.unwritable(err)
	}
	l.report(events)
}

func (l *journal) sign(events []history.Event) {
	for i := range events {
		e := &events[i]
		e.By = l.config.By
		if e.Time.IsZero() {
			e.Time = l.now()
		}
	}
}

func (l *journal) report(events []history.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.config.Emit != nil {
		for _, e := range events {
			l.config.Emit(e)
		}
	}
}

// unwritable warns, once, that events are not kept.
func (l *journal) unwritable(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.failed {
		l.failed = true
		l.warnings = append(l.warnings, session.Diagnostic{Severity: session.Warning,
			Summary: "the history cannot be written", Detail: err.Error() + "\noperations are carried out but not recorded"})
	}
}

func (l *journal) warn(a session.Address, summary, detail string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warnings = append(l.warnings, session.Diagnostic{Severity: session.Warning, Summary: summary, Detail: detail, Address: a})
}
