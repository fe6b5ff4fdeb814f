package view

import (
	"cmp"
	"io"
	"strings"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// Step is a change of a session between two looks.
type Step struct {
	At       time.Time
	Old, New *api.Session // Old is nil at the first look that has the session, New once it is gone
}

// Steps returns the changes between two looks, with the sessions that are gone last.
func Steps(old, now []api.Session, at time.Time) []Step {
	var steps []Step
	gone := map[session.Address]*api.Session{}
	for i, x := range old {
		gone[x.Address] = &old[i]
	}
	for i, x := range now {
		if was := gone[x.Address]; was == nil || differs(*was, x) {
			steps = append(steps, Step{at, was, &now[i]})
		}
		delete(gone, x.Address)
	}
	for i, x := range old {
		if gone[x.Address] != nil {
			steps = append(steps, Step{at, &old[i], nil})
		}
	}
	return steps
}

func differs(x, y api.Session) bool {
	return status.Word(x) != status.Word(y) || x.State != y.State || x.Activity != y.Activity || x.Restarts != y.Restarts || x.PR != y.PR ||
		offBranch(x) != offBranch(y)
}

func offBranch(x api.Session) bool { return x.BranchOK != nil && !*x.BranchOK }

// StepLines writes steps, one a line. Addresses are padded to wide columns.
func StepLines(w io.Writer, s Style, steps []Step, wide int) error {
	p := &page{Style: s}
	for _, st := range steps {
		writeStep(p, st, wide)
	}
	return p.flush(w)
}

func writeStep(p *page, st Step, wide int) {
	x := cmp.Or(st.New, st.Old)
	address := plaintext.OneLine(string(x.Address))
	pad := strings.Repeat(" ", max(wide-glyphs().StringWidth(address), 0))
	p.WriteString(p.paint(dim, st.At.Format(time.TimeOnly)) + gap + p.paint(bold, address) + pad + gap)
	if st.New == nil {
		p.line(paintWord(p, *st.Old), " → ", "gone")
		return
	}
	if st.Old != nil && status.Word(*st.Old) != status.Word(*st.New) {
		p.WriteString(paintWord(p, *st.Old) + " → ")
	}
	p.WriteString(wordAndReason(p, *st.New, st.At))
	if st.New.PR != "" && (st.Old == nil || st.Old.PR != st.New.PR) {
		p.WriteString(", " + p.paint(noInk, st.New.PR))
	}
	p.line()
}

func paintWord(p *page, x api.Session) string {
	return p.paint(wordInk(x), status.Word(x))
}

// wordAndReason omits a repetition of the word at the start of many details.
func wordAndReason(p *page, x api.Session, now time.Time) string {
	word, why := status.Word(x), why(x, now)
	rest, same := strings.CutPrefix(strings.TrimPrefix(why, "agent "), word)
	switch {
	case why == "":
		return paintWord(p, x)
	case same && (strings.HasPrefix(rest, ": ") || strings.HasPrefix(rest, " by ") || strings.HasPrefix(rest, " (")):
		return paintWord(p, x) + p.paint(noInk, rest)
	}
	return paintWord(p, x) + ": " + p.paint(noInk, why)
}

// Step writes the line of a session's change.
func (l *Lines) Step(st Step) error {
	of := func(x *api.Session) any {
		if x == nil {
			return nil
		}
		return wire.Object{"state", x.State, "activity", x.Activity, "status", x.Status}
	}
	x := cmp.Or(st.New, st.Old)
	return l.write("change", st.At, x.Address, "old", of(st.Old), "new", of(st.New), "detail", x.Detail,
		"session_alive", x.Alive, "branch_ok", x.BranchOK, "restarts", x.Restarts, "pr_url", x.PR)
}
