package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// startedLines is how many sessions of a kind get their own line.
const startedLines = 5

// startedKind is an outcome of started sessions.
type startedKind struct {
	verbs   [2]string // singular, plural
	ink     ink
	is      func(api.Session) bool
	says    func(api.Session, time.Time) string // text after the name
	command func(api.Session) string
}

// startedKinds are in order of urgency. A session belongs to the first one that applies.
var startedKinds = []startedKind{
	{[2]string{"waits for you", "wait for you"}, yellow,
		func(x api.Session) bool { return needs(x) == "blocked" },
		asksWhat, answerWith},
	{[2]string{"is done", "are done"}, green,
		func(x api.Session) bool { return x.Activity == session.Done }, nil,
		func(x api.Session) string { return commandFor("logs", x) }},
	{[2]string{"needs help", "need help"}, red,
		func(x api.Session) bool { return !slices.Contains([]string{"", "blocked_api", "turn_ended"}, needs(x)) },
		func(x api.Session, now time.Time) string { return startedColon(why(x, now)) },
		func(x api.Session) string { return commandFor("logs", x) }},
	{[2]string{"waits for its provider", "wait for their provider"}, yellow,
		func(x api.Session) bool { return needs(x) == "blocked_api" },
		func(x api.Session, now time.Time) string { return startedColon(why(x, now)) },
		func(x api.Session) string { return commandFor("show", x) }},
	{[2]string{"is still starting", "are still starting"}, noInk,
		func(x api.Session) bool { return x.State == session.StateStarting }, nil,
		func(x api.Session) string { return commandFor("wait", x) + " --for=ready" }},
	{[2]string{"has finished its turn", "have finished their turn"}, green,
		func(x api.Session) bool { return needs(x) == "turn_ended" }, nil,
		func(x api.Session) string { return commandFor("logs", x) }},
	{[2]string{"works", "work"}, noInk,
		func(x api.Session) bool { return x.Activity == session.Working }, nil,
		func(x api.Session) string { return commandFor("attach", x) }},
	{[2]string{"runs", "run"}, noInk,
		func(x api.Session) bool { return x.State == session.StateRunning }, nil,
		func(x api.Session) string { return commandFor("attach", x) }},
}

// trustQuestions are parts of the built-in agents' questions in a new directory.
var trustQuestions = []string{"one you trust?", "trust this folder?", "trust the folder", "do you trust the files"}

func asksWhat(x api.Session, _ time.Time) string {
	detail := strings.ToLower(x.Detail)
	if slices.ContainsFunc(trustQuestions, func(q string) bool { return strings.Contains(detail, q) }) {
		return " asks whether to trust the folder"
	}
	if x.Question != nil { // cut answers could be a yes without its no
		return " asks: " + cutLine(x.Question.Text)
	}
	return " asks: " + cutLine(x.Detail)
}

// needs returns why a session needs attention, or "".
func needs(x api.Session) string {
	if x.Needs == nil {
		return ""
	}
	return x.Needs.Reason
}

// Started writes the outcomes of newly started sessions, and the command for each that needs
// attention.
func Started(w io.Writer, s Style, sessions []api.Session, now time.Time) error {
	p := &page{Style: s}
	rest := slices.Clone(sessions)
	for _, k := range startedKinds {
		var of []api.Session
		rest = slices.DeleteFunc(rest, func(x api.Session) bool {
			if k.is(x) {
				of = append(of, x)
				return true
			}
			return false
		})
		writeStarted(p, k, of, now)
	}
	return p.flush(w)
}

func writeStarted(p *page, k startedKind, of []api.Session, now time.Time) {
	line := func(x api.Session) string {
		text := p.paint(bold, x.Name)
		if k.says != nil {
			text += p.paint(noInk, k.says(x, now))
		}
		return text + " " + unbroken("→ "+p.paint(noInk, k.command(x)))
	}
	switch head := p.paint(k.ink, startedHead(k, len(of))); {
	case len(of) == 1:
		p.prose(2, head, ": ", line(of[0]))
	case len(of) > 1 && k.says == nil: // nothing to add for each
		var names []string
		for _, x := range of[:min(len(of), startedLines)] {
			names = append(names, x.Name)
		}
		if n := len(of) - startedLines; n > 0 {
			names = append(names, fmt.Sprintf("%d more", n))
		}
		p.prose(2, head, ": ", p.paint(noInk, plaintext.OneLine(plaintext.List(names, "and"))), " ", unbroken("→ agentform status"))
	case len(of) > 1:
		p.line(head, ":")
		for _, x := range of[:min(len(of), startedLines)] {
			p.prose(4, "  ", line(x))
		}
		if n := len(of) - startedLines; n > 0 {
			p.line("  ", p.paint(dim, fmt.Sprintf("and %d more", n)), " → agentform status")
		}
	}
}

func startedHead(k startedKind, n int) string {
	verb := k.verbs[1]
	if n == 1 {
		verb = k.verbs[0]
	}
	return plaintext.Count(n, "session") + " " + verb
}

func startedColon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + cutLine(text)
}

func commandFor(verb string, x api.Session) string {
	return "agentform " + verb + " " + plaintext.ShellWord(x.Name)
}

// answerWith returns the command that answers a session's question.
func answerWith(x api.Session) string {
	if x.Question != nil && slices.Contains(x.Question.Names(), session.Yes) {
		return commandFor("answer", x) + " yes"
	}
	return cmp.Or(howToAnswer(x), commandFor("attach", x))
}

// cutLine returns a text as one line of at most 60 characters.
func cutLine(text string) string {
	r := []rune(strings.TrimSpace(plaintext.OneLine(text)))
	if len(r) > 60 {
		return string(r[:59]) + "…"
	}
	return string(r)
}
