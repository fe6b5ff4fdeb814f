package agent

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/agentform/agentform/session"
)

// layout describes the parts of an agent's screen.
type layout struct {
	turn      *regexp.Regexp // a prompt of the user; nil: not known
	sent      *regexp.Regexp // matches the end of its first row; nil: no mark
	composer  composer
	ready     patterns
	statusBar int // lines
}

func newLayout(m marks, s session.AgentSpec) layout {
	return layout{turn: optional(m.turn), sent: optional(m.sent), composer: composerOf(m), ready: compile(fold, []string{s.Ready}), statusBar: s.StatusBarLines}
}

// lazily returns a function that compiles a pattern on its first call, so that commands that read
// no screen start faster.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// optional compiles a pattern, or returns nil for an empty one.
func optional(pattern string) *regexp.Regexp {
	if pattern == "" {
		return nil
	}
	return regexp.MustCompile(pattern)
}

// composer describes the line of a screen in which a prompt is typed.
type composer struct {
	line, hint *regexp.Regexp // nil: not known
}

func composerOf(m marks) composer { return composer{optional(m.composer), optional(m.hint)} }

// text returns the text typed into the composer's line, without hints.
func (c composer) text(line string) string {
	m := c.line.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	text := strings.Trim(m[1], frame)
	if c.hint != nil && c.hint.MatchString(text) {
		return ""
	}
	return text
}

// screen is a screen, divided for the patterns.
type screen struct {
	whole string
	all   []string // its lines
	shown []string // those above the composer or, without one, the status bar
	now   []string // those below the last prompt
	end   string   // the part with dialogs and composers
	turn  string   // its part below the last prompt
	// composer counts the lines up to and including the composer; 0: there is none.
	composer int
}

// parse divides a screen. typed are the places of typed text, and prompt is the user's last
// message; empty: not known.
func (l layout) parse(text string, typed []session.Span, prompt string) screen {
	rows := rowsOf(text)
	s := screen{whole: text, all: make([]string, len(rows))}
	for i := range rows {
		s.all[i] = rows[i].text
	}
	s.end = last(s.all, markLines)
	s.composer = l.composerEnd(s.all)
	begin := l.belowMessage(rows, prompt)
	if begin == 0 {
		begin = l.turnStart(rows, typed, s.composer)
	}
	if l.turn == nil && begin >= s.composer { // what looks like the composer is a prompt
		s.composer = 0
	}
	if s.composer > 0 {
		s.shown = s.all[:s.composer-1]
	} else {
		s.shown = s.all[:max(0, len(s.all)-l.statusBar)]
	}
	s.now = s.all[begin:]
	s.turn = last(s.now, markLines)
	return s
}

// composerEnd counts the lines up to the composer: the last line that looks like one and has at
// most the status bar below it.
func (l layout) composerEnd(all []string) int {
	for i := len(all) - 1; i >= max(0, len(all)-1-max(l.statusBar, footerLines)); i-- {
		if is := l.composer.line; !option.MatchString(all[i]) && (is != nil && is.MatchString(all[i]) || is == nil && l.looksReady(all[i])) {
			return i + 1
		}
	}
	return 0
}

// turnStart returns the first row below the last prompt, or 0. Rows above belong to earlier turns.
func (l layout) turnStart(rows []row, typed []session.Span, composer int) int {
	if l.turn == nil {
		return max(l.belowTyped(rows, typed, composer-1), l.belowPrompt(rows, composer-1))
	}
	for i := len(rows) - 1; i >= 0; i-- {
		if i == composer-1 || !l.turn.MatchString(rows[i].text) || option.MatchString(rows[i].text) {
			continue
		}
		for i++; i < len(rows) && !rows[i].gap && !agentLine.MatchString(rows[i].text); i++ {
		}
		return i
	}
	return 0
}

// option is an answer in an agent's dialog. agentLine is the start of an agent's line.
var (
	option    = regexp.MustCompile(`^([❯›●▶▸>] ?)?\d+[.)](?: |\pL)`)
	agentLine = regexp.MustCompile(`^[●⎿✢✽✻✶·•◦■✦✕ℹ⚠✓⊷]`)
)

// row is a line of a screen that is not blank.
type row struct {
	text string // without the borders around it
	gap  bool   // a blank line or a border is above it
	line int    // its number on the screen
}

func rowsOf(screen string) []row {
	var rows []row
	gap, number := false, 0
	for line := range strings.Lines(screen) {
		text := unframed(line)
		if text != "" {
			rows = append(rows, row{text, gap, number})
		}
		gap = text == ""
		number++
	}
	return rows
}

// belowTyped returns the row below the last text that was typed and submitted, or 0. It serves
// agents whose user messages have no known form: typed text and the composer's mark identify the
// last prompt. composer is its row, or -1.
func (l layout) belowTyped(rows []row, typed []session.Span, composer int) int {
	for _, s := range slices.Backward(typed) {
		first := slices.IndexFunc(rows, func(row row) bool { return row.line >= s.First })
		if first < 0 {
			continue
		}
		below := first
		for below < len(rows) && rows[below].line <= s.Last {
			below++
		}
		if l.submitted(rows, first, below, composer) {
			return below
		}
	}
	return 0
}

// submitted reports whether something was printed below a typed text. Otherwise the text may still
// be in the composer, or in a status line.
func (l layout) submitted(rows []row, first, below, composer int) bool {
	switch {
	case composer >= below:
		return composer > below
	case composer >= 0 && composer < first: // below the composer
		return false
	case composer >= 0 && below < len(rows) && rows[below].gap: // a status line, apart from the composer
		return false
	}
	return len(rows)-below > l.statusBar
}

// belowPrompt returns the row below the last row above the composer with the composer's mark and a
// text, or 0.
func (l layout) belowPrompt(rows []row, composer int) int {
	mark := ""
	if composer >= 0 {
		mark, _ = l.promptMark(rows[composer].text)
		rows = rows[:composer]
	}
	for i, row := range slices.Backward(rows) {
		if option.MatchString(row.text) {
			continue
		}
		if own, from := l.promptMark(row.text); textBehind(row.text, mark) || from == 0 && textBehind(row.text, own) {
			return i + 1
		}
	}
	return 0
}

// looksReady reports whether a row matches the ready pattern, which may include the blank at its
// end that rows lack.
func (l layout) looksReady(text string) bool {
	return l.ready.match(text) || l.ready.match(text+" ")
}

// promptMark returns the row up to the end of the ready pattern if that ends in a sign, such as ">"
// or "you>", and the start of the pattern.
func (l layout) promptMark(text string) (mark string, from int) {
	for _, re := range l.ready {
		for _, text := range []string{text, text + " "} {
			at := re.FindStringIndex(text)
			if at == nil {
				continue
			}
			mark := strings.TrimRightFunc(text[:at[1]], unicode.IsSpace)
			if end, _ := utf8.DecodeLastRuneInString(mark); mark != "" && !unicode.IsLetter(end) && !unicode.IsDigit(end) {
				return mark, at[0]
			}
		}
	}
	return "", 0
}

// textBehind reports whether a row is a mark, a blank and a text.
func textBehind(text, mark string) bool {
	rest, found := strings.CutPrefix(text, mark)
	blank, _ := utf8.DecodeRuneInString(rest)
	return mark != "" && found && unicode.IsSpace(blank)
}
