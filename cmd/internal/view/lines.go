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

// Lines writes what apply does as JSON, one object a line. It is safe for concurrent
// use.
type Lines struct {
	mu    sync.Mutex
	w     io.Writer
	now   func() time.Time
	began time.Time
}

// NewLines returns a Lines that writes to w. The first line has the version of
// agentform.
func NewLines(w io.Writer, version string, now func() time.Time) (*Lines, error) {
	l := &Lines{w: w, now: now, began: now()}
	return l, l.write(struct {
		head
		Format  string `json:"format_version"`
		Version string `json:"agentform_version"`
	}{head{Type: "version", Timestamp: wire.UTC(l.began)}, api.FormatVersion, version})
}

// head is the start of every line. Without a session the address is empty. Seconds count
// from the command's start.
type head struct {
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	Address   session.Address `json:"address"`
	Elapsed   float64         `json:"elapsed_seconds"`
}

func (l *Lines) head(kind string, a session.Address) head { return l.headAt(l.now(), kind, a) }

func (l *Lines) headAt(t time.Time, kind string, a session.Address) head {
	return head{kind, wire.UTC(t), a, wire.Seconds(t.Sub(l.began))}
}

func (l *Lines) write(v any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return wire.WriteLine(l.w, v)
}

// Plan writes a line for each session that the plan changes or holds, and for each
// problem.
func (l *Lines) Plan(p plan.Plan) error {
	for _, c := range p.Changes {
		if c.Action == plan.None {
			continue
		}
		x := status.ChangeOf(c)
		err := l.write(struct {
			head
			Action plan.Action `json:"action"`
			Reason plan.Reason `json:"reason"`
			Detail string      `json:"detail"`
			Fields []api.Field `json:"fields"`
			Until  *time.Time  `json:"until,omitempty"`

			Moved  session.Address `json:"previous_address,omitempty"`
			Import string          `json:"import_id,omitempty"`

			Interrupts *api.Interrupted `json:"interrupts,omitempty"`
		}{l.head("planned_change", c.Address), x.Action, x.Reason, x.Detail, x.Fields, x.Until, x.Moved, x.Import, x.Interrupts})
		if err != nil {
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

// Diagnostic writes one problem.
func (l *Lines) Diagnostic(d session.Diagnostic) error { return l.diagnostic(l.now(), d) }

func (l *Lines) diagnostic(t time.Time, d session.Diagnostic) error {
	return l.write(struct {
		head
		Diagnostic session.Diagnostic `json:"diagnostic"`
	}{l.headAt(t, "diagnostic", d.Address), d})
}

// Event writes an event of apply. Kept work and a branch that does not match are
// diagnostics. Other events have no line.
func (l *Lines) Event(e history.Event) {
	switch e.Kind {
	case history.ApplyStart, history.ApplyProgress, history.ApplyComplete, history.ApplyErrored, history.ApplySkipped, history.Held:
	case history.WorkKept:
		_ = l.diagnostic(e.Time, session.Diagnostic{Severity: session.Warning, Summary: "work is kept", Detail: e.Detail, Address: e.Address})
		return
	case history.BranchMismatch:
		_ = l.diagnostic(e.Time, session.Diagnostic{Severity: session.Error, Summary: "branch mismatch", Detail: e.Detail, Address: e.Address})
		return
	default:
		return
	}
	x := struct {
		head
		Action     string `json:"action"`
		ID         string `json:"id,omitempty"`
		Run        string `json:"run,omitempty"`
		Reason     string `json:"reason,omitempty"`
		Detail     string `json:"detail"`
		Dependency string `json:"dependency,omitempty"`
		Excerpt    string `json:"excerpt,omitempty"`
		Truncated  bool   `json:"truncated,omitempty"`
	}{
		head:   head{string(e.Kind), wire.UTC(e.Time), e.Address, wire.Seconds(e.Elapsed.D())},
		Action: e.Action, ID: e.ID, Run: e.Run, Reason: e.Reason, Detail: e.Detail,
	}
	if e.Kind == history.ApplySkipped {
		x.Dependency = dependency(e.Detail)
	}
	x.Excerpt, x.Truncated = wire.Tail(e.Excerpt)
	_ = l.write(x) // a reader that went away does not end what is under way
}

// Summary writes the last line: the tally and all errors.
func (l *Lines) Summary(t Tally) error {
	h := l.head("summary", "")
	if t.Elapsed > 0 {
		h.Elapsed = wire.Seconds(t.Elapsed)
	}
	return l.write(struct {
		head
		Done    int                  `json:"done"`
		Failed  int                  `json:"failed"`
		Skipped int                  `json:"skipped"`
		Held    int                  `json:"held"`
		Errors  []session.Diagnostic `json:"errors"`
	}{h, t.Done, t.Failed, t.Skipped, t.Held, wire.List(diagnosticsOf(t.Errors))})
}
