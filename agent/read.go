package agent

import (
	"fmt"
	"regexp"
	"time"

	"github.com/agentform/agentform/session"
)

// reader says what evidence means. Its patterns are compiled once.
type reader struct {
	titles    []titleForm
	signal    func(data []byte) (session.Reading, bool) // kind.signal
	trust     []string                                  // kind.trust
	boots     time.Duration                             // how long it may take to be ready
	statusBar int
	oneShot   bool
	ready     patterns
	// own is what the agent's program shows, said what the manifest has, phrase
	// what all have in common.
	own, said, phrase signs
	ui, shell         patterns
	started           patterns
	turn              *regexp.Regexp // a prompt of the user's; nil: not known
	composing         composing
	dialog            patterns // of any program
}

type signs struct {
	done, limit, retrying, failed, blocked, working, ended patterns
}

type titleForm struct {
	form     *regexp.Regexp
	activity session.Activity
}

func newReader(k kind, s session.AgentSpec) *reader {
	m, p := k.marks, s.Patterns
	r := &reader{
		signal: k.signal, trust: k.trust, boots: s.ReadyTimeout.D(),
		statusBar: s.StatusBarLines,
		oneShot:   s.OneShot,
		ready:     compile(fold, []string{s.Ready}),
		own: signs{
			limit: wrapping(exact, m.blockedAPI), retrying: wrapping(exact, m.retrying), failed: wrapping(exact, m.failed),
			blocked: wrapping(exact, m.blocked), working: compile(exact, m.working), ended: compile(exact, m.ended),
		},
		said: signs{
			done: wrapping(fold, p.Done), limit: wrapping(fold, p.BlockedAPI), failed: wrapping(fold, p.Failed),
			blocked: wrapping(fold, p.Blocked), working: compile(fold, p.Working),
		},
		phrase:  signs{done: wrapping(exact, donePhrases), limit: wrapping(exact, limitPhrases), failed: wrapping(exact, failedPhrases)},
		ui:      append(compile(exact, m.ui), compile(fold, p.UI)...),
		dialog:  compile(fold, dialogs),
		started: compile(exact, m.started),
		turn:    line(m.turn), composing: composingOf(m),
	}
	// A shell's prompt tells of an exit only where it is known what the agent's
	// own screen looks like.
	if len(r.ui) > 0 || len(p.ShellPrompt) > 0 {
		r.shell = append(compile(exact, shellPrompt), compile(fold, p.ShellPrompt)...)
	}
	if len(r.trust) == 0 {
		r.trust = []string{FromNative, FromHook, FromTitle}
	}
	for _, t := range m.titles {
		r.titles = append(r.titles, titleForm{regexp.MustCompile(t.pattern), t.activity})
	}
	return r
}

// line is the expression of a line; nil for none.
func line(pattern string) *regexp.Regexp {
	if pattern == "" {
		return nil
	}
	return regexp.MustCompile(pattern)
}

// Ready reports whether the screen shows that a prompt can be typed: the ready
// pattern is there, what shows that the agent has started, and neither a dialog
// nor work. Without a pattern there is
// nothing to wait for.
func (r *reader) Ready(screen string) bool {
	if len(r.ready) == 0 {
		return true
	}
	shown := lines(screen)
	end := last(shown, markLines)
	if r.dialogUp(r.look(screen, nil)) || r.own.working.match(end) {
		return false
	}
	return r.begun(shown) && (r.ready.match(screen) || r.ready.match(last(shown, len(shown))))
}

// begun reports whether the lines of a screen show that the agent has started.
func (r *reader) begun(shown []string) bool {
	return len(r.started) == 0 || r.started.match(last(shown, len(shown)))
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
	if reading.Activity == session.BlockedAPI && reading.Until.IsZero() && !e.Now.IsZero() {
		// What is told is one line; the end of the sentence may be on the next.
		reading.Until = limitEnd(reading.Detail+"\n"+r.look(e.Screen, e.Typed).turn, e.Now)
	}
	reading.PR = lastPullRequest(e.Screen)
	if reading.PR == "" && e.Native != nil {
		reading.PR = lastPullRequest(e.Native.LastMessage)
	}
	return reading
}

func lastPullRequest(text string) string {
	all := pullRequest.FindAllString(text, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// left reads a dead agent. Only a one-shot that left by itself with 0 is done:
// that an interactive one left says nothing about its work.
func (r *reader) left(e session.Evidence) session.Reading {
	x := e.Exit
	if x == nil {
		return session.Reading{Activity: session.Exited, Detail: "it is gone, and left no word", Source: FromExit}
	}
	if x.Cause == "failed_start" {
		return session.Reading{Activity: session.Failed, Detail: "it could not be started: " + x.Detail, Source: FromExit}
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
	return session.Reading{Activity: activity, Detail: how, Source: FromExit}
}
