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

// Progress writes events as they happen, one a line. It is safe for concurrent use.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer
	style Style
	// asked is the verb of the command; nil: events use the verbs of their actions.
	asked  *status.Verb
	single bool
}

// NewProgress returns a Progress that writes to w.
func NewProgress(w io.Writer, s Style) *Progress { return &Progress{w: w, style: s} }

// Asked selects the progress of a command for named sessions, with its verb, such as start, for
// every action. Only ends are written, and for a single session no failure, since the command's
// error has it.
func (p *Progress) Asked(verb string, single bool) {
	p.asked, p.single = new(status.VerbOf(plan.Action(verb))), single
}

// Event writes an event. Steps of an action, such as launched, are not written.
func (p *Progress) Event(e history.Event) {
	v := status.VerbOf(plan.Action(e.Action))
	if p.asked != nil {
		v = *p.asked
		if e.Kind == history.ApplyStart || e.Kind == history.ApplyErrored && p.single {
			return
		}
	}
	b := &page{Style: p.style}
	writeEvent(b, v, e)
	if b.Len() == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = b.flush(p.w) // the command continues if the terminal is gone
}

func writeEvent(p *page, v status.Verb, e history.Event) {
	head, rest := headAndRest(e.Detail)
	text := ""
	switch e.Kind {
	case history.ApplyStart:
		text, rest = p.paint(noInk, v.Doing)+"…", nil
	case history.ApplyProgress:
		text, rest = p.paint(noInk, "still "+v.Doing)+"… "+p.paint(dim, "["+whole(e.Elapsed)+"]")+colon(p, head), nil
	case history.ApplyComplete:
		text, rest = p.paint(green, v.Done)+after(e), nil
		if e.ID != "" {
			text += p.paint(dim, " [id="+e.ID+"]")
		}
	case history.ApplyErrored:
		head = strings.TrimPrefix(head, fmt.Sprintf("%s %s: ", e.Action, e.Address))
		text = p.paint(red, v.Plain+" failed"+after(e)+": "+head)
	case history.ApplySkipped:
		text, rest = p.paint(yellow, "skipped")+colon(p, plaintext.OneLine(e.Detail)), nil
	case history.Moved:
		text, rest = "it was "+p.paint(noInk, e.Old), nil
	case history.TurnInterrupted:
		text, rest = p.paint(yellow, status.TurnInterrupted), nil
	case history.Held:
		text = "held" + colon(p, head)
	case history.WorkKept:
		text = p.paint(yellow, "work kept") + colon(p, head)
	case history.BranchMismatch:
		text = p.paint(red, "branch mismatch") + colon(p, head)
	default:
		return
	}
	p.prose(2, p.paint(bold, string(e.Address)+":"), " ", unbrokenCommand(text))
	for _, l := range rest {
		p.prose(4, "  ", unbrokenCommand(p.paint(noInk, l)))
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
	return " after " + plaintext.Elapsed(e.Elapsed.D())
}

func whole(d session.Duration) string {
	s := int(d.D().Seconds())
	if s < 60 {
		return fmt.Sprintf("%ds", s)
	}
	return plaintext.Elapsed(d.D())
}

var addressIn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`session\.[\pL_][\pL\pN_-]*(\[(\d+|"([^"\\]|\\.)*")\])?`)
})

func dependency(detail string) string { return addressIn().FindString(detail) }
