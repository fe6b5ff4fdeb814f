package notify

import (
	"cmp"
	"net/url"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/agentform/agentform/internal/plaintext"
)

// message is an event in words, for people.
type message struct {
	title  string // one line: who, what and where
	text   string // what the agent, or its provider, says; may be empty
	notes  string // agentform's lines: the branch, and the command to continue with; may be empty
	link   string // an https address, or empty
	urgent bool   // someone has to act
}

// The lengths of a message around its text, in characters. With them and twice as many backslashes
// a text fits into any service's message.
const (
	maxTitle = 160
	maxNotes = 300
	maxLink  = 400
)

// Test is the name of the event that tries a target.
const Test = "test"

// Report is the name of the event that has a daily report: New is its time of day, Detail its
// text.
const Report = "report"

// happened describes an event of a session.
var happened = map[string]string{
	"escalated":       "needs you",
	"blocked":         "asks",
	"blocked_api":     "is at its provider's limit",
	"failed":          "failed",
	"done":            "is done",
	"exited":          "exited",
	"stale":           "exited",
	"turn_ended":      "finished its turn",
	"unhealthy":       "is unhealthy",
	"branch_mismatch": "is on another branch",
	"budget_warned":   "has used most of a budget",
	"budget_exceeded": "has used up a budget",
	"pr_detected":     "opened a pull request",
	"verified":        "is verified",

	"verification_failed": "fails verification",
	Report:                "reports",
	Test:                  "can notify you",
}

func describe(e Event) message {
	name := cmp.Or(strings.TrimPrefix(e.Address, "session."), "agentform")
	m := message{
		title:  fit(plaintext.OneLine(name+" "+cmp.Or(happened[e.Event], e.Event)+" ("+e.Project+")"), maxTitle, oneRune),
		urgent: e.Event == "blocked" || e.Event == "escalated" || e.Event == "failed" || e.Event == "budget_exceeded" || e.Event == "branch_mismatch",
	}
	text := e.Detail
	switch {
	case e.Event == "pr_detected" && isLink(e.New):
		m.link = e.New
	case e.Event == "pr_detected":
		text = e.New
	case text == "" && e.Event == "branch_mismatch":
		text = e.Old + " → " + e.New
	case text == "" && e.Reason != e.Event: // an exit that is stale has it as its reason
		text = strings.ReplaceAll(e.Reason, "_", " ")
	}
	m.text = strings.TrimSpace(plaintext.Safe(text))
	var notes []string
	if e.Branch != "" {
		notes = append(notes, "Branch: "+e.Branch)
	}
	if e.Remedy != "" {
		notes = append(notes, e.Remedy)
	}
	m.notes = fit(plaintext.Safe(strings.Join(notes, "\n")), maxNotes, oneRune)
	return m
}

// isLink reports whether a text, which an agent printed, is the address of a page.
func isLink(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && u.Host != "" && len(s) <= maxLink &&
		!strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= utf8.RuneSelf || strings.ContainsRune("<>\"`|\\", r) })
}

// lines returns the parts of a message that are not empty, each on lines of its own.
func lines(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n")
}

// fit returns the start of a text whose characters cost at most limit in all, with an
// ellipsis if it is not all of the text.
func fit(text string, limit int, cost func(rune) int) string {
	const ellipsis = "…"
	spent, short := 0, 0 // short is where the ellipsis still fits
	for i, r := range text {
		if spent+cost('…') <= limit {
			short = i
		}
		if spent += cost(r); spent > limit {
			if short == 0 {
				return ""
			}
			return text[:short] + ellipsis
		}
	}
	return text
}

// The lengths of a character in what services count.
func oneRune(rune) int      { return 1 }
func inBytes(r rune) int    { return utf8.RuneLen(r) }
func inUTF16(r rune) int    { return utf16.RuneLen(r) }
func utf16Len(s string) int { return len(utf16.Encode([]rune(s))) }
