package apply

import (
	"sync"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// journal emits events, keeps them in the histories of sessions, and collects warnings.
type journal struct {
	folder func(session.Record) string
	report func(history.Event) // may be nil
	by     string
	now    func() time.Time

	mu       sync.Mutex // guards the rest, and makes reports come one at a time
	warnings []session.Diagnostic
	failed   bool // a warning says that the history cannot be written
}

// emit reports an event and keeps it in the history of the record's session; nil: it is
// only reported.
func (l *journal) emit(e history.Event, of *session.Record) {
	e.Time, e.By = l.now(), l.by
	if of != nil && of.ID != "" {
		if err := history.Append(l.folder(*of), e); err != nil {
			l.unwritable(err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.report != nil {
		l.report(e)
	}
}

// unwritable warns, once, that events are not kept.
func (l *journal) unwritable(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.failed {
		l.failed = true
		l.warnings = append(l.warnings, session.Diagnostic{Severity: session.Warning,
			Summary: "the history cannot be written", Detail: err.Error() + "\nwhat happens is carried out and not kept"})
	}
}

func (l *journal) warn(a session.Address, summary, detail string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warnings = append(l.warnings, session.Diagnostic{Severity: session.Warning, Summary: summary, Detail: detail, Address: a})
}
