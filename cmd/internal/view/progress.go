package view

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Progress writes events as they happen, one a line, starting with the session's
// address. It is safe for concurrent use.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer
	style Style
}

// NewProgress returns a Progress that writes to w.
func NewProgress(w io.Writer, s Style) *Progress { return &Progress{w: w, style: s} }

// Event writes an event. Steps of an action, such as launched, are not written.
func (p *Progress) Event(e history.Event) {
	b := &page{Style: p.style}
	writeEvent(b, e)
	if b.Len() == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = b.flush(p.w) // a terminal that went away does not end what is under way
}

func writeEvent(p *page, e history.Event) {
	v := verbs(plan.Action(e.Action))
	address := p.paint(bold, string(e.Address)+":") + " "
	head, rest := headAndRest(e.Detail)
	switch e.Kind {
	case history.ApplyStart:
		p.line(address, p.paint(noInk, v.doing), "…")
		return
	case history.ApplyProgress:
		p.line(address, p.paint(noInk, "still "+v.doing), "… ", p.paint(dim, "["+whole(e.Elapsed)+"]"), colon(p, head))
		return
	case history.ApplyComplete:
		p.line(address, p.paint(green, v.done), after(e), p.paint(dim, idOf(e)))
		return
	case history.ApplyErrored:
		head = strings.TrimPrefix(head, fmt.Sprintf("%s %s: ", e.Action, e.Address))
		p.line(address, p.paint(red, v.plain+" failed"+after(e)+": "+head))
	case history.ApplySkipped:
		p.line(address, p.paint(yellow, "skipped"), colon(p, plaintext.OneLine(e.Detail)))
		return
	case history.Moved:
		p.line(address, "it was ", p.paint(noInk, e.Old))
		return
	case history.TurnInterrupted:
		p.line(address, p.paint(yellow, status.Interrupted))
		return
	case history.Held:
		p.line(address, "held", colon(p, head))
	case history.WorkKept:
		p.line(address, p.paint(yellow, "work is kept"), colon(p, head))
	case history.BranchMismatch:
		p.line(address, p.paint(red, "branch mismatch"), colon(p, head))
	default:
		return
	}
	for _, l := range rest {
		p.line("  ", p.paint(noInk, l))
	}
}

func colon(p *page, text string) string {
	if text == "" {
		return ""
	}
	return ": " + p.paint(noInk, text)
}

func after(e history.Event) string {
	if e.Elapsed == 0 {
		return ""
	}
	return " after " + Elapsed(e.Elapsed.D())
}

func whole(d session.Duration) string {
	s := int(d.D().Seconds())
	if s < 60 {
		return fmt.Sprintf("%ds", s)
	}
	return Elapsed(d.D())
}

func idOf(e history.Event) string {
	if e.ID == "" {
		return ""
	}
	return " [id=" + e.ID + "]"
}

var addressIn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`session\.[\pL_][\pL\pN_-]*(\[(\d+|"([^"\\]|\\.)*")\])?`)
})

func dependency(detail string) string { return addressIn().FindString(detail) }
