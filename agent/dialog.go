package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentform/agentform/session"
)

// A dialog is at the end of a screen: its question, then its answers, then hints.

// drawn is a line of a screen that is not blank.
type drawn struct {
	text   string // without the borders around it
	row    int    // its number on the screen
	gap    bool   // a blank line or a border is above it
	rule   bool   // it is a border
	foot   bool   // it is the lower border of a box
	nested bool   // it is in a box within a box
}

func drawnLines(screen string) []drawn {
	var all []drawn
	gap := false
	for row, line := range strings.Split(screen, "\n") {
		text := strings.Trim(line, frame+dotted)
		switch {
		case titled().MatchString(line):
			all = append(all, drawn{row: row, gap: gap, rule: true})
		case text != "":
			all = append(all, drawn{text: text, row: row, gap: gap, nested: nestedBox().MatchString(line)})
		case border().MatchString(line):
			all = append(all, drawn{row: row, gap: gap, rule: true, foot: strings.ContainsAny(line, "╰└")})
		}
		gap = text == ""
	}
	return all
}

var (
	border = lazily(`^\s*[─━▔╭╰┌└][─━▔]{7}`)
	// titled is the upper border of a box with a name: Codex's field for a key.
	titled    = lazily(`^\s*[╭┌]\w[\w ]*[─━]{7}`)
	columnGap = lazily(`\s{2,}`)
	nestedBox = lazily(`^\s*[│┃]\s*[│┃]`)
	// numbered is an answer in a list: cursor, number and label. Claude Code 2.1.197 draws no blank
	// before a wrapped label.
	numbered = lazily(`^(?:([❯›●▶▸>])\s*)?(\d{1,2})[.)](\s+\S.*|[^\s\d].*)$`)
	// keyHint is the key at the end of a label.
	keyHint = lazily(`\s*\(([a-z]|[Ee]sc(?: to stop)?|enter|shift\+tab)\)$`)
	// checkbox is the start of an answer in a multiple choice.
	checkbox = lazily(`^\[[ x✔✓]\]\s*`)
	// typing is an answer that is a text. Qwen Code 0.15.10 puts a > before it at the cursor.
	typing = lazily(`(?i)^(?:> )?(type something|enter a custom value)\b`)
	// submits is the hint of a dialog that is answered with a text.
	submits = lazily(`(?i)\benter to (submit|save)\b`)
	// choice is a line that names the keys for its answers: Go on? [y/N]
	choice = lazily(`(?i)^(.*?)\s*[\[(]\s*(\w+(?:\s*[/|,]\s*[\w?]+)+)\s*[\])]\s*[:?>]?\s*(\w*)$`)
	// letters are answers with their keys in brackets: (Y)es/(N)o
	letters = lazily(`\((\w)\)([a-z][a-z' ]*)`)
	// proceeds is a question that does not name its subject.
	proceeds = lazily(`^(Do you want to proceed|Would you like to proceed)\?$`)
	trusts   = lazily(`(?i)trust the files in this folder|trust this folder\?|one you trust\?`)
)

// dotted are the characters that separate parts of a dialog.
const dotted = "╌┄┈"

const (
	dialogLines = 40  // most lines of a dialog above its answers
	hintLines   = 8   // and below them
	textLength  = 300 // of a question in one line
	// labelLength is the length of a label that identifies a question. After the cursor was there,
	// Claude Code 2.1.197 draws the first line of a wrapped label without its last character.
	labelLength = 32
)

// question returns the dialog on the screen, if it can be answered. told is another signal's
// description of it. It returns nil without a dialog, or if the dialog is incomplete, such as one
// without words.
func (p screenPatterns) question(s screen, told string) *session.Question {
	lines := drawnLines(s.whole)
	q, body := p.choices(s, lines)
	if q == nil {
		q, body = p.choicesInLine(lines)
	}
	if q == nil {
		q, body = p.prompted(lines)
	}
	if q == nil {
		return nil
	}
	if nameOptions(q.Options); halfDrawn(q.Options) {
		return nil
	}
	if q.Text = cut(p.asked(body, told), textLength); strings.Trim(q.Text, "? ") == "" {
		return nil
	}
	q.Says = says(body)
	q.ID = identity(q)
	if len(body) > 0 {
		q.Above = strings.Join(strings.Split(s.whole, "\n")[:body[0].row], "\n")
	}
	return q
}

// choices finds a list of numbered answers. With a cursor it is a dialog. Without one the number is
// typed, and only a manifest's own pattern makes it a question.
func (p screenPatterns) choices(s screen, lines []drawn) (*session.Question, []drawn) {
	var at []int // the rows of the answers, the last first
	want := 0
	for i := len(lines) - 1; i >= 0 && (len(at) > 0 || len(lines)-i <= hintLines+4) && want != 1; i-- {
		m := numbered().FindStringSubmatch(lines[i].text)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[2])
		if len(at) > 0 && n != want-1 {
			break
		}
		at, want = append(at, i), n
	}
	if len(at) == 0 || want != 1 {
		return nil, nil
	}
	slices.Reverse(at)
	q := &session.Question{Options: []session.Option{}}
	for n, i := range at {
		m := numbered().FindStringSubmatch(lines[i].text)
		o := session.Option{Number: n + 1, Label: strings.TrimSpace(m[3]), Key: m[2]}
		if label, about, two := strings.Cut(o.Label, "  "); two { // in two columns
			o.Label, o.About = label, strings.TrimSpace(about)
		}
		end := len(lines)
		if n+1 < len(at) {
			end = at[n+1]
		}
		for j := i + 1; j < end && !lines[j].gap && !lines[j].rule; j++ {
			o.About = strings.TrimSpace(o.About + " " + lines[j].text)
		}
		if m[1] != "" {
			q.Marked = n + 1
		}
		q.Several = q.Several || checkbox().MatchString(o.Label)
		o.Label = strings.TrimSuffix(checkbox().ReplaceAllString(o.Label, ""), p.chosen)
		o.Label, o.About, o.Key = withoutHint(o.Label, o.About, o.Key)
		o.Text = typing().MatchString(o.Label)
		q.Free = q.Free || o.Text
		q.Options = append(q.Options, o)
	}
	if q.Marked == 0 && (!p.manifest.blocked.match(s.whole) || len(p.own.blocked) > 0 || len(at) < 2) {
		return nil, nil
	}
	if below := lines[at[len(at)-1]+1:]; p.composedIn(below) {
		return nil, nil
	}
	return q, p.body(lines, at[0])
}

// choicesInLine finds answers in one line, near the end of the screen. A column of the agent may be
// to the right of the dialog.
func (p screenPatterns) choicesInLine(lines []drawn) (*session.Question, []drawn) {
	for i := len(lines) - 1; i >= max(0, len(lines)-hintLines); i-- {
		columns := columnGap().Split(lines[i].text, -1)
		at := slices.IndexFunc(p.inLine, func(d inLine) bool {
			return len(columns) >= len(d.labels) && slices.Equal(columns[:len(d.labels)], d.labels)
		})
		if at < 0 {
			continue
		}
		q := &session.Question{Options: []session.Option{}}
		for n, label := range p.inLine[at].labels {
			q.Options = append(q.Options, session.Option{Number: n + 1, Label: label, Key: p.inLine[at].keys[n]})
		}
		body := slices.Clone(p.body(lines, i))
		for j := range body {
			text, _, _ := strings.Cut(body[j].text, paneGap)
			body[j].text = strings.TrimRight(text, scrollbar)
		}
		if len(body) > 1 && p.own.blocked.match(body[0].text) {
			body = body[1:] // its title
		}
		return q, body
	}
	return nil, nil
}

const (
	paneGap   = "      " // separates a dialog from a column to its right, at least
	scrollbar = "█▀▄ "
)

// composedIn reports whether lines contain the composer.
func (p screenPatterns) composedIn(below []drawn) bool {
	return slices.ContainsFunc(below, func(l drawn) bool {
		return p.composer.line != nil && p.composer.line.MatchString(l.text) || p.composer.line == nil && p.looksReady(l.text)
	})
}

// withoutHint removes the key from the end of a label that names it.
func withoutHint(label, about, key string) (string, string, string) {
	for _, text := range []*string{&about, &label} {
		m := keyHint().FindStringSubmatchIndex(*text)
		if m == nil {
			continue
		}
		switch hint := (*text)[m[2]:m[3]]; hint {
		case "esc", "Esc", "Esc to stop":
			key = "Escape"
		case "enter":
			key = "Enter"
		case "shift+tab":
			key = "BTab"
		default:
			key = hint
		}
		*text = (*text)[:m[0]]
		break
	}
	return label, about, key
}

// body returns the text of a dialog above its answers, which start at line answers: from a border,
// or from the agent's known question, or else the text right above.
func (p screenPatterns) body(lines []drawn, answers int) []drawn {
	from := answers
	for from > 0 && answers-from < dialogLines && !lines[from-1].rule {
		from--
	}
	within := lines[from:answers]
	foreign := func(l drawn) bool {
		return agentLine.MatchString(l.text) || p.turn != nil && p.turn.MatchString(l.text)
	}
	if from > 0 && lines[from-1].rule && !slices.ContainsFunc(within, foreign) {
		return within
	}
	within = within[max(0, len(within)-markLines):]
	text := joined(within)
	for _, known := range []patterns{p.own.blocked, p.manifest.blocked} {
		if row := known.firstRow(text); row >= 0 {
			return within[row:]
		}
	}
	for i := len(within) - 1; i > 0; i-- {
		if within[i].gap && i < len(within)-1 || len(within)-i >= questionLines {
			return within[i:]
		}
	}
	return within
}

func joined(lines []drawn) string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.text
	}
	return strings.Join(texts, "\n")
}

// prompted finds a dialog that is answered in a line: with one of the keys in its last line, or
// with a text.
func (p screenPatterns) prompted(lines []drawn) (*session.Question, []drawn) {
	for len(lines) > 0 && lines[len(lines)-1].rule {
		lines = lines[:len(lines)-1]
	}
	if len(lines) == 0 {
		return nil, nil
	}
	end := lines[max(0, len(lines)-3):]
	last := end[len(end)-1]
	if options := keyed(last.text); options != nil {
		return &session.Question{Options: options}, lines[len(lines)-1:]
	}
	switch {
	case slices.ContainsFunc(end, func(l drawn) bool { return submits().MatchString(l.text) }):
		body := p.body(lines, len(lines))
		if top := fieldAbove(lines); top > 0 {
			body = paragraph(p.body(lines, top))
		} else if at := slices.IndexFunc(lines, func(l drawn) bool { return l.rule }); at >= 0 {
			for at = len(lines); !lines[at-1].rule; at-- { // its box
			}
			body = lines[at:]
		}
		body = slices.DeleteFunc(slices.Clone(body), func(l drawn) bool {
			return l.nested || strings.HasPrefix(l.text, ">") || submits().MatchString(l.text)
		})
		return &session.Question{Free: true, Options: []session.Option{}}, body
	case len(p.own.blocked) == 0 && p.manifest.blocked.match(last.text) && !p.genericDialog.match(last.text):
		return &session.Question{Free: true, Options: []session.Option{}}, lines[len(lines)-1:]
	}
	return nil, nil
}

// fieldAbove returns the first line of the text field above the hints at the end of a dialog, or 0
// if there is none.
func fieldAbove(lines []drawn) int {
	at := len(lines) - 1
	for at > 0 && !lines[at].rule {
		at--
	}
	if at <= 0 || !lines[at].foot {
		return 0
	}
	for at--; at > 0 && !lines[at].rule; at-- {
	}
	return at
}

// paragraph returns the lines up to the first gap. Later lines may disappear while a text is typed.
func paragraph(lines []drawn) []drawn {
	for i, l := range lines {
		if i > 0 && l.gap {
			return lines[:i]
		}
	}
	return lines
}

// keyed returns the answers for the keys in a line, if yes and no are among them.
func keyed(line string) []session.Option {
	var options []session.Option
	add := func(key, label string) {
		options = append(options, session.Option{Number: len(options) + 1, Label: label, Key: strings.ToLower(key)})
	}
	if all := letters().FindAllStringSubmatch(line, -1); len(all) > 1 {
		for _, m := range all {
			add(m[1], m[1]+strings.TrimSpace(m[2]))
		}
	} else if m := choice().FindStringSubmatch(line); m != nil {
		for _, key := range strings.FieldsFunc(m[2], func(r rune) bool { return strings.ContainsRune("/|, ", r) }) {
			add(key, map[string]string{"y": "yes", "n": "no", "a": "always"}[strings.ToLower(key)])
			if o := &options[len(options)-1]; o.Label == "" {
				o.Label = o.Key
			}
		}
	}
	has := func(form *regexp.Regexp) bool {
		return slices.ContainsFunc(options, func(o session.Option) bool { return form.MatchString(o.Label) })
	}
	if !has(agrees()) || !has(refuses()) {
		return nil
	}
	return options
}

// The starts and parts of labels, by meaning.
var (
	agrees   = lazily(`(?i)^(yes|ok|okay|allow|approve|accept|agree|confirm|proceed|continue|trust|submit|grant|use this)\b`)
	consents = lazily(`(?i)^(yes|allow|approve|accept|grant|always (allow|approve))\b`)
	refuses  = lazily(`(?i)^(no|don['’]?t (?:trust|allow|proceed|run|submit)|do not|deny|reject|refuse|decline|cancel|abort|exit|quit|back|stop|skip)\b`)
	without  = lazily(`(?i)^(continue|proceed) without\b`)
	forever  = lazily(`(?i)\b(always|all|every|everything|future|session|permanent|permanently|remember|forever|from now on)\b|` +
		`(don['’]?t|do not|never|without) ask|\b(for|in) (this|the|any) (project|workspace|host|conversation)\b|\bauto-?(accept|approve)`)
	denies = lazily(`(?i)^always (deny|reject|block|refuse|forbid|disallow)`)
	// wider is a scope beyond the question: the folder above, all projects of a user.
	wider = lazily(`(?i)\bparent (folder|director)|\bfor this user$`)
)

// nameOptions names answers by their meaning. A yes that also applies later is always, never yes.
// Two answers with the same meaning get no name, and nothing is a yes without a no.
func nameOptions(options []session.Option) {
	count := map[string]int{}
	agreed := false
	for i := range options {
		o := &options[i]
		o.Word = word(*o)
		count[o.Word]++
		agreed = agreed || agrees().MatchString(o.Label)
	}
	for i := range options {
		o := &options[i]
		if count[o.Word] > 1 || count[session.No] != 1 || !agreed && count[session.Always] == 0 {
			o.Word = ""
		}
	}
}

// halfDrawn reports whether an answer permits something and none refuses it: a fully drawn dialog
// has both.
func halfDrawn(options []session.Option) bool {
	permits := func(o session.Option) bool { return consents().MatchString(o.Label) }
	declines := func(o session.Option) bool { return refuses().MatchString(o.Label) || without().MatchString(o.Label) }
	return slices.ContainsFunc(options, permits) && !slices.ContainsFunc(options, declines)
}

// decided returns the question without its answers if they include yes but not no.
func decided(told string) string {
	lines := strings.Split(told, "\n")
	first := -1
	var options []session.Option
	for i, line := range lines {
		if m := numbered().FindStringSubmatch(line); m != nil {
			if first < 0 {
				first = i
			}
			options = append(options, session.Option{Label: strings.TrimSpace(m[3])})
		}
	}
	if !halfDrawn(options) {
		return told
	}
	return strings.Join(lines[:first], "\n")
}

func word(o session.Option) string {
	label := strings.ToLower(o.Label)
	lasting := forever().MatchString(o.Label)
	switch {
	case o.Text, wider().MatchString(o.Label), denies().MatchString(o.Label):
		return ""
	case without().MatchString(o.Label):
		return session.No
	case refuses().MatchString(o.Label) && !lasting:
		return session.No
	case refuses().MatchString(o.Label):
		return "" // a no that also applies later
	case lasting && (agrees().MatchString(o.Label) || strings.HasPrefix(label, "always") || strings.HasPrefix(label, "don")):
		return session.Always
	case lasting, forever().MatchString(o.About): // a wrapped label continues in About
		return ""
	case agrees().MatchString(o.Label):
		return session.Yes
	}
	return ""
}

// asked returns the question of a dialog in one line. Another signal's text is used only if the
// dialog contains it, since it may be about another question.
func (p screenPatterns) asked(body []drawn, told string) string {
	if len(body) == 0 {
		return ""
	}
	if first, rest, _ := strings.Cut(told, "\n"); first != "" {
		if what, is := strings.CutPrefix(first, `run "`); is && shownIn(body, strings.TrimSuffix(what, `"?`)) {
			return first
		} else if !is && strings.HasPrefix(first, "use ") && shownIn(body, rest) {
			return strings.TrimSpace(oneLine(first + " " + rest))
		}
	}
	all := joined(body)
	if trusts().MatchString(all) {
		for _, l := range body {
			if strings.HasPrefix(l.text, "/") && !strings.Contains(l.text, " ") {
				return "trust the folder " + l.text + "?"
			}
		}
		return "trust this folder?"
	}
	asks := body
	if p.asksIn != nil {
		var text string
		if text, asks = p.asksIn(body); text != "" {
			return text
		}
	}
	ask := sentence(asks)
	if proceeds().MatchString(ask) && len(body) > 1 {
		return oneLine(joined(body[:len(body)-1])) + ": proceed?"
	}
	return ask
}

// commandQuestion finds the command in a dialog of Codex, Copilot CLI or opencode.
func commandQuestion(body []drawn) (string, []drawn) {
	if _, command, found := strings.Cut("\n"+joined(body), "\n$ "); found {
		return `run "` + oneLine(command) + `"?`, nil
	}
	return "", body
}

// shownIn reports whether a dialog contains a text, ignoring line breaks.
func shownIn(body []drawn, text string) bool {
	return text != "" && strings.Contains(denseText(joined(body)), denseText(text))
}

// sentence returns the last question of a dialog, or else its whole text.
func sentence(body []drawn) string {
	for end := len(body) - 1; end >= 0; end-- {
		if !strings.Contains(body[end].text, "?") {
			continue
		}
		from := end
		for from > 0 && !body[from].gap && !strings.HasSuffix(body[from-1].text, ".") && end-from < questionLines {
			from--
		}
		text := oneLine(joined(body[from : end+1]))
		return text[:strings.LastIndexByte(text, '?')+1]
	}
	return oneLine(joined(body))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func denseText(text string) string { return strings.Join(strings.Fields(text), "") }

// cut returns at most n characters of a text.
func cut(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// says returns the text of a dialog, without an answer typed at its end.
func says(body []drawn) string {
	var b strings.Builder
	for _, l := range body {
		text := l.text
		if m := choice().FindStringSubmatchIndex(text); m != nil {
			text = text[:m[6]]
		}
		b.WriteString(denseText(text))
	}
	return b.String()
}

// identity returns the ID of a question. It depends on the dialog's text, except for the cursor,
// ticked boxes, typed text, and the ends of long labels.
func identity(q *session.Question) string {
	h := sha256.New()
	h.Write([]byte(q.Says))
	for _, o := range q.Options {
		label := cut(denseText(o.Label), labelLength) + denseText(o.About)
		if o.Text {
			label = "text"
		}
		h.Write([]byte("\x00" + label))
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
