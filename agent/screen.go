package agent

import (
	"slices"
	"strings"

	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// screenPatterns are the patterns of an agent's screen, compiled.
type screenPatterns struct {
	layout
	// own are the signs of the agent's program, manifest those of the manifest, phrase those common
	// to all agents.
	own, manifest, phrase             signs
	ui, shell, started, genericDialog patterns
	inLine                            []inLine
	asksIn                            func(body []drawn) (text string, asks []drawn) // marks.question
	chosen                            string
}

type signs struct {
	done, limit, retrying, failed, blocked, working, ended patterns
	reconnecting, disconnected                             patterns
}

func newScreenPatterns(m marks, s session.AgentSpec) screenPatterns {
	p := s.Patterns
	r := screenPatterns{
		layout: newLayout(m, s),
		own: signs{
			limit: wrapping(exact, m.blockedAPI), retrying: wrapping(exact, m.retrying), failed: wrapping(exact, m.failed),
			blocked: wrapping(exact, m.blocked), working: compile(exact, m.working), ended: compile(exact, m.ended),
			reconnecting: wrapping(exact, m.reconnecting), disconnected: wrapping(exact, m.disconnected),
		},
		manifest: signs{
			done: wrapping(fold, p.Done), limit: wrapping(fold, p.BlockedAPI), failed: wrapping(fold, p.Failed),
			blocked: wrapping(fold, p.Blocked), working: compile(fold, p.Working),
		},
		phrase:        signs{done: wrapping(exact, donePhrases), limit: wrapping(exact, limitPhrases), failed: wrapping(exact, failedPhrases)},
		ui:            append(compile(exact, m.ui), compile(fold, p.UI)...),
		genericDialog: compile(fold, dialogs),
		started:       compile(exact, m.started),
		inLine:        m.inLine, asksIn: m.question, chosen: m.chosen,
	}
	// A shell's prompt shows an exit only if the agent's own screen is known.
	if len(r.ui) > 0 || len(p.ShellPrompt) > 0 {
		r.shell = append(compile(exact, shellPrompt), compile(fold, p.ShellPrompt)...)
	}
	return r
}

// Ready reports whether the screen shows that a prompt can be typed: the ready pattern matches, the
// agent has started, and it neither asks nor works. Without a pattern, Ready returns true.
func (p screenPatterns) Ready(text string) bool {
	if len(p.ready) == 0 {
		return true
	}
	s := p.parse(text, nil, "")
	if p.ownDialog(s) || p.own.working.match(s.end) {
		return false
	}
	return p.hasStarted(s) && (p.showsReady(text) || p.showsReady(last(s.all, len(s.all))))
}

// showsReady reports whether a row of a text matches the ready pattern, which may include the blank
// at its end that rows lack.
func (p screenPatterns) showsReady(text string) bool {
	return p.ready.match(text) || p.ready.match(strings.ReplaceAll(text, "\n", " \n")+" ")
}

// hasStarted reports whether the screen shows what appears only once the agent accepts input: its
// name, or enough of a resumed conversation to have scrolled the name away.
func (p screenPatterns) hasStarted(s screen) bool {
	return len(p.started) == 0 || s.composer > resumedLines || p.started.match(last(s.all, len(s.all)))
}

// detect reads a screen by its patterns in this order: done, blocked_api, failed, exited, blocked,
// working. Then it checks whether the agent waits for input.
func (p screenPatterns) detect(s screen, e session.Evidence) session.Detection {
	if !e.Replayed {
		if seen := p.verdictOfManifest(s); seen.Activity != "" {
			return seen
		}
		if seen := p.connection(s); seen.Activity != "" {
			return seen
		}
		if seen := p.verdict(s, e); seen.Activity != "" {
			return seen
		}
	}
	bottom := last(s.all, 1)
	switch {
	case p.shell.match(bottom) && !p.ui.match(s.whole):
		return session.Detection{Activity: session.Exited, Detail: "a shell has the terminal: " + bottom}
	case p.asks(s):
		return session.Detection{Activity: session.Blocked, Detail: p.asking(s)}
	case p.manifest.working.match(s.whole) || p.own.working.match(s.end):
		return session.Detection{Activity: session.Working}
	case len(p.ready) == 0:
	case len(s.all) == 0:
		return session.Detection{Activity: session.Booting}
	case p.Ready(s.whole):
		return session.Detection{Activity: session.Idle}
	}
	return session.Detection{Activity: session.NoActivity}
}

// connection returns the activity of an agent that has lost its own server, else zero. Its other
// signals date from the loss: Codex 0.169.0 keeps a spinner in its title and an open turn in its
// session file as long as it runs.
func (p screenPatterns) connection(s screen) session.Detection {
	above := last(s.all[:max(0, s.composer-1)], connectionLines)
	if line := p.own.disconnected.line(above); line != "" {
		return session.Detection{Activity: session.Failed, Detail: line}
	}
	if line := p.own.reconnecting.line(above); line != "" {
		return session.Detection{Activity: session.Working, Detail: line}
	}
	return session.Detection{}
}

// connectionLines is the height of such a message on a narrow terminal, with a tip below it.
const connectionLines = 3

// verdictOfManifest returns the end, limit or failure that the manifest's patterns find in the
// current turn.
func (p screenPatterns) verdictOfManifest(s screen) session.Detection {
	text := last(s.now, len(s.now))
	for _, sign := range []struct {
		activity session.Activity
		patterns patterns
	}{{session.Done, p.manifest.done}, {session.BlockedAPI, p.manifest.limit}, {session.Failed, p.manifest.failed}} {
		if line := sign.patterns.line(text); line != "" {
			return session.Detection{Activity: sign.activity, Detail: line}
		}
	}
	return session.Detection{}
}

// verdict returns the end, limit or failure of the current turn by the agent's own marks and the
// common phrases: the lowest on the screen. On the same line, a limit outweighs a failure. Above a
// sign of work only a retried limit counts.
func (p screenPatterns) verdict(s screen, e session.Evidence) session.Detection {
	if line := p.own.retrying.line(s.turn); line != "" {
		return session.Detection{Activity: session.BlockedAPI, Detail: line}
	}
	var found session.Activity
	row := -1
	find := func(a session.Activity, of patterns, n, to int, clean func(string) string) {
		from := min(to, max(len(s.all)-len(s.now), to-n))
		if at := of.lastRow(clean(strings.Join(s.all[from:to], "\n"))); at >= 0 && from+at >= row {
			found, row = a, from+at
		}
	}
	phrase := func(a session.Activity, of patterns, n int) {
		if resting(e) {
			find(a, of, n, len(s.shown), lower)
		}
	}
	phrase(session.Done, p.phrase.done, doneLines)
	phrase(session.Failed, p.phrase.failed, failedLines)
	find(session.Failed, p.own.failed, markLines, len(s.all), strings.Clone)
	phrase(session.BlockedAPI, p.phrase.limit, limitLines)
	find(session.BlockedAPI, p.own.limit, markLines, len(s.all), strings.Clone)
	if row < 0 {
		return session.Detection{}
	}
	if below := last(s.all, len(s.all)-row-1); p.manifest.working.match(below) || p.own.working.match(below) {
		return session.Detection{}
	}
	return session.Detection{Activity: found, Detail: s.all[row]}
}

// resting reports whether a phrase can be a verdict: what an agent prints while it works is part of
// its work. Without the time of the last output every phrase counts.
func resting(e session.Evidence) bool {
	return e.MovedAt.IsZero() || e.Now.IsZero() || e.Now.Sub(e.MovedAt) >= turn.Quiet
}

// asks reports whether a known dialog is shown.
func (p screenPatterns) asks(s screen) bool {
	if p.manifest.blocked.match(s.whole) {
		at, framed := p.unanswered(s), !p.manifest.blocked.match(last(s.all, len(s.all)))
		if at >= 0 || framed {
			return true
		}
	}
	return p.ownDialog(s)
}

// unanswered returns the first row of the question that the manifest's patterns find, or -1. One
// prompt below it may be the place of the answer. More prompts mean that the first was answered.
func (p screenPatterns) unanswered(s screen) int {
	prompts := p.prompts(s.all)
	for from := 0; ; from++ {
		at := p.manifest.blocked.firstRow(strings.Join(s.all[from:], "\n"))
		if at < 0 {
			return -1
		}
		from += at
		for len(prompts) > 0 && prompts[0] <= from {
			prompts = prompts[1:]
		}
		if len(prompts) <= 1 && !replied(s.all[from:]) {
			return from
		}
	}
}

// prompts returns the rows in which the agent is or was ready: those like the last one, also with a
// text behind it.
func (p screenPatterns) prompts(all []string) (rows []int) {
	is := func(line string) bool {
		return p.looksReady(line) && !option.MatchString(line) && !p.manifest.blocked.match(line)
	}
	mark := ""
	for _, line := range slices.Backward(all) {
		if is(line) {
			mark = strings.TrimSpace(line)
			break
		}
	}
	for i, line := range all {
		if is(line) || mark != "" && strings.HasPrefix(strings.TrimSpace(line), mark) {
			rows = append(rows, i)
		}
	}
	return rows
}

// keyLines is how many lines of a question may contain the keys of its answers.
const keyLines = 3

// replied reports whether one of a question's keys was typed behind the question, or on the line
// below, and something was printed since. The first line is the question's.
func replied(lines []string) bool {
	at := slices.IndexFunc(lines[:min(len(lines), keyLines)], func(line string) bool { return keyed(line) != nil })
	if at < 0 {
		return false
	}
	typed, below := "", lines[at+1:]
	if m := choice().FindStringSubmatch(lines[at]); m != nil {
		typed = m[3]
	}
	if typed == "" && len(below) > 0 {
		typed, below = below[0], below[1:]
	}
	return len(below) > 0 && slices.ContainsFunc(keyed(lines[at]), func(o session.Option) bool {
		return strings.EqualFold(o.Key, typed) || strings.EqualFold(o.Label, typed)
	})
}

// ownDialog reports whether one of the agent's own dialogs is shown. A dialog replaces the
// composer: a question above a composer is the agent's output.
func (p screenPatterns) ownDialog(s screen) bool {
	if p.composer.line == nil && p.composerShown(s) {
		return false
	}
	at := p.own.blocked.lastRow(s.end)
	return at >= 0 && max(0, len(s.all)-markLines)+at >= s.composer
}

// unknownDialog reports whether a choice of answers is shown in place of the composer.
func (p screenPatterns) unknownDialog(s screen) bool {
	return len(p.own.blocked) > 0 && len(p.ready) > 0 && p.genericDialog.match(s.end) && !p.composerShown(s) && !p.own.working.match(s.end)
}

// composerShown reports whether the screen shows the composer. Its frame and the blanks in that may
// be part of the pattern, or not.
func (p screenPatterns) composerShown(s screen) bool {
	return s.composer > 0 || p.showsReady(s.whole) || p.showsReady(s.end)
}

// drafted reports whether the composer contains text that was not submitted.
func (p screenPatterns) drafted(s screen) bool {
	return s.composer > 0 && p.composer.line != nil && p.hasStarted(s) && !p.genericDialog.match(s.end) &&
		p.composer.text(s.all[s.composer-1]) != ""
}

// questionLines is how many lines of an unknown question are reported.
const questionLines = 6

// asking returns the question to the user: from the matching line on, with all answers, or else the
// end of the screen.
func (p screenPatterns) asking(s screen) string {
	from := max(0, len(s.all)-markLines)
	if at := p.own.blocked.firstRow(s.end); at >= 0 {
		return strings.Join(s.all[from+at:], "\n")
	}
	if at := p.unanswered(s); at >= 0 {
		return strings.Join(s.all[at:min(len(s.all), at+markLines)], "\n")
	}
	if at := firstOption(s.all); at >= 0 { // with the question above it
		return strings.Join(s.all[max(from, at-questionLines, min(at, len(s.all)-len(s.now))):], "\n")
	}
	return last(s.all, questionLines)
}

// withAnswers returns another signal's question with the answers on the screen.
func (p screenPatterns) withAnswers(question string, s screen) string {
	if question == "" {
		return p.asking(s)
	}
	if at := firstOption(s.all); at >= 0 && (p.ownDialog(s) || p.unknownDialog(s)) {
		return question + "\n" + strings.Join(s.all[at:], "\n")
	}
	return question
}

// firstOption returns the row of the first answer in a dialog at the end of a screen, or -1.
func firstOption(all []string) int {
	from := max(0, len(all)-markLines)
	if at := slices.IndexFunc(all[from:], option.MatchString); at >= 0 {
		return from + at
	}
	return -1
}
