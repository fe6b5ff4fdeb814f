package agent

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// marks are an agent's own signs. Only its program shows them, so they outweigh phrases.
type marks struct {
	titles                               []title
	blocked, blockedAPI, failed, working []string
	retrying                             []string // a limit that it retries by itself
	ui                                   []string // the agent's program has the screen
	ended                                []string // the last line of a turn
	// reconnecting and disconnected are shown right above the composer by an agent that has lost
	// its own server: it is reconnecting, or has given up.
	reconnecting, disconnected []string
	// composer is a line of the composer, with its text as a group, and hint is the text of an
	// empty composer. Empty: not known.
	composer, hint string
	// started is shown above the composer once the agent accepts input; empty: the composer is
	// enough.
	started []string
	// turn is the start of a user's message: lines above the last one belong to earlier turns.
	// Empty: not known.
	turn string
	// sent is the time of sending at the end of the message's first row. Empty: there is none.
	sent string
	// chosen is shown behind the label of a given answer until the dialog closes.
	chosen string
	// question returns the question of a dialog in one line, or the lines that contain it; nil: all
	// lines do.
	question func(body []drawn) (text string, asks []drawn)
	// inLine are dialogs whose answers are in one line, without numbers.
	inLine []inLine
}

// inLine is a line of answers and the keys that choose each. Its cursor is not text.
type inLine struct {
	labels, keys []string
}

// title is a pattern of the terminal's title and its meaning.
type title struct {
	pattern  string
	activity session.Activity
}

// The phrases that agents and scripts print themselves. An agent's work may contain them too, so
// they count only near the end of the screen.
var (
	donePhrases   = []string{`task completed successfully`, `all tasks completed`, `session ended`, `goodbye`}
	limitPhrases  = []string{`you['’]ve (hit|reached) your ([\w'’-]+ ){0,3}limit`, `rate limit exceeded`, `rate limit reached`, `cost limit reached`, `usage limit reached`, `quota exceeded`, `insufficient quota`, `resource exhausted`}
	failedPhrases = []string{`fatal error`, `unrecoverable error`, `agent crashed`, `authentication failed`}
	// dialogs are signs that any program waits for an answer: one of several answers marked, or
	// keys named.
	dialogs = []string{
		`^[❯›●▶▸>] ?\d+[.)](?: |\pL)`,
		`[\[(]y(es)?/no?[\])]`,
		`(press|hit) (enter|return|any key) to (continue|confirm|proceed)`,
		`enter to (confirm|select|continue)`,
	}
	// shellPrompt is a shell's last line: $, % or ❯, alone or after anything but a number, which
	// would be a percentage.
	shellPrompt = []string{`^(.*[^\d\s])?\s*[$%❯]\s*$`}
)

// How many of the last non-blank lines, without the status bar, are searched for each kind of
// phrase. An agent's dialog fits into markLines.
const (
	footerLines = 4 // below a composer, at most
	doneLines   = 5
	failedLines = 10
	limitLines  = 30
	markLines   = 16
	// resumedLines exceeds the number of lines that an agent shows above its composer before it
	// accepts input.
	resumedLines = 10
)

// pullRequest is the address of a pull or merge request.
var pullRequest = regexp.MustCompile(`https?://[\w.:-]+(?:/[\w.~-]+)+?/(?:pull|-/merge_requests|pull-requests|pulls)/\d+`)

// patterns are regular expressions, one of which has to match.
type patterns []*regexp.Regexp

// wrapping compiles expressions whose blanks also match line ends, since programs wrap lines.
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

// Flags of expressions. ^ and $ match at lines. A manifest's expressions ignore case. agentform's
// own do not, for speed: marks match as programs print them, and phrases the screen in lower case.
// Most start with a few literal letters, which is fast.
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

// firstRow returns the line in which the first match starts, or -1.
func (p patterns) firstRow(s string) int {
	first := -1
	for _, re := range p {
		if m := re.FindStringIndex(s); m != nil && (first < 0 || m[0] < first) {
			first = m[0]
		}
	}
	return rowAt(s, first)
}

// lastRow returns the line in which the last match starts, or -1.
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

// lower converts ASCII letters to lower case, which keeps all offsets.
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
