package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// Color is a text's color: the parameters of SGR.
type Color string

// The colors.
const (
	Plain   Color = ""
	Bold    Color = "1"
	Dim     Color = "2"
	Reverse Color = "7"
	Red     Color = "31"
	Green   Color = "32"
	Yellow  Color = "33"
	Blue    Color = "34"
	Cyan    Color = "36"
)

// otherRows is the number of rows outside the body: header, titles, reason and keys.
const otherRows = 4

// narrow is the width below which only the list, or only the page, is shown.
const narrow = 60

func bodyHeight(m Model) int { return max(m.height-otherRows, 1) }

// listWidth returns the width of the list; 0: it is not shown.
func listWidth(m Model) int {
	switch {
	case m.zoomed:
		return 0
	case m.width < narrow:
		return m.width
	}
	return min(max(m.width*2/5, 28), 56)
}

// paneWidth returns the width of the page; 0: it is not shown.
func paneWidth(m Model) int {
	switch list := listWidth(m); list {
	case 0:
		return m.width
	default:
		return max(m.width-list-1, 0) // one column between them
	}
}

// Cursor is the position of the terminal's cursor.
type Cursor struct{ X, Y int }

// View returns the screen, and the cursor if text is typed.
func (m Model) View() (screen string, cursor *Cursor) {
	if m.width < 20 || m.height < otherRows+1 {
		return fit("too small", max(m.width, 0)), nil
	}
	lines := []string{headerOf(m)}
	if m.mode == helping {
		lines = append(lines, helpOf(m)...)
	} else {
		lines = append(lines, bodyOf(m)...)
	}
	bottom, at := bottomOf(m)
	lines = append(lines, bottom...)
	if at >= 0 {
		cursor = &Cursor{min(at, m.width-1), m.height - 1}
	}
	return strings.Join(lines, "\n"), cursor
}

// paint sanitizes and colors a text.
func paint(m Model, c Color, text string) string {
	text = plaintext.Safe(text)
	if !m.color || c == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// sides joins a text at the left and one at the right, which is omitted if there is no room.
func sides(left, right string, columns int) string {
	gap := columns - width(left) - width(right)
	if gap < 2 {
		return fit(left, columns)
	}
	return left + strings.Repeat(" ", gap) + right
}

func headerOf(m Model) string {
	counts := plaintext.OneLine(m.fleet.Counts)
	if !m.observed && m.problem == "" {
		counts = "looking…"
	}
	left := paint(m, Bold, plaintext.OneLine(m.fleet.Project)) + "  " + paint(m, Plain, counts)
	if m.filter != "" && m.mode != filtering {
		left += paint(m, Yellow, fmt.Sprintf("  /%s %d of %d", m.filter, len(m.visible()), len(m.fleet.Rows)))
	}
	return sides(left, paint(m, Dim, m.fleet.Hub), m.width)
}

func bodyOf(m Model) []string {
	list, pane := listWidth(m), paneWidth(m)
	left := append([]string{paint(m, Dim, "  SESSION")}, listOf(m, list)...)
	if pane == 0 {
		for i := range left {
			left[i] = fit(left[i], list)
		}
		return left
	}
	right := append([]string{titlesOf(m, pane)}, pageOf(m, pane)...)
	lines := make([]string, len(right))
	for i := range lines {
		if list > 0 {
			lines[i] = fit(left[i], list) + paint(m, Dim, "│")
		}
		lines[i] += fit(right[i], pane)
	}
	return lines
}

// listOf returns the rows of the list, around the selected one.
func listOf(m Model, columns int) []string {
	rows, tall := m.visible(), bodyHeight(m)
	at := max(slices.IndexFunc(rows, func(r Row) bool { return r.Address == m.selected }), 0)
	top := min(max(at-tall/2, 0), max(len(rows)-tall, 0))
	lines := make([]string, tall)
	if columns == 0 {
		return lines
	}
	status := 0
	for _, r := range rows[top:min(top+tall, len(rows))] {
		status = max(status, width(plaintext.OneLine(r.Status)))
	}
	status = min(status, columns/2)
	for i := range lines {
		if top+i >= len(rows) {
			break
		}
		r := rows[top+i]
		name := fit("  "+plaintext.OneLine(r.Address.Short()), columns-status-1)
		word := fit(plaintext.OneLine(r.Status), status)
		if r.Address == m.selected {
			lines[i] = paint(m, Reverse, ">"+name[1:]+" "+word)
			continue
		}
		lines[i] = paint(m, Plain, name) + " " + paint(m, r.Color, word)
	}
	if len(rows) == 0 {
		lines[0] = paint(m, Dim, emptyList(m))
	}
	return lines
}

func emptyList(m Model) string {
	switch {
	case !m.observed:
		return ""
	case m.filter != "":
		return "  none matches"
	}
	return "  no sessions"
}

func titlesOf(m Model, columns int) string {
	if all := strings.Join(titles, "   "); width(all)+2 <= columns {
		return titlesWith(m, titles)
	}
	short := make([]string, len(titles))
	for i, t := range titles {
		short[i] = t[:1]
	}
	short[m.tab] = titles[m.tab]
	return titlesWith(m, short)
}

func titlesWith(m Model, names []string) string {
	parts := make([]string, len(names))
	for i, name := range names {
		if Tab(i) == m.tab {
			parts[i] = paint(m, Reverse, "["+name+"]")
		} else {
			parts[i] = paint(m, Dim, " "+name+" ")
		}
	}
	return strings.Join(parts, " ")
}

// pageOf returns the visible lines of the selected tab.
func pageOf(m Model, columns int) []string {
	all, tall := pageLines(m), bodyHeight(m)
	from := min(m.up, max(len(all)-tall, 0))
	if m.tab.follows() {
		from = max(len(all)-tall-m.up, 0)
	}
	lines := make([]string, tall)
	for i := range lines {
		if from+i >= len(all) {
			break
		}
		text := all[from+i]
		right := m.right
		if m.tab.wraps() {
			right = 0
		}
		lines[i] = cut(text, right, columns)
	}
	return lines
}

// pageLines returns all lines of the selected tab.
func pageLines(m Model) []string {
	row, selected := m.row()
	p := page{m.tab, row.Address}
	if m.tab == Plan {
		p.address = ""
	}
	c, known := m.loaded[p]
	switch {
	case m.problem != "" && !m.observed:
		c = content{text: m.problem, bad: true}
	case !selected && m.tab != Plan && m.observed && len(m.fleet.Rows) == 0:
		return []string{"No sessions. To start one:", "  :run -a AGENT -p 'PROMPT'"}
	case !selected && m.tab != Plan:
		return nil
	case m.tab == Screen && !known && m.observed:
		c.text = row.Screen
	case !known:
		return []string{paint(m, Dim, "loading…")}
	}
	text := strings.TrimRight(c.text, "\n ")
	if text == "" {
		return []string{paint(m, Dim, "nothing to show")}
	}
	lines := strings.Split(text, "\n")
	if m.tab == Screen { // an agent may write at the top, with its composer at the bottom
		lines = withoutGaps(lines)
	}
	for i, l := range lines {
		lines[i] = lineOf(m, p.tab, l, c.bad)
	}
	if !p.tab.wraps() && !c.bad {
		return lines
	}
	var wrapped []string
	for _, l := range lines {
		wrapped = append(wrapped, wrap(l, max(paneWidth(m), 1))...)
	}
	return wrapped
}

// withoutGaps removes all but two of consecutive blank lines.
func withoutGaps(lines []string) []string {
	blank := 0
	return slices.DeleteFunc(lines, func(l string) bool {
		if blank++; strings.TrimSpace(l) != "" {
			blank = 0
		}
		return blank > 2
	})
}

// lineOf colors a line of a diff, or of an error. Other texts already have colors.
func lineOf(m Model, t Tab, text string, bad bool) string {
	text = strings.ReplaceAll(text, "\t", "    ")
	switch {
	case bad:
		return paint(m, Red, text)
	case t == Log || t == Events || t == Plan: // of package view, which colors safe text
		return keepColors(m, text)
	case t != Diff:
		return paint(m, Plain, text)
	case strings.HasPrefix(text, "@@"):
		return paint(m, Cyan, text)
	case strings.HasPrefix(text, "diff ") || strings.HasPrefix(text, "+++ ") || strings.HasPrefix(text, "--- "):
		return paint(m, Bold, text)
	case strings.HasPrefix(text, "+"):
		return paint(m, Green, text)
	case strings.HasPrefix(text, "-"):
		return paint(m, Red, text)
	}
	return paint(m, Plain, text)
}

// keepColors sanitizes a text but keeps its colors.
func keepColors(m Model, text string) string {
	var b strings.Builder
	for {
		at := colors.FindStringIndex(text)
		if at == nil {
			b.WriteString(plaintext.Safe(text))
			return b.String()
		}
		b.WriteString(plaintext.Safe(text[:at[0]]))
		if m.color {
			b.WriteString(text[at[0]:at[1]])
		}
		text = text[at[1]:]
	}
}

// bottomOf returns the last two rows, and the cursor's column in the last; -1: no cursor.
func bottomOf(m Model) ([]string, int) {
	prompt, note := promptOf(m)
	if note == "" {
		note = noteOf(m)
	}
	if prompt == "" {
		return []string{fit(note, m.width), fit(hintsOf(m), m.width)}, -1
	}
	// The end of the typed text stays visible.
	before := strings.ReplaceAll(string(m.line.text[:m.line.at]), "\n", "⏎")
	after := strings.ReplaceAll(string(m.line.text[m.line.at:]), "\n", "⏎")
	room := max(m.width-width(prompt)-1, 1)
	if over := width(before) - room; over > 0 {
		before = "…" + cut(before, over+1, room)
	}
	typed := paint(m, Bold, prompt) + paint(m, Plain, before)
	return []string{fit(note, m.width), fit(typed+paint(m, Plain, after), m.width)}, width(typed)
}

// promptOf returns the prompt in the last row, and a note for the row above.
func promptOf(m Model) (prompt, note string) {
	name := m.target.Short()
	switch m.mode {
	case filtering:
		return "/", ""
	case commanding:
		return ":agentform ", paint(m, Dim, "% is "+name+"; q quits")
	case sending:
		return "send to " + name + ": ", ""
	case confirming:
		return m.act + " " + name + "? y/n ", ""
	case landing:
		row := Row{}
		if i := slices.IndexFunc(m.fleet.Rows, func(r Row) bool { return r.Address == m.target }); i >= 0 {
			row = m.fleet.Rows[i]
		}
		return "land " + name + "? m/s/r/p/a ", paint(m, Plain, "m merge  s squash  r rebase  p pull request  a all sessions  ") + paint(m, Dim, plaintext.OneLine(row.Work))
	case answering:
		return "answer " + name + ": ", questionOf(m)
	}
	return "", ""
}

// questionOf returns the question and all keys that answer it: never a yes without its no.
func questionOf(m Model) string {
	text, keys := plaintext.OneLine(m.question.Text), choices(*m.question, 0)
	for _, label := range []int{24, 12, 8, 1} {
		if width(keys) > m.width-min(width(text), 6)-1 {
			keys = choices(*m.question, label)
		}
	}
	return shorten(paint(m, Yellow, text), max(m.width-width(keys)-1, 1)) + " " + paint(m, Plain, keys)
}

// choices returns the keys that answer a question, with labels cut to a width unless it is 0.
func choices(q session.Question, columns int) string {
	keys := map[string]string{session.Yes: "y", session.Always: "a", session.No: "n"}
	var parts []string
	for _, o := range q.Options {
		key := keys[o.Word]
		if key == "" {
			key = fmt.Sprint(o.Number)
		}
		if o.Text {
			key = "text"
		}
		label := plaintext.OneLine(o.Label)
		if columns > 0 {
			label = shorten(label, columns)
		}
		parts = append(parts, "["+key+"] "+label)
	}
	if len(q.Options) == 0 {
		parts = append(parts, "[text]")
	}
	return strings.Join(parts, "  ")
}

// noteOf returns the row above the last: what is under way, its outcome, or the reason for the
// selected session's status.
func noteOf(m Model) string {
	row, _ := m.row()
	switch {
	case m.leaving:
		return paint(m, Yellow, "finishing: "+strings.Join(m.running, ", ")+" (q again leaves now)")
	case m.message != "" && m.bad:
		return paint(m, Red, plaintext.OneLine(m.message))
	case m.message != "":
		return paint(m, Green, plaintext.OneLine(m.message))
	case len(m.running) > 0:
		return paint(m, Dim, strings.Join(m.running, ", ")+"…")
	case m.problem != "":
		return paint(m, Red, plaintext.OneLine(m.problem))
	}
	return sides(paint(m, row.Color, plaintext.OneLine(row.Reason)), paint(m, Dim, plaintext.OneLine(row.Work)), m.width)
}

// hints are the keys, in the order in which they are omitted for lack of room.
var hints = []struct {
	text string
	rank int
}{
	{"enter attach", 11}, {"a answer", 10}, {"s send", 9}, {"d diff", 8}, {"l log", 6}, {"e events", 1}, {"p plan", 3}, {"r restart", 4},
	{"x stop", 2}, {"L land", 7}, {"/ filter", 5}, {": command", 0}, {"? help", 13}, {"q quit", 12},
}

func hintsOf(m Model) string {
	if m.mode == helping {
		return paint(m, Dim, "any key returns")
	}
	for least := 0; ; least++ {
		var parts []string
		for _, h := range hints {
			if key, word, _ := strings.Cut(h.text, " "); h.rank >= least && offered(m, key) {
				parts = append(parts, paint(m, Bold, key)+" "+word)
			}
		}
		if text := strings.Join(parts, "  "); width(text) <= m.width || len(parts) < 2 {
			return text
		}
	}
}

// offered reports whether a key has an effect now.
func offered(m Model, key string) bool {
	row, _ := m.row()
	if key == "a" {
		return row.Question != nil
	}
	needs, is := map[string][]api.Action{
		"s": {api.ActionSend}, "x": {api.ActionStop}, "r": {api.ActionRestart, api.ActionRestartSession, api.ActionStart},
	}[key]
	return !is || row.Actions == nil || slices.ContainsFunc(needs, func(a api.Action) bool { return slices.Contains(row.Actions, a) })
}

var helpText = [][2]string{
	{"enter", "attach; Ctrl-b d returns"},
	{"a", "answer the question"},
	{"s", "send text to the agent"},
	{"r  x", "restart, stop"},
	{"R", "refresh: bring its base into its branch"},
	{"L", "land: merge its work or that of all, or open a pull request"},
	{"d l e p  esc", "Diff, Log, Events, Plan; Screen"},
	{"tab  1-5", "next tab; a tab"},
	{"j k ↓ ↑  g G", "select; first, last"},
	{"n", "next that needs you"},
	{"/", "filter: words of address, status, role, agent, branch"},
	{":", "a command of agentform; % is the selected session"},
	{"PgUp PgDn", "scroll the page; J K by a line, ← → sideways"},
	{"z", "page over the whole width"},
	{"ctrl+r", "load again"},
	{"q  ctrl+c", "quit; the agents keep running"},
}

func helpOf(m Model) []string {
	lines := make([]string, bodyHeight(m)+1)
	i := 0
	for _, h := range helpText {
		if i+1 >= len(lines) {
			break
		}
		i++
		lines[i] = fit("  "+fit(paint(m, Bold, h[0]), 14)+" "+h[1], m.width)
	}
	return lines
}
