package agent

import (
	"regexp"
	"strings"

	"github.com/agentform/agentform/session"
)

// marks are an agent's own signs: what only its program shows, so that they
// count for more than phrases.
type marks struct {
	titles                               []title
	blocked, blockedAPI, failed, working []string
	retrying                             []string // a limit, while it works
	ui                                   []string // its program has the screen
	// composer is a line of the composer, its group what stands in it, and hint what
	// stands there when nothing was typed. Empty: not known.
	composer, hint string
	// started is what stands above the composer once it takes input; empty: the
	// composer is enough.
	started []string
	// turn begins the user's last message: what is above it is of earlier turns.
	// Empty: not known.
	turn string
}

// title is a form of the terminal's title and what it means.
type title struct {
	pattern  string
	activity session.Activity
}

// The phrases that agents and scripts print of their own accord. Whatever an
// agent works on may contain them, so they count only near the end of the
// screen.
var (
	donePhrases   = []string{`task completed successfully`, `all tasks completed`, `session ended`, `goodbye`}
	limitPhrases  = []string{`rate limit exceeded`, `rate limit reached`, `cost limit reached`, `usage limit reached`, `quota exceeded`, `insufficient quota`, `resource exhausted`}
	failedPhrases = []string{`fatal error`, `unrecoverable error`, `agent crashed`, `authentication failed`}
	// dialogs are what programs show that want an answer, whatever they ask: one
	// of several answers marked, or a word for keys.
	dialogs = []string{
		`^[❯›●▶▸>] ?\d+[.)] `,
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
	doneLines   = 5
	failedLines = 10
	limitLines  = 30
	markLines   = 16
)

// pullRequest is the address of a pull or merge request.
var pullRequest = regexp.MustCompile(`https?://[\w.:-]+(?:/[\w.~-]+)+?/(?:pull|-/merge_requests|pull-requests|pulls)/\d+`)

// patterns are regular expressions of which one has to match.
type patterns []*regexp.Regexp

// How expressions are read: ^ and $ are at lines. What the manifest says is
// case-insensitive. Ours are not, because that is slow: they are looked for as a
// program prints them, and phrases in the screen made lower-case. Most begin with
// a few plain letters, which is fast.
const (
	exact = "(?m)"
	fold  = "(?im)"
)

// compile reads expressions. What is no regular expression is left out.
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

// at is where the first match begins; -1 without one.
func (p patterns) at(s string) int {
	first := -1
	for _, re := range p {
		if m := re.FindStringIndex(s); m != nil && (first < 0 || m[0] < first) {
			first = m[0]
		}
	}
	return first
}

// line is the line of the first match; empty without one.
func (p patterns) line(s string) string { return lineAt(s, p.at(s)) }

// lineAt is the line around a place in a text; empty for -1.
func lineAt(s string, at int) string {
	if at < 0 {
		return ""
	}
	line, _, _ := strings.Cut(s[lineStart(s, at):], "\n")
	return unframed(line)
}

func lineStart(s string, at int) int { return strings.LastIndexByte(s[:at], '\n') + 1 }

// lower makes ASCII letters small, and so leaves everything in its place.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// lines are the lines of a screen that are not blank, without the borders that
// dialogs and composers are framed with.
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

// last is the last n of some lines, as one text.
func last(lines []string, n int) string {
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
