package agent

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// marks are an agent's own signs. Only its program shows them, so they count more
// than phrases.
type marks struct {
	titles                               []title
	blocked, blockedAPI, failed, working []string
	retrying                             []string // a limit, while it works
	ui                                   []string // its program has the screen
	ended                                []string // the last line of a turn
	// reconnecting and disconnected are right above the composer of an agent that has
	// lost its own server: it tries to reach that, or has given up.
	reconnecting, disconnected []string
	// composer is a line of the composer, its group what stands in it, and hint what
	// stands there when nothing was typed. Empty: not known.
	composer, hint string
	// started is what stands above the composer once it takes input; empty: the
	// composer is enough.
	started []string
	// turn begins a message of the user's: what is above the last one is of earlier
	// turns. Empty: not known.
	turn string
	// sent is at the end of its first row: when it was sent. Empty: nothing is.
	sent string
	// chosen is behind the label of an answer that was given, until the dialog goes.
	chosen string
	// question returns what a dialog asks, in one line, or else where it asks that; nil: all
	// of it does.
	question func(body []drawn) (text string, asks []drawn)
	// inLine are dialogs whose answers are in one line, without numbers.
	inLine []inLine
}

// inLine is a line of answers and the keys that choose each. Its cursor is no text.
type inLine struct {
	labels, keys []string
}

// title is a pattern of the terminal's title and its meaning.
type title struct {
	pattern  string
	activity session.Activity
}

// The phrases that agents and scripts print of their own accord. Whatever an
// agent works on may contain them, so they count only near the end of the
// screen.
var (
	donePhrases   = []string{`task completed successfully`, `all tasks completed`, `session ended`, `goodbye`}
	limitPhrases  = []string{`you['’]ve (hit|reached) your ([\w'’-]+ ){0,3}limit`, `rate limit exceeded`, `rate limit reached`, `cost limit reached`, `usage limit reached`, `quota exceeded`, `insufficient quota`, `resource exhausted`}
	failedPhrases = []string{`fatal error`, `unrecoverable error`, `agent crashed`, `authentication failed`}
	// dialogs are what programs show that want an answer, whatever they ask: one
	// of several answers marked, or a word for keys.
	dialogs = []string{
		`^[❯›●▶▸>] ?\d+[.)](?: |\pL)`,
		`[\[(]y(es)?/no?[\])]`,
		`(press|hit) (enter|return|any key) to (continue|confirm|proceed)`,
		`enter to (confirm|select|continue)`,
	}
	// shellPrompt is the last line of a screen that a shell has: $, % or ❯ after
	// nothing or anything but a number, which would be a percentage.
	shellPrompt = []string{`^(.*[^\d\s])?\s*[$%❯]\s*$`}
)

// How many of the last lines that are not blank, status bar not counted, each
// kind of phrase is looked for in. An agent's dialog fits into markLines.
const (
	footerLines = 4 // below a composer, at most
	doneLines   = 5
	failedLines = 10
	limitLines  = 30
	markLines   = 16
	// resumedLines is more than an agent shows above its composer before it takes input.
	resumedLines = 10
)

// pullRequest is the address of a pull or merge request.
var pullRequest = regexp.MustCompile(`https?://[\w.:-]+(?:/[\w.~-]+)+?/(?:pull|-/merge_requests|pull-requests|pulls)/\d+`)

// patterns are regular expressions, of which one has to match.
type patterns []*regexp.Regexp

// wrapping compiles expressions whose blanks also match line ends, since programs
// wrap lines.
func wrapping(flags string, lists ...[]string) patterns {
	var all []string
	for _, p := range slices.Concat(lists...) {
		if tree, err := syntax.Parse(flags+p, syntax.Perl); err == nil && p != "" {
			all = append(all, breakable(tree).String())
		}
	}
	return compile("", all)
}

// breakable returns an expression with its blanks replaced by white space.
func breakable(e *syntax.Regexp) *syntax.Regexp {
	for i, sub := range e.Sub {
		e.Sub[i] = breakable(sub)
	}
	if e.Op != syntax.OpLiteral || !slices.Contains(e.Rune, ' ') {
		return e
	}
	parts := &syntax.Regexp{Op: syntax.OpConcat, Flags: e.Flags}
	for i, word := range strings.Split(string(e.Rune), " ") {
		if i > 0 {
			parts.Sub = append(parts.Sub, &syntax.Regexp{Op: syntax.OpPlus, Flags: e.Flags,
				Sub: []*syntax.Regexp{{Op: syntax.OpCharClass, Flags: e.Flags, Rune: []rune{'\t', '\n', ' ', ' ', 0xa0, 0xa0}}}})
		}
		if word != "" {
			parts.Sub = append(parts.Sub, &syntax.Regexp{Op: syntax.OpLiteral, Flags: e.Flags, Rune: []rune(word)})
		}
	}
	return parts
}

// How expressions are read: ^ and $ are at lines. What the manifest says is
// case-insensitive. Ours are not, because that is slow: they are looked for as a
// program prints them, and phrases in the screen made lower-case. Most begin with
// a few plain letters, which is fast.
const (
	exact = "(?m)"
	fold  = "(?im)"
)

// compile compiles expressions and skips invalid ones.
func compile(flags string, lists ...[]string) patterns {
	var all patterns
	for _, list := range lists {
		for _, p := range list {
			if re, err := regexp.Compile(flags + p); err == nil && p != "" {
				all = append(all, re)
			}
		}
	}
	return all
}

func (p patterns) match(s string) bool {
	for _, re := range p {
		if re.MatchString(s) {
			return true
		}
	}
	return false
}

// firstRow returns the line in which the first match begins, or -1.
func (p patterns) firstRow(s string) int {
	first := -1
	for _, re := range p {
		if m := re.FindStringIndex(s); m != nil && (first < 0 || m[0] < first) {
			first = m[0]
		}
	}
	return rowAt(s, first)
}

// lastRow returns the line in which the last match begins, or -1.
func (p patterns) lastRow(s string) int {
	at := -1
	for _, re := range p {
		if all := re.FindAllStringIndex(s, -1); len(all) > 0 {
			at = max(at, all[len(all)-1][0])
		}
	}
	return rowAt(s, at)
}

// line returns the line of the last match, or "".
func (p patterns) line(s string) string {
	n := p.lastRow(s)
	if n < 0 {
		return ""
	}
	return unframed(strings.Split(s, "\n")[n])
}

// rowAt returns the number of the line at an offset; -1 for -1.
func rowAt(s string, at int) int {
	if at < 0 {
		return -1
	}
	return strings.Count(s[:at], "\n")
}

// lower lowers ASCII letters, which keeps all offsets.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// lines returns the lines of a screen that are not blank, without borders.
func lines(screen string) []string {
	var kept []string
	for line := range strings.Lines(screen) {
		if line = unframed(line); line != "" {
			kept = append(kept, line)
		}
	}
	return kept
}

const frame = "│┃║▌▐╭╮╰╯─━┌┐└┘▄▀ \t\r\n\u00a0"

func unframed(line string) string { return strings.Trim(line, frame) }

// last joins the last n lines.
func last(lines []string, n int) string {
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
