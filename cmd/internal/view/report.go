package view

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/report"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// Report writes a report as text: a line for each session, then the sessions that need attention.
// Ages and times are relative to now, in its zone.
func Report(w io.Writer, s Style, r api.Report, now time.Time) error {
	p := &page{Style: s}
	p.prose(2, p.paint(bold, r.Project), p.paint(noInk, headline(r, now)))
	if len(r.Sessions) > 0 {
		p.table("", []column{
			{title: "SESSION", min: 12}, {title: "STATUS"}, {title: "RESULT", min: 12}, {title: "COST", right: true}, {title: "WAITED", min: 8, spare: 1},
			{title: "RESTARTS", right: true, spare: 3}, {title: "ASKED", min: 12, spare: 2},
		}, reportRows(r.Sessions))
	}
	if len(r.Needs) > 0 {
		p.blank()
		p.line(p.paint(bold, "Needs attention:"))
		for _, n := range r.Needs {
			p.needRow(needy(n), n.Text, now)
		}
	}
	if len(r.Quiet) > 0 || len(r.Unknown) > 0 {
		p.blank()
	}
	if len(r.Quiet) > 0 {
		p.prose(2, p.paint(noInk, "Nothing happened in "+quiet(r.Quiet)+"."))
	}
	for _, text := range r.Unknown {
		p.prose(2, p.paint(yellow, plaintext.OneLine(text)))
	}
	return p.flush(w)
}

// headline returns the title of a report, after the project's name.
func headline(r api.Report, now time.Time) string {
	since := r.Since.In(now.Location())
	form := "Mon 15:04"
	if now.Sub(since) > 6*24*time.Hour {
		form = "2006-01-02 15:04"
	}
	text := fmt.Sprintf(" since %s: %s", since.Format(form), plaintext.Count(len(r.Sessions), "active session"))
	if n := len(r.Needs); n == 1 {
		text += ", 1 needs attention"
	} else if n > 1 {
		text += fmt.Sprintf(", %d need attention", n)
	}
	if r.Usage.Total > 0 {
		text += ", " + cost(&r.Usage)
	}
	return text
}

func reportRows(all []api.ReportSession) [][]cell {
	rows := make([][]cell, len(all))
	for i, x := range all {
		restarts := ""
		if x.Restarts > 0 {
			restarts = strconv.Itoa(x.Restarts)
		}
		var waits []string
		for _, t := range x.Waits {
			waits = append(waits, waitAge(t)+" "+t.For)
		}
		rows[i] = []cell{
			{x.Name, bold}, {x.Word, inkOf(x.Word)}, {cmp.Or(strings.Join(result(x, plaintext.OneLine), ", "), "-"), noInk}, {cost(x.Usage), noInk},
			{strings.Join(waits, ", "), noInk}, {restarts, noInk}, {x.Asked, dim},
		}
	}
	return rows
}

// inkOf returns the ink for a status word with its details.
func inkOf(text string) ink {
	for word := range status.Words() {
		if rest, is := strings.CutPrefix(text, word); is && (rest == "" || rest[0] == ' ') {
			return inkOfWord(word)
		}
	}
	return dim
}

// result returns the outcome of a session's work, unless its status has it. show sanitizes a text.
func result(x api.ReportSession, show func(string) string) []string {
	var parts []string
	if text := changed(x.Changes); text != "-" && text != "none" {
		parts = append(parts, text)
	}
	if names := conflictNames(x.Conflicts); names != nil {
		parts = append(parts, "conflicts with "+show(few(names, 2)))
	}
	if v := x.Verified; v != nil && !strings.HasPrefix(x.Word, v.Word) {
		parts = append(parts, v.Word)
	}
	switch l := x.Landed; {
	case l != nil && l.Into != "":
		parts = append(parts, "landed in "+show(l.Into))
	case l != nil:
		parts = append(parts, "landed")
	case x.Finished != nil:
		parts = append(parts, "finished")
	}
	if x.PR != "" {
		parts = append(parts, requestName(x.PR))
	}
	return parts
}

// requestName returns the short name of the pull request at an address: PR 12.
func requestName(url string) string {
	if n, err := strconv.Atoi(path.Base(url)); err == nil {
		return "PR " + strconv.Itoa(n)
	}
	return "PR"
}

func waitAge(t api.ReportWait) string {
	return plaintext.Age(time.Duration(t.Seconds * float64(time.Second)))
}

// needy converts a need of a report to one of next.
func needy(n api.ReportNeed) Needy {
	return Needy{Session: api.Session{Name: n.Name, Detail: n.Detail}, Reason: n.Reason, Since: n.Since}
}

// mostQuiet is how many sessions without events are named.
const mostQuiet = 8

func quiet(all []session.Address) string {
	var names []string
	for _, a := range all {
		names = append(names, a.Short())
	}
	return few(names, mostQuiet)
}

// waitWords name what sessions wait for, after a duration.
var waitWords = map[string]string{
	report.ForAnswer: "for an answer", report.ForInput: "for input", report.ForPause: "for the end of a pause", report.ForLimit: "for the end of a limit", report.ForPlace: "for a place",
	report.ForDependency: "for a dependency", report.ForBudget: "for a budget", report.ForRestart: "for a restart", report.ForSecret: "for a secret",
}

// ReportMarkdown writes a report as lists, which issues and chats render alike. Text of agents and
// prompts is code in them, so it mentions nobody.
func ReportMarkdown(w io.Writer, r api.Report, now time.Time) error {
	_, err := io.WriteString(w, reportLists(r, now, marks{
		strong: func(text string) string { return "**" + code(text) + "**" },
		name:   func(text string) string { return "**" + code(text) + "**" },
		text:   code,
	}))
	return err
}

// ReportMessage returns a report as plain lists of at most session.TailLimit bytes.
func ReportMessage(r api.Report, now time.Time) string {
	text := reportLists(r, now, marks{strong: plaintext.OneLine, name: func(text string) string { return plaintext.OneLine(text) + ":" }, text: plaintext.OneLine})
	return strings.TrimSpace(plaintext.Cut(text, session.TailLimit, ""))
}

// marks format the parts of a report.
type marks struct {
	strong func(string) string
	name   func(string) string // a session, before its text
	text   func(string) string
}

func reportLists(r api.Report, now time.Time, m marks) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n", m.strong(r.Project), headline(r, now))
	for i, x := range r.Sessions {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "- %s %s%s\n", m.name(x.Name), x.Word, m.row(x))
	}
	for i, n := range r.Needs {
		if i == 0 {
			b.WriteString("\nNeeds attention:\n\n")
		}
		fmt.Fprintf(&b, "%d. %s %s", i+1, m.name(n.Name), n.Text)
		if why := needReason(needy(n), now); why != "" {
			b.WriteString(": " + m.text(why))
		}
		b.WriteByte('\n')
	}
	if len(r.Quiet) > 0 {
		fmt.Fprintf(&b, "\nNothing happened in %s.\n", m.text(quiet(r.Quiet)))
	}
	for _, text := range r.Unknown {
		fmt.Fprintf(&b, "\n%s\n", plaintext.OneLine(text))
	}
	return b.String()
}

// row returns a session's row in a list, after its status.
func (m marks) row(x api.ReportSession) string {
	text := ""
	if x.Asked != "" {
		text = ": " + m.text(x.Asked)
	}
	facts := result(x, m.text)
	if i := slices.Index(facts, requestName(x.PR)); i >= 0 && strings.HasPrefix(x.PR, "https://") && !strings.ContainsAny(x.PR, " <>\"`|\\()[]") {
		facts[i] = plaintext.OneLine(x.PR)
	}
	if x.Usage != nil && x.Usage.Total > 0 {
		facts = append(facts, cost(x.Usage))
	}
	if x.Restarts > 0 {
		facts = append(facts, plaintext.Count(x.Restarts, "restart"))
	}
	for i, t := range x.Waits {
		wait := waitAge(t) + " " + cmp.Or(waitWords[t.For], t.For)
		if i == 0 {
			wait = "waited " + wait
		}
		if t.Detail != "" && (t.For == report.ForDependency || t.For == report.ForBudget) {
			wait += " (" + m.text(t.Detail) + ")"
		}
		facts = append(facts, wait)
	}
	if len(facts) > 0 {
		text += " (" + strings.Join(facts, ", ") + ")"
	}
	return text
}

// code returns a text as Markdown code, without markup.
func code(text string) string {
	return "`" + strings.ReplaceAll(plaintext.OneLine(text), "`", "'") + "`"
}
