package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// Status writes a table of sessions in order of urgency, details of some, and the totals. wide adds
// state and activity, and omits nothing. Ages are relative to now.
func Status(w io.Writer, s Style, sessions []api.Session, wide bool, now time.Time) error {
	p := &page{Style: s}
	if len(sessions) == 0 {
		p.line("No sessions.")
		return p.flush(w)
	}
	if wide {
		p.Width = 0
	}
	sessions = slices.Clone(sessions)
	status.Sort(sessions)
	columns := statusColumns(sessions, wide)
	var titles []column
	rows := make([][]cell, len(sessions))
	for _, c := range columns {
		titles = append(titles, c.column)
		for i, x := range sessions {
			rows[i] = append(rows[i], c.of(x, now))
		}
	}
	p.table("", titles, rows)
	p.line()
	writeNotes(p, sessions, now)
	p.prose(0, tally(p, sessions, ", "))
	return p.flush(w)
}

type statusColumn struct {
	column
	of func(x api.Session, now time.Time) cell
}

func statusColumns(sessions []api.Session, wide bool) []statusColumn {
	text := func(of func(api.Session) string) func(api.Session, time.Time) cell {
		return func(x api.Session, _ time.Time) cell { return cell{text: of(x)} }
	}
	columns := []statusColumn{
		{column{title: "SESSION", min: 20}, func(x api.Session, _ time.Time) cell { return cell{x.Name, bold} }},
		{column{title: "STATUS"}, func(x api.Session, now time.Time) cell { return cell{status.Text(x, now), wordInk(x)} }},
	}
	if wide {
		columns = append(columns,
			statusColumn{column{title: "STATE"}, text(func(x api.Session) string { return string(x.State) })},
			statusColumn{column{title: "ACTIVITY"}, text(func(x api.Session) string { return string(x.Activity) })})
	}
	columns = append(columns,
		statusColumn{column{title: "ROLE", spare: 4}, text(func(x api.Session) string { return x.Role })},
		statusColumn{column{title: "AGENT", spare: 3}, text(func(x api.Session) string { return x.Agent })},
		statusColumn{column{title: "BRANCH", min: 12}, func(x api.Session, _ time.Time) cell { return branchCell(x) }},
		statusColumn{column{title: "CHANGES", spare: 2}, text(func(x api.Session) string { return changed(x.Changes) })})
	if wide || slices.ContainsFunc(sessions, func(x api.Session) bool { n := lacks(x); return n != nil && *n > 0 }) {
		columns = append(columns, statusColumn{column{title: "BEHIND", right: true, spare: 4}, text(func(x api.Session) string { return number(lacks(x)) })})
	}
	if wide || slices.ContainsFunc(sessions, func(x api.Session) bool { return conflictNames(x.Conflicts) != nil }) {
		columns = append(columns, statusColumn{column{title: "CONFLICTS", spare: 1}, func(x api.Session, _ time.Time) cell { return conflictCell(x, wide) }})
	}
	columns = append(columns,
		statusColumn{column{title: "AGE", right: true, spare: 5}, func(x api.Session, now time.Time) cell { return cell{text: age(x, now)} }},
		statusColumn{column{title: "RESTARTS", right: true, spare: 6}, text(func(x api.Session) string { return strconv.Itoa(x.Restarts) })})
	if slices.ContainsFunc(sessions, func(x api.Session) bool { return x.Turns != nil }) {
		columns = append(columns,
			statusColumn{column{title: "TURNS", right: true, spare: 7}, text(func(x api.Session) string { return number(x.Turns) })},
			statusColumn{column{title: "TOKENS", right: true, spare: 8}, text(func(x api.Session) string { return number(x.Tokens) })})
	}
	if wide && slices.ContainsFunc(sessions, func(x api.Session) bool { return x.Usage != nil }) {
		columns = append(columns, statusColumn{column{title: "COST", right: true}, text(func(x api.Session) string { return cost(x.Usage) })})
	}
	if wide && slices.ContainsFunc(sessions, func(x api.Session) bool { return len(x.Limits) > 0 }) {
		columns = append(columns, statusColumn{column{title: "LIMITS"}, func(x api.Session, _ time.Time) cell { return cell{text: cmp.Or(limits(x, time.Time{}), "-")} }})
	}
	return columns
}

// limits returns the used part of the limits of a session's account, and when each resets unless
// now is zero.
func limits(x api.Session, now time.Time) string {
	var parts []string
	for _, l := range x.Limits {
		part := fmt.Sprintf("%s %.0f%%", l.Window, l.UsedPercent)
		if l.ResetsAt != nil && !now.IsZero() {
			part += " (resets " + clock(*l.ResetsAt, now) + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func branchCell(x api.Session) cell {
	if offBranch(x) {
		return cell{x.Branch + " !", red}
	}
	return cell{text: x.Branch}
}

// writeNotes writes the reasons for sessions' states: each once, and on a terminal on one line.
func writeNotes(p *page, sessions []api.Session, now time.Time) {
	var reasons []string // in order of urgency
	of := map[string][]api.Session{}
	for _, x := range sessions {
		if x.ID == "" && x.State == session.StatePending && !status.WrongBranch(x) {
			continue // not applied yet, as its state shows
		}
		if why := why(x, now); why != "" {
			if of[why] == nil {
				reasons = append(reasons, why)
			}
			of[why] = append(of[why], x)
		}
	}
	for _, why := range reasons {
		x, name := of[why][0], few(shortNames(of[why]), 2)+": "
		note := p.note(x, name, why)
		p.line(p.paint(wordInk(x), strings.TrimSpace(name)), " ", p.paint(noInk, note))
		if how := howToAnswer(of[why]...); how != "" {
			if q := x.Question; len(q.Options) > 0 && !strings.Contains(note, plaintext.OneLine(q.String())) {
				how = "answer " + plaintext.OneLine(plaintext.List(q.Names(), "or")) + ": " + how
			}
			p.prose(4, "  ", p.paint(noInk, how))
		}
	}
	if reasons != nil {
		p.line()
	}
}

func shortNames(sessions []api.Session) (names []string) {
	for _, x := range sessions {
		names = append(names, x.Name)
	}
	return names
}

// few lists at most this many names: with two, first, second and 4 more.
func few(names []string, most int) string {
	var some []string
	for i, name := range names {
		if rest := len(names) - i; i == most && rest > 1 {
			some = append(some, fmt.Sprintf("%d more", rest))
			break
		}
		some = append(some, plaintext.OneLine(name))
	}
	return plaintext.List(some, "and")
}

// note returns the reason for a session's state, cut to a line. The answers to a question are
// omitted if they do not all fit: a yes is never shown without its no.
func (p *page) note(x api.Session, before, why string) string {
	short := p.fit(before, why)
	if p.Width > 0 && short != p.Near(why) {
		return p.fit(before, withoutAnswers(x, why))
	}
	return short
}

func withoutAnswers(x api.Session, why string) string {
	if x.Question == nil {
		return why
	}
	return strings.Replace(why, plaintext.OneLine(x.Question.String()), plaintext.OneLine(x.Question.Text), 1)
}

// fit cuts a text to the rest of a line after before.
func (p *page) fit(before, text string) string {
	g := glyphs()
	if p.Width == 0 {
		return text
	}
	return g.Truncate(p.Near(text), max(p.Width-g.StringWidth(before), 1), "…")
}

func number[N int | int64](n *N) string {
	switch {
	case n == nil:
		return "-"
	case *n >= 100_000:
		return fmt.Sprintf("%dk", *n/1000)
	}
	return fmt.Sprint(*n)
}

// changed returns a workspace's difference from its base: +120 −8 ?1 ↑2. It is a dash if that is
// not known.
func changed(c *api.Changes) string {
	if c == nil {
		return "-"
	}
	var parts []string
	for _, x := range []struct {
		sign string
		n    int
	}{{"+", c.Added}, {"−", c.Removed}, {"?", c.Untracked}, {"↑", c.Ahead}} {
		if x.n > 0 {
			parts = append(parts, x.sign+number(&x.n))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, " ")
}

// lacks returns how many commits of the base are missing in a session's work; nil: not known, or
// all of the work has landed.
func lacks(x api.Session) *int {
	if c := x.Changes; c != nil && (x.Landed == nil || c.Ahead > 0) {
		return &c.Behind
	}
	return nil
}

// conflictNames returns the names of what a session's work conflicts with; nil: nothing.
func conflictNames(conflicts *[]api.Conflict) (names []string) {
	if conflicts == nil {
		return nil
	}
	for _, c := range *conflicts {
		names = append(names, plaintext.OneLine(cmp.Or(c.Base, c.With.Short())))
	}
	return names
}

// conflictCell names what a session's work conflicts with: the first conflict and the number of
// others, or all.
func conflictCell(x api.Session, all bool) cell {
	names := conflictNames(x.Conflicts)
	switch n := len(names); {
	case x.Conflicts == nil:
		return cell{text: "-"}
	case n == 0:
		return cell{text: "none"}
	case n > 2 && !all:
		names = append(names[:1], fmt.Sprintf("+%d", n-1))
	}
	return cell{strings.Join(names, " "), yellow}
}

func age(x api.Session, now time.Time) string {
	if x.StartedAt == nil {
		return "-"
	}
	return plaintext.Age(now.Sub(*x.StartedAt))
}

// why returns the reason for a session's state, with local times.
func why(x api.Session, now time.Time) string {
	return status.Why(x, func(text string) string { return LocalTimes(text, now) },
		func(t time.Time) string { return since(t, now) }, func(t time.Time) string { return clock(t, now) })
}

// Tallied returns how many sessions have each status word: 1 asks, 2 idle.
func Tallied(sessions []api.Session) string { return tally(&page{}, sessions, ", ") }

func tally(p *page, sessions []api.Session, between string) string {
	counts, inks := map[string]int{}, map[string]ink{}
	for _, x := range sessions {
		word := status.Word(x)
		counts[word]++
		inks[word] = wordInk(x)
	}
	var parts []string
	for word := range status.Words() {
		if n := counts[word]; n > 0 {
			parts = append(parts, p.paint(inks[word], fmt.Sprintf("%d %s", n, word)))
		}
	}
	return strings.Join(parts, between)
}

// Names writes the addresses of sessions in order of urgency, one a line.
func Names(w io.Writer, sessions []api.Session) error {
	sessions = slices.Clone(sessions)
	status.Sort(sessions)
	var b strings.Builder
	for _, x := range sessions {
		b.WriteString(string(x.Address) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Short writes how many sessions have each status word, for a status line: 2 asks · 3 idle.
func Short(w io.Writer, sessions []api.Session) error {
	_, err := fmt.Fprintln(w, tally(&page{}, sessions, " · "))
	return err
}

// states are in order of urgency.
var states = []session.State{
	session.StateError, session.StateStale, session.StateUnknown, session.StatePending,
	session.StateStarting, session.StatePaused, session.StateStopped, session.StateRunning,
}

func paintCounts(p *page, counts map[session.State]int) string {
	var parts []string
	for _, s := range states {
		if n := counts[s]; n > 0 {
			parts = append(parts, p.paint(stateInk(s), fmt.Sprintf("%d %s", n, s)))
		}
	}
	return strings.Join(parts, ", ")
}

var stateInks = map[session.State]ink{
	session.StateRunning: green, session.StateStale: yellow, session.StateUnknown: yellow,
	session.StateError: red, session.StatePaused: blue, session.StateStarting: cyan,
}

func stateInk(s session.State) ink {
	return cmp.Or(stateInks[s], dim)
}

// toneInks are the inks of tones, wordInks those of words with their own.
var (
	toneInks = map[api.Tone]ink{api.Attention: yellow, api.Broken: red, api.Active: green}
	wordInks = map[string]ink{status.WordVerified: green, status.WordStarting: cyan, status.WordPaused: blue, status.WordIdle: noInk, status.WordDone: noInk}
)

func wordInk(x api.Session) ink { return inkOfWord(status.Word(x)) }

func inkOfWord(word string) ink {
	if c, known := wordInks[word]; known {
		return c
	}
	return cmp.Or(toneInks[status.ToneOf(word)], dim)
}
