package ci

import (
	"bytes"
	"fmt"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Report is the result of a command.
type Report struct {
	Command  string // prints the complete report: drift
	Project  string
	Column   string // the title of the sessions' column
	Items    []Item
	Problems []session.Diagnostic
	Verdict  string
	Unsure   bool        // the verdict is incomplete
	Outputs  [][2]string // of a step
	Text     string      // the text report; empty: the items are complete
}

// Item is a remark about a session.
type Item struct {
	Address      session.Address
	What, Detail string
	Level        string         // of its annotation: error, warning, notice
	Range        *session.Range // of the session's block; nil: the manifest has none
}

// Drift returns the report of drift.
func Drift(r view.DriftReport) Report {
	r = r.Near()
	out := Report{
		Command: "drift", Project: r.Project, Column: "drift", Problems: r.Problems,
		Verdict: r.Verdict(), Unsure: !r.Complete || r.Offline,
		Outputs: [][2]string{
			{"drift", fmt.Sprint(r.Drifted())}, {"count", fmt.Sprint(len(r.Items))},
			{"complete", fmt.Sprint(r.Complete)}, {"live", r.Live()},
		},
	}
	for _, i := range r.Items {
		out.Items = append(out.Items, Item{i.Address, view.KindWords(i.Kind), i.Detail, "error", i.Range})
	}
	return out
}

// Plan returns the report of a plan for a project in a directory. at returns a session's place in
// the manifest; nil: there is none.
func Plan(p plan.Plan, dir string, at func(session.Address) *session.Range) (Report, error) {
	style := view.Style{Dir: dir}
	var text bytes.Buffer
	if err := view.Plan(&text, style, p, false); err != nil {
		return Report{}, err
	}
	r := Report{
		Command: "plan", Project: p.Project, Column: "action", Verdict: view.PlanVerdict(p), Unsure: !p.Complete, Text: text.String(),
	}
	acts, listed := 0, map[session.Address]bool{}
	for _, c := range p.Changes {
		if c.Action == plan.None {
			continue
		}
		if c.Action.Acts() {
			acts++
		}
		listed[c.Address] = true
		r.Items = append(r.Items, Item{c.Address, view.ActionWords(c), style.Near(c.Detail), "notice", at(c.Address)})
	}
	for _, d := range p.Drift {
		if !listed[d.Address] {
			r.Items = append(r.Items, Item{d.Address, view.KindWords(d.Kind), style.Near(d.Detail), "notice", at(d.Address)})
		}
	}
	errs := 0
	for _, d := range p.Problems {
		if d.Severity == session.Error {
			errs++
		}
		if d.Range == nil && d.Address != "" {
			d.Range = at(d.Address)
		}
		d.Detail = style.Near(d.Detail)
		r.Problems = append(r.Problems, d)
	}
	r.Outputs = [][2]string{
		{"changes", fmt.Sprint(acts > 0)}, {"count", fmt.Sprint(acts)},
		{"errors", fmt.Sprint(errs)}, {"complete", fmt.Sprint(p.Complete)},
	}
	return r, nil
}
