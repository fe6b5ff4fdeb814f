package agent

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/agentform/agentform/session"
)

// reader says what evidence means. Its patterns are compiled once.
type reader struct {
	titles    []titleForm
	statusBar int
	oneShot   bool
	ready     patterns
	// own is what the agent's program shows, said what the manifest has, phrase
	// what all have in common.
	own, said, phrase signs
	ui, shell         patterns
}

type signs struct {
	done, limit, retrying, failed, blocked, working patterns
}

type titleForm struct {
	form     *regexp.Regexp
	activity session.Activity
}

func newReader(m marks, s session.AgentSpec) *reader {
	p := s.Patterns
	r := &reader{
		statusBar: s.StatusBarLines,
		oneShot:   s.OneShot,
		ready:     compile(fold, []string{s.Ready}),
		own: signs{
			limit: compile(exact, m.blockedAPI, m.retrying), retrying: compile(exact, m.retrying), failed: compile(exact, m.failed),
			blocked: compile(exact, m.blocked), working: compile(exact, m.working),
		},
		said: signs{
			done: compile(fold, p.Done), limit: compile(fold, p.BlockedAPI), failed: compile(fold, p.Failed),
			blocked: compile(fold, p.Blocked), working: compile(fold, p.Working),
		},
		phrase: signs{done: compile(exact, donePhrases), limit: compile(exact, limitPhrases), failed: compile(exact, failedPhrases)},
		ui:     append(compile(exact, m.ui), compile(fold, p.UI)...),
	}
	// A shell's prompt tells of an exit only where it is known what the agent's
	// own screen looks like.
	if len(r.ui) > 0 || len(p.ShellPrompt) > 0 {
		r.shell = append(compile(exact, shellPrompt), compile(fold, p.ShellPrompt)...)
	}
	for _, t := range m.titles {
		r.titles = append(r.titles, titleForm{regexp.MustCompile(t.pattern), t.activity})
	}
	return r
}

// Ready reports whether the screen shows that a prompt can be typed: the ready
// pattern is there, and neither a dialog nor work. Without a pattern there is
// nothing to wait for.
func (r *reader) Ready(screen string) bool {
	if len(r.ready) == 0 {
		return true
	}
	shown := lines(screen)
	end := last(shown, markLines)
	if r.own.blocked.match(end) || r.own.working.match(end) {
		return false
	}
	return r.ready.match(screen) || r.ready.match(last(shown, len(shown)))
}

// Read says what an agent is doing, or how it left.
func (r *reader) Read(e session.Evidence) session.Reading {
	reading := session.Reading{Activity: session.NoActivity}
	switch e.Vital {
	case session.Dead:
		reading = r.left(e)
	case session.Alive:
		reading = r.doing(e)
	}
	if all := pullRequest.FindAllString(e.Screen, -1); len(all) > 0 {
		reading.PR = all[len(all)-1]
	}
	return reading
}

// left reads a dead agent. Only a one-shot that left by itself with 0 is done:
// that an interactive one left says nothing about its work.
func (r *reader) left(e session.Evidence) session.Reading {
	x := e.Exit
	if x == nil {
		return session.Reading{Activity: session.Exited, Detail: "it is gone, and left no word"}
	}
	if x.Cause == "failed_start" {
		return session.Reading{Activity: session.Failed, Detail: "it could not be started: " + x.Detail}
	}
	how := fmt.Sprintf("exit status %d", x.Code)
	if x.Signal != "" {
		how = "ended by " + x.Signal
	}
	if x.Cause == "timeout" || x.Cause == "hangup" {
		how = x.Cause + ", " + how
	}
	activity := session.Exited
	if clean := x.Code == 0 && x.Signal == ""; e.OneShot || r.oneShot {
		switch {
		case clean && x.Cause == "self":
			activity = session.Done
		case !clean && x.Cause != "requested":
			activity = session.Failed
		}
	}
	return session.Reading{Activity: activity, Detail: how}
}

// sight is a screen, cut up as its reading needs it.
type sight struct {
	whole string
	all   []string // its lines
	shown []string // those above the status bar
	end   string   // where dialogs and composers are
}

// doing reads a live agent: by its title, which its program sets, and then by
// its screen. Each may know what the other cannot show.
func (r *reader) doing(e session.Evidence) session.Reading {
	activity := session.NoActivity
	for _, t := range r.titles {
		if t.form.MatchString(e.Title) {
			activity = t.activity
			break
		}
	}
	if e.Screen == "" { // not looked at
		return session.Reading{Activity: activity}
	}
	all := lines(e.Screen)
	s := sight{whole: e.Screen, all: all, shown: all[:max(0, len(all)-r.statusBar)], end: last(all, markLines)}
	switch activity {
	case session.NoActivity:
		return r.screen(s)
	case session.Blocked:
		return session.Reading{Activity: activity, Detail: r.question(s)}
	case session.Working:
		return r.atWork(s)
	}
	seen := r.screen(s)
	switch seen.Activity {
	case session.Done, session.BlockedAPI, session.Failed, session.Blocked:
		return seen
	}
	return session.Reading{Activity: activity}
}

// screen reads a screen by its patterns, in this order: done, blocked_api,
// failed, exited, blocked, working; and then whether the agent waits for input.
// A completion is said before an exit, and a limit explains a failure.
func (r *reader) screen(s sight) session.Reading {
	for _, look := range []struct {
		activity          session.Activity
		said, own, phrase patterns
		lines             int
	}{
		{session.Done, r.said.done, r.own.done, r.phrase.done, doneLines},
		{session.BlockedAPI, r.said.limit, r.own.limit, r.phrase.limit, limitLines},
		{session.Failed, r.said.failed, r.own.failed, r.phrase.failed, failedLines},
	} {
		line := look.said.line(s.whole)
		if line == "" {
			line = look.own.line(s.end)
		}
		if line == "" {
			near := last(s.shown, look.lines)
			line = lineAt(near, look.phrase.at(lower(near)))
		}
		if line != "" {
			return session.Reading{Activity: look.activity, Detail: line}
		}
	}
	bottom := last(s.all, 1)
	switch {
	case r.shell.match(bottom) && !r.ui.match(s.whole):
		return session.Reading{Activity: session.Exited, Detail: "a shell has the terminal: " + bottom}
	case r.said.blocked.match(s.whole) || r.own.blocked.match(s.end):
		return session.Reading{Activity: session.Blocked, Detail: r.question(s)}
	case r.said.working.match(s.whole) || r.own.working.match(s.end):
		return session.Reading{Activity: session.Working}
	case len(r.ready) == 0:
		return session.Reading{Activity: session.NoActivity}
	case len(s.all) == 0:
		return session.Reading{Activity: session.Booting}
	case r.Ready(s.whole):
		return session.Reading{Activity: session.Idle}
	}
	return session.Reading{Activity: session.NoActivity}
}

// atWork reads the screen of an agent whose title says that it works. Not every
// title knows of dialogs and limits; what the agent writes meanwhile is its work
// and no sign, unless the manifest makes it one.
func (r *reader) atWork(s sight) session.Reading {
	for _, look := range []struct {
		activity session.Activity
		said     patterns
	}{{session.Done, r.said.done}, {session.BlockedAPI, r.said.limit}, {session.Failed, r.said.failed}} {
		if line := look.said.line(s.whole); line != "" {
			return session.Reading{Activity: look.activity, Detail: line}
		}
	}
	if r.said.blocked.match(s.whole) || r.own.blocked.match(s.end) {
		return session.Reading{Activity: session.Blocked, Detail: r.question(s)}
	}
	if line := r.own.retrying.line(s.end); line != "" {
		return session.Reading{Activity: session.BlockedAPI, Detail: line}
	}
	return session.Reading{Activity: session.Working}
}

// questionLines is how many lines of a dialog are told: the question and its
// answers.
const questionLines = 6

// question is what a person is asked: from the line that matches on, or the end
// of the screen where none does.
func (r *reader) question(s sight) string {
	text := s.end
	at := r.own.blocked.at(text)
	if at < 0 {
		text = last(s.all, len(s.all))
		at = r.said.blocked.at(text)
	}
	if at < 0 {
		return last(s.all, questionLines)
	}
	asked := strings.Split(text[lineStart(text, at):], "\n")
	return strings.Join(asked[:min(len(asked), questionLines)], "\n")
}
