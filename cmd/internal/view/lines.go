package view

import (
	"io"
	"sync"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Lines writes the progress of apply as lines of JSON. It is safe for concurrent use.
type Lines struct {
	mu    sync.Mutex
	w     io.Writer
	now   func() time.Time
	began time.Time
}

// NewLines writes the first line, with agentform's version.
func NewLines(w io.Writer, version string, now func() time.Time) (*Lines, error) {
	l := &Lines{w: w, now: now, began: now()}
	return l, l.write("version", l.began, "", "format_version", api.FormatVersion, "agentform_version", version)
}

// write writes a line, with the seconds since the command's start.
func (l *Lines) write(kind string, at time.Time, a session.Address, fields ...any) error {
	return l.writeAfter(at.Sub(l.began), kind, at, a, fields)
}

func (l *Lines) writeAfter(took time.Duration, kind string, at time.Time, a session.Address, fields []any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return wire.WriteLine(l.w, append(wire.Object{"type", kind, "timestamp", wire.UTC(at), "address", a,
		"elapsed_seconds", wire.Seconds(took)}, fields...))
}

// Plan writes a line for each change, hold and problem.
func (l *Lines) Plan(p plan.Plan) error {
	for _, c := range p.Changes {
		if c.Action == plan.None {
			continue
		}
		x := status.ChangeOf(c)
		fields := []any{"action", x.Action, "reason", x.Reason, "detail", x.Detail, "fields", x.Fields}
		if x.Until != nil {
			fields = append(fields, "until", x.Until)
		}
		fields = present(fields, "previous_address", string(x.Moved), "import_id", x.Import)
		if x.Interrupts != nil {
			fields = append(fields, "interrupts", x.Interrupts)
		}
		if err := l.write("planned_change", l.now(), c.Address, fields...); err != nil {
			return err
		}
	}
	for _, d := range p.Problems {
		if err := l.Diagnostic(d); err != nil {
			return err
		}
	}
	return nil
}

func present(fields []any, pairs ...string) []any {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fields = append(fields, pairs[i], pairs[i+1])
		}
	}
	return fields
}

// Diagnostic writes one problem.
func (l *Lines) Diagnostic(d session.Diagnostic) error { return l.diagnostic(l.now(), d) }

func (l *Lines) diagnostic(at time.Time, d session.Diagnostic) error {
	return l.write("diagnostic", at, d.Address, "diagnostic", d)
}

// Event writes an event of apply. Kept work and a branch mismatch are diagnostics.
func (l *Lines) Event(e history.Event) {
	switch e.Kind {
	case history.ApplyStart, history.ApplyProgress, history.ApplyComplete, history.ApplyErrored, history.ApplySkipped, history.Held:
	case history.WorkKept:
		_ = l.diagnostic(e.Time, session.Diagnostic{Severity: session.Warning, Summary: "work kept", Detail: e.Detail, Address: e.Address})
		return
	case history.BranchMismatch:
		_ = l.diagnostic(e.Time, session.Diagnostic{Severity: session.Error, Summary: "branch mismatch", Detail: e.Detail, Address: e.Address})
		return
	default:
		return
	}
	fields := present([]any{"action", e.Action}, "id", e.ID, "run", e.Run, "reason", e.Reason)
	fields = append(fields, "detail", e.Detail)
	if e.Kind == history.ApplySkipped {
		fields = present(fields, "dependency", dependency(e.Detail))
	}
	excerpt, truncated := wire.Tail(e.Excerpt)
	if fields = present(fields, "excerpt", excerpt); truncated {
		fields = append(fields, "truncated", true)
	}
	// The apply continues if its reader is gone.
	_ = l.writeAfter(e.Elapsed.D(), string(e.Kind), e.Time, e.Address, fields)
}

// Summary writes the last line: the tally and all errors.
func (l *Lines) Summary(t Tally) error {
	at := l.now()
	took := at.Sub(l.began)
	if t.Elapsed > 0 {
		took = t.Elapsed
	}
	return l.writeAfter(took, "summary", at, "", []any{"done", t.Done, "failed", t.Failed, "skipped", t.Skipped,
		"held", t.Held, "errors", wire.List(diagnosticsOf(t.Errors))})
}
