//go:build agents

package agenttest_test

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/session"
)

// shows is a look at a screen with a text on it.
func shows(text string) func(agenttest.Look) bool {
	return func(l agenttest.Look) bool { return strings.Contains(l.Screen, text) }
}

// matches is a look at a screen with a match of a pattern, such as a timer: looks may be
// seconds apart.
func matches(pattern string) func(agenttest.Look) bool {
	p := regexp.MustCompile(pattern)
	return func(l agenttest.Look) bool { return p.MatchString(l.Screen) }
}

// told is a look at a run whose hooks have told an event.
func told(event string) func(agenttest.Look) bool {
	return func(l agenttest.Look) bool {
		for _, s := range l.Signals {
			if strings.Contains(string(s.Data), `"hook_event_name":"`+event+`"`) {
				return true
			}
		}
		return false
	}
}

// left is a look at an agent that has left by itself, with that status.
func left(code int) func(agenttest.Look) bool {
	return func(l agenttest.Look) bool { return l.Exit != nil && l.Exit.Code == code }
}

// says is a look at session files that say what the agent does.
func says(a session.Activity) func(agenttest.Look) bool {
	return func(l agenttest.Look) bool { return l.Transcript != nil && l.Transcript.Activity == a }
}

// turned is a look at session files in which a turn has ended.
func turned(l agenttest.Look) bool { return l.Transcript != nil && l.Transcript.Turns > 0 }

func both(all ...func(agenttest.Look) bool) func(agenttest.Look) bool {
	return func(l agenttest.Look) bool {
		return !slices.ContainsFunc(all, func(seen func(agenttest.Look) bool) bool { return !seen(l) })
	}
}

var quick = map[string]string{"CLAUDE_CODE_MAX_RETRIES": "1"}

var claudeSituations = []agenttest.Situation{
	{Name: "booting", Want: session.Booting},
	{Name: "idle", Want: session.Idle, Seen: both(shows("? for shortcuts"), told("SessionStart"), says(session.Idle))},
	{Name: "working", Prompt: "look [[text I look.]] [[stall]]", Want: session.Working, Seen: both(shows("esc to interrupt"), shows("● I look."))},
	{Name: "queued", Prompt: "look [[delay 5m]]", Want: session.Working, Seen: shows("edit queued messages"),
		Steps: func(r *agenttest.Run) {
			r.Until("it works", shows("esc to interrupt"))
			r.Type("and then this", shows("edit queued messages"))
		}},
	{Name: "approval", Prompt: "look [[text I look.]] [[tool ask: rm -r build]]", Want: session.Blocked, Seen: both(shows("Do you want to proceed?"), told("PermissionRequest"))},
	{Name: "approval-edit", Prompt: `write [[tool Write {"file_path":"notes.md","content":"hello\n"}]]`, Want: session.Blocked, Seen: told("PermissionRequest")},
	{Name: "question", Prompt: `ask [[tool AskUserQuestion {"questions":[{"question":"Which color?","header":"Color","multiSelect":false,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}]]`,
		Want: session.Blocked, Seen: shows("Which color?")},
	{Name: "trust-dialog", Want: session.Blocked, Seen: shows("trust"),
		Before: func(l *agenttest.Lab) { l.Write(".claude.json", `{"hasCompletedOnboarding":true}`) }},
	{Name: "api-key-dialog", Want: session.Blocked, Seen: shows("custom API key"),
		Before: func(l *agenttest.Lab) { l.Write(".claude.json", `{"hasCompletedOnboarding":true}`) },
		Input:  func(in *session.StartInput) { in.Spec.Agent.Trust = true }},
	// Without a network its first question is whether there is one.
	{Name: "not-onboarded", Bare: true, Want: session.Exited, Seen: left(1)},
	// The cause of a retry is not shown: a limit looks like a broken server.
	{Name: "retrying", Prompt: "look [[status 429]]", Want: session.Working, Seen: shows("Retrying")},
	{Name: "failed-429", Prompt: "look [[status 429]]", Env: quick, Want: session.BlockedAPI, Seen: both(told("StopFailure"), turned)},
	{Name: "failed-401", Prompt: "look [[status 401]]", Env: quick, Want: session.Failed, Seen: both(told("StopFailure"), turned)},
	{Name: "failed-500", Prompt: "look [[status 500]]", Env: quick, Want: session.Failed, Seen: both(told("StopFailure"), turned)},
	{Name: "failed-400", Prompt: "look [[status 400]]", Env: quick, Want: session.Failed, Seen: both(told("StopFailure"), turned)},
	{Name: "turn-done", Prompt: "look [[text No problems found.]]", Want: session.Idle, Seen: both(shows("● No problems found."), told("Stop"), turned)},
	{Name: "interrupted", Prompt: "look [[text I look.]] [[stall]]", Want: session.Idle, Seen: shows("Interrupted"),
		Steps: func(r *agenttest.Run) {
			r.Until("it works", shows("● I look."))
			r.Press("Escape", shows("Interrupted"))
		}},
	{Name: "all-permitted", Want: session.Idle, Seen: shows("bypass permissions on"),
		Input: func(in *session.StartInput) { in.Spec.Agent.Permissions, in.Sandbox = "all", true }},
	{Name: "all-refused-to-root", Want: session.Exited, Seen: left(1),
		Input: func(in *session.StartInput) { in.Spec.Agent.Permissions = "all" }},
	{Name: "exited", Want: session.Exited, Seen: both(told("SessionEnd"), left(0)),
		Steps: func(r *agenttest.Run) {
			r.Until("it is idle", shows("? for shortcuts"))
			r.Type("/exit", told("SessionEnd"))
		}},
	{Name: "printed", Prompt: "go [[text Done with it.]]", Want: session.Done, Seen: turned,
		Input: func(in *session.StartInput) { in.Spec.Args, in.Spec.Agent.OneShot = []string{"--print"}, true }},
}
