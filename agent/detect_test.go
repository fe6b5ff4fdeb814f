package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The screens consist of what the real programs have shown.
const (
	claudeIdle = `✻ Cooked for 3s

────────────────────────
❯ 
────────────────────────
  ? for shortcuts
`
	claudeWorking = `❯ fix the tests

✻ Pondering… (12s · esc to interrupt)

────────────────────────
❯ 
────────────────────────
  esc to interrupt
`
	claudeApproval = `● Bash(rm -r build)

╭──────────────────────────────╮
│ Bash command                 │
│ Do you want to proceed?      │
│ ❯ 1. Yes                     │
│   2. No                      │
╰──────────────────────────────╯
 Esc to cancel
`
	codexIdle = `  Worked for 4s • 12:01

› Ask Codex to do anything

  gpt-5 default · /work
`
	codexBooting = `› Ask Codex to do anything

  ? for shortcuts
`
	codexLost = `■ Automatic reconnect timed out while connecting to the server.
◦ Reconnect failed — check the endpoint, then relaunch (2m 56s)

` + codexIdle
	codexWorking = `• Working (3s • esc to interrupt)

› Ask Codex to do anything

  gpt-5 default · /work
`
	codexApproval = `  Would you like to run the following command?

  $ rm -r build

› 1. Yes, proceed (y)
  2. No

  Press enter to confirm or esc to cancel
`
	geminiIdle = ` ▝▜▄     Gemini CLI v0.61.0
 ▄▄▄▄▄▄▄▄▄▄▄▄
 >   Type your message or @path/to/file
 ▀▀▀▀▀▀▀▀▀▀▀▀
 ~/work   no sandbox   auto
`
	geminiWorking = ` ⠏ Thinking... (esc to cancel, 1m 3s)
 *   Type your message or @path/to/file
 ~/work   YOLO Ctrl+Y
`
	geminiApproval = ` │ Allow execution of: 'rm'?        │
 │ ● 1. Allow once                   │
 │   3. No, suggest changes (esc)    │
`
)

// The session file of a Codex whose daemon was killed during a turn has no end of that turn.
func TestLostServerInATurn(t *testing.T) {
	for screen, want := range map[string]session.Activity{
		"• Gone on.\n\n◦ Reconnecting to server… (4s)\n  └ Tip: Run /review\n\n" + codexIdle: session.Working,
		"• Gone on.\n\n" + codexLost: session.Failed,
		"• Gone on.\n\n• Reconnect failed — check the\n  endpoint, then relaunch (5m 00s)\n\n" + codexIdle: session.Failed,
	} {
		d := For(builtin("codex")).Detect(session.Evidence{Liveness: session.Alive, Title: "⠋ two", Screen: screen, Now: noon,
			Transcript: &session.Transcript{At: noon, Activity: session.Working}})
		if d.Activity != want || d.Source != FromScreen {
			t.Errorf("%s\n%+v, want %s by the screen", screen, d, want)
		}
	}
}

func TestReadALiveAgent(t *testing.T) {
	custom := session.AgentSpec{Name: "script", Command: []string{"./script"}, Patterns: session.Patterns{
		Done: []string{"finished at"}, Blocked: []string{`approve\?`}, BlockedAPI: []string{"slow down"}, Failed: []string{"^E:"}, Working: []string{"^step"},
		UI: []string{"script 1.0"},
	}}
	for name, c := range map[string]struct {
		agent         session.AgentSpec
		title, screen string
		want          session.Detection
	}{
		"claude, not looked at":   {builtin("claude"), "", "", session.Detection{Activity: session.NoActivity}},
		"claude, blank lines":     {builtin("claude"), "host", "\n\n  \n", session.Detection{Activity: session.Booting}},
		"claude, unknown screen":  {builtin("claude"), "host", "what is this\n", session.Detection{Activity: session.NoActivity}},
		"claude idle by title":    {builtin("claude"), "✳ Fix tests", "", session.Detection{Activity: session.Idle}},
		"claude works by title":   {builtin("claude"), "⠐ Fix tests", "", session.Detection{Activity: session.Working}},
		"claude idle by screen":   {builtin("claude"), "", claudeIdle, session.Detection{Activity: session.Idle}},
		"claude works by screen":  {builtin("claude"), "", claudeWorking, session.Detection{Activity: session.Working}},
		"claude asks, no title":   {builtin("claude"), "", claudeApproval, session.Detection{Activity: session.Blocked, Detail: "Do you want to proceed?\n❯ 1. Yes\n2. No\nEsc to cancel"}},
		"claude asks, idle title": {builtin("claude"), "✳ Fix", claudeApproval, session.Detection{Activity: session.Blocked, Detail: "Do you want to proceed?\n❯ 1. Yes\n2. No\nEsc to cancel"}},
		"claude asks, work title": {builtin("claude"), "⠐ Fix", claudeApproval, session.Detection{Activity: session.Blocked, Detail: "Do you want to proceed?\n❯ 1. Yes\n2. No\nEsc to cancel"}},
		"claude asks for trust":   {builtin("claude"), "", "Quick safety check: Is this a project you created or one you trust?\n❯ 1. Yes, I trust this folder\n", session.Detection{Activity: session.Blocked, Detail: "Quick safety check: Is this a project you created or one you trust?"}},
		"claude retries":          {builtin("claude"), "", "API error · Retrying in 3s · attempt 2/10\n" + claudeWorking, session.Detection{Activity: session.Working}},
		"claude limited":          {builtin("claude"), "✳ Fix", "API Error: Request rejected (429)\n" + claudeIdle, session.Detection{Activity: session.BlockedAPI, Detail: "API Error: Request rejected (429)"}},
		"claude, a bad key":       {builtin("claude"), "", "Invalid API key · Fix external API key\n" + claudeIdle, session.Detection{Activity: session.Failed, Detail: "Invalid API key · Fix external API key"}},
		"claude left to a shell":  {builtin("claude"), "", "Resume this session with:\nclaude --resume 7f3e\nme@host:~/work$ \n", session.Detection{Activity: session.Exited, Detail: "a shell has the terminal: me@host:~/work$"}},
		"claude writes of limits": {builtin("claude"), "⠐ Fix", "rate limit exceeded is what the API then says\nfatal error: too\nall tasks completed\n" + claudeWorking, session.Detection{Activity: session.Working}},

		"codex idle by title":        {builtin("codex"), "Ready | work", "", session.Detection{Activity: session.Idle}},
		"codex without a folder":     {builtin("codex"), "Ready", "", session.Detection{Activity: session.Idle}},
		"codex works by title":       {builtin("codex"), "⠋ Thinking | work", "", session.Detection{Activity: session.Working}},
		"codex asks by title":        {builtin("codex"), "[ ! ] Action Required | work", "", session.Detection{Activity: session.Blocked}},
		"codex asks, blinking":       {builtin("codex"), "[ . ] Action Required | work", codexApproval, session.Detection{Activity: session.Blocked, Detail: "Would you like to run the following command?\n$ rm -r build\n› 1. Yes, proceed (y)\n2. No\nPress enter to confirm or esc to cancel"}},
		"codex boots":                {builtin("codex"), "", codexBooting, session.Detection{Activity: session.NoActivity}},
		"codex idle by screen":       {builtin("codex"), "", codexIdle, session.Detection{Activity: session.Idle}},
		"codex works by screen":      {builtin("codex"), "", codexWorking, session.Detection{Activity: session.Working}},
		"codex asks by screen":       {builtin("codex"), "", codexApproval, session.Detection{Activity: session.Blocked, Detail: "Would you like to run the following command?\n$ rm -r build\n› 1. Yes, proceed (y)\n2. No\nPress enter to confirm or esc to cancel"}},
		"codex waits for a 429":      {builtin("codex"), "⠋ Working | work", "Server is busy, reconnecting 2/5\n" + codexWorking, session.Detection{Activity: session.BlockedAPI, Detail: "Server is busy, reconnecting 2/5"}},
		"codex has lost its server":  {builtin("codex"), "two", codexLost, session.Detection{Activity: session.Failed, Detail: "◦ Reconnect failed — check the endpoint, then relaunch (2m 56s)"}},
		"codex looks for its server": {builtin("codex"), "Ready | two", "◦ Reconnecting to server… (1m 51s)\n" + codexIdle, session.Detection{Activity: session.Working, Detail: "◦ Reconnecting to server… (1m 51s)"}},
		"codex lost it in a turn":    {builtin("codex"), "⠋ two", codexLost, session.Detection{Activity: session.Failed, Detail: "◦ Reconnect failed — check the endpoint, then relaunch (2m 56s)"}},
		"codex writes of that":       {builtin("codex"), "two", "• Reconnect failed — says the log.\n\n  So be it.\n  It may work again.\n\n" + codexIdle, session.Detection{Activity: session.Idle}},
		"codex gave up on a 429":     {builtin("codex"), "Ready | work", "■ exceeded retry limit, last status: 429\n" + codexIdle, session.Detection{Activity: session.BlockedAPI, Detail: "■ exceeded retry limit, last status: 429"}},
		"codex works after a 429": {builtin("codex"), "⠋ Working | work", "■ exceeded retry limit, last status: 429\n" + codexWorking,
			session.Detection{Activity: session.Working}},
		"codex, a bad key": {builtin("codex"), "Ready | work", "■ unexpected status 401 Unauthorized\n" + codexIdle, session.Detection{Activity: session.Failed, Detail: "■ unexpected status 401 Unauthorized"}},

		"gemini idle by title":           {builtin("gemini"), "◇  Ready (work)   ", "", session.Detection{Activity: session.Idle}},
		"gemini works by title":          {builtin("gemini"), "✦  Working… (work)", "", session.Detection{Activity: session.Working}},
		"gemini asks by title":           {builtin("gemini"), "✋  Action Required (work)", geminiApproval, session.Detection{Activity: session.Blocked, Detail: "Allow execution of: 'rm'?\n● 1. Allow once\n3. No, suggest changes (esc)"}},
		"gemini idle by screen":          {builtin("gemini"), "", geminiIdle, session.Detection{Activity: session.Idle}},
		"gemini works by screen":         {builtin("gemini"), "", geminiWorking, session.Detection{Activity: session.Working}},
		"gemini asks by screen":          {builtin("gemini"), "", geminiApproval, session.Detection{Activity: session.Blocked, Detail: "Allow execution of: 'rm'?\n● 1. Allow once\n3. No, suggest changes (esc)"}},
		"gemini goes on after a failure": {builtin("gemini"), "◇  Ready (work)", "✕ [API Error: {\"code\":401}]\n > again\n✦ Here.\n" + geminiIdle, session.Detection{Activity: session.Idle}},
		"gemini, a bad key":              {builtin("gemini"), "◇  Ready (work)", "✕ [API Error: {\"code\":401}]\n" + geminiIdle, session.Detection{Activity: session.Failed, Detail: "✕ [API Error: {\"code\":401}]"}},

		"script, silent":         {custom, "", "\n", session.Detection{Activity: session.NoActivity}},
		"script works":           {custom, "", "script 1.0\nstep 3 of 4\n", session.Detection{Activity: session.Working}},
		"script asks":            {custom, "", "script 1.0\nREMOVE IT, Approve?\n", session.Detection{Activity: session.Blocked, Detail: "REMOVE IT, Approve?"}},
		"script is done":         {custom, "", "script 1.0\nFINISHED AT noon\n", session.Detection{Activity: session.Done, Detail: "FINISHED AT noon"}},
		"script failed":          {custom, "", "script 1.0\nE: no space\n", session.Detection{Activity: session.Failed, Detail: "E: no space"}},
		"script limited":         {custom, "", "script 1.0\nslow down\n", session.Detection{Activity: session.BlockedAPI, Detail: "slow down"}},
		"script left to a shell": {custom, "", "bye\n$ ", session.Detection{Activity: session.Exited, Detail: "a shell has the terminal: $"}},
		"script shows a percentage": {custom, "", "loading 45%\n",
			session.Detection{Activity: session.NoActivity}},
		"script with its screen up": {custom, "", "script 1.0\n$ ", session.Detection{Activity: session.NoActivity}},
		"a shell is the agent": {session.AgentSpec{Name: "sh", Command: []string{"sh"}}, "", "hello\n$ ",
			session.Detection{Activity: session.NoActivity}},
		"phrase far from the end": {custom, "", "all tasks completed\n" + strings.Repeat("more\n", doneLines), session.Detection{Activity: session.NoActivity}},
		"phrase near the end":     {custom, "", "All tasks completed\n" + strings.Repeat("more\n\n", doneLines-1), session.Detection{Activity: session.Done, Detail: "All tasks completed"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := For(c.agent).Detect(session.Evidence{Liveness: session.Alive, Title: c.title, Screen: c.screen})
			got.Question = nil // TestQuestion has those
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(session.Detection{}, "Source")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// tmux returns an empty screen for an agent that shows nothing yet; a screen that was not captured
// says nothing.
func TestBlankScreen(t *testing.T) {
	custom := session.AgentSpec{Name: "slow", Command: []string{"./slow"}, Ready: "^> ?$"}
	for _, c := range []struct {
		agent session.AgentSpec
		blank bool
		want  session.Activity
	}{
		{builtin("claude"), true, session.Booting}, {builtin("claude"), false, session.NoActivity},
		{builtin("codex"), true, session.Booting}, {builtin("gemini"), true, session.Booting},
		{custom, true, session.Booting}, {custom, false, session.NoActivity},
		{session.AgentSpec{Name: "x", Command: []string{"x"}}, true, session.NoActivity},
	} {
		if got := For(c.agent).Detect(session.Evidence{Liveness: session.Alive, Title: "host", Blank: c.blank}); got.Activity != c.want {
			t.Errorf("%s, blank %v: %s, want %s", c.agent.Name, c.blank, got.Activity, c.want)
		}
	}
}

// The manifest's patterns apply whatever the title says.
func TestManifestPatternsBeforeTitles(t *testing.T) {
	a := For(builtin("claude", func(s *session.AgentSpec) {
		s.Patterns = session.Patterns{Done: []string{"ALL GREEN"}, Blocked: []string{"ship it\\?"}}
	}))
	for _, title := range []string{"", "⠐ Fix", "✳ Fix"} {
		if got := a.Detect(session.Evidence{Liveness: session.Alive, Title: title, Screen: "❯ go\n\nall green\n" + claudeWorking[len("❯ fix the tests\n"):]}); got.Activity != session.Done {
			t.Errorf("%q: %+v", title, got)
		}
		want := "Ship it?\nEsc to cancel"
		if got := a.Detect(session.Evidence{Liveness: session.Alive, Title: title, Screen: "Ship it?\nEsc to cancel"}); got.Activity != session.Blocked || got.Detail != want {
			t.Errorf("%q: %+v", title, got)
		}
	}
}

// A screen with a sign of everything is read in a fixed order: remove one sign, and the next one
// applies.
func TestOrderOfReading(t *testing.T) {
	signs := []struct {
		activity session.Activity
		line     string
	}{
		{session.Done, "task completed successfully"},
		{session.BlockedAPI, "rate limit exceeded"},
		{session.Failed, "fatal error"},
		{session.Exited, "~ $"},
		{session.Blocked, "may I?"},
		{session.Working, "busy"},
		{session.NoActivity, ""},
	}
	a := For(session.AgentSpec{Name: "x", Command: []string{"x"}, Patterns: session.Patterns{
		Blocked: []string{`may i\?`}, Working: []string{"busy"}, UI: []string{"x 1.0"}}})
	for i, want := range signs {
		var rest []string
		for _, s := range slices.Backward(signs[i:]) {
			if s.activity != session.Exited {
				rest = append(rest, s.line)
			}
		}
		if i <= 3 {
			rest = append(rest, "~ $") // a shell's prompt is at the end
		}
		if got := a.Detect(session.Evidence{Liveness: session.Alive, Screen: strings.Join(rest, "\n") + "\n"}); got.Activity != want.activity {
			t.Errorf("%q reads %s, want %s", rest, got.Activity, want.activity)
		}
	}
}

// Every phrase is recognized for every agent whose only other signal is a title, or that has none,
// also across line ends.
func TestPhrases(t *testing.T) {
	composer := map[string][2]string{ // above and below what the agent prints
		"claude": {"❯ go\n\n● ", "\n\n✻ Cooked for 3s\n\n────\n❯ \n────\n  ? for shortcuts"},
		"codex":  {"› go\n\n• ", "\n\n› Ask Codex to do anything\n\n  gpt-5 default · /work\n  ? for shortcuts"},
		"gemini": {" Gemini CLI v0.61.0\n > go\n\n✦ ", "\n\n >   Type your message or @path/to/file\n\n ~/work   no sandbox   auto"},
		"x":      {"", ""},
	}
	titles := map[string]string{"claude": "✳ Fix", "codex": "Ready | work", "gemini": "◇  Ready (work)"}
	for activity, said := range map[session.Activity][]string{
		session.Done: {"Task completed successfully", "All tasks completed", "session ended", "Goodbye!"},
		session.BlockedAPI: {"You've hit your limit", "You’ve reached your usage limit", "You've hit your monthly spend limit", "You've reached your 5-hour limit", "Rate limit exceeded", "rate limit reached", "Cost limit reached",
			"usage limit reached", "quota exceeded", "insufficient quota", "RESOURCE EXHAUSTED"},
		session.Failed: {"Fatal error: x", "unrecoverable error", "Agent crashed", "Authentication failed"},
	} {
		for _, line := range said {
			for name, around := range composer {
				for _, text := range []string{line, strings.Replace(line, " ", "\n  ", 1)} {
					a := For(builtin(name))
					if name == "x" {
						a = For(session.AgentSpec{Name: "x", Command: []string{"x"}})
					}
					screen := around[0] + text + around[1]
					for _, title := range []string{"", titles[name]} {
						got := a.Detect(session.Evidence{Liveness: session.Alive, Title: title, Screen: screen})
						if first, _, _ := strings.Cut(text, "\n"); got.Activity != activity || !strings.HasSuffix(got.Detail, first) {
							t.Errorf("%s, title %q: %q reads %+v, want %s", name, title, screen, got, activity)
						}
					}
				}
			}
		}
	}
}

// What an agent prints during work is not a verdict: it must be resting, with no sign of work
// below.
func TestPhrasesOfAnAgentAtWork(t *testing.T) {
	a := For(session.AgentSpec{Name: "x", Command: []string{"x"}, Patterns: session.Patterns{Working: []string{"^step"}, Failed: []string{"^E: "}}})
	for _, c := range []struct {
		screen string
		quiet  time.Duration
		want   session.Activity
	}{
		{"all tasks completed", 500 * time.Millisecond, session.NoActivity},
		{"all tasks completed", 2 * time.Second, session.Done},
		{"step 1\nall tasks completed", time.Minute, session.Done},
		{"cc: fatal error: no input\nstep 2", time.Minute, session.Working},
		{"E: what the manifest says counts at once", 0, session.Failed},
	} {
		got := a.Detect(session.Evidence{Liveness: session.Alive, Screen: c.screen, Now: noon, MovedAt: noon.Add(-c.quiet)})
		if got.Activity != c.want {
			t.Errorf("%q, quiet for %s: %s, want %s", c.screen, c.quiet, got.Activity, c.want)
		}
	}
}

// Only what is below the last prompt is current, and its last sign applies.
func TestThePresentOfAScreen(t *testing.T) {
	const (
		claude = "\n\n────\n❯ \n────\n  ? for shortcuts"
		codex  = "\n\n› Ask Codex to do anything\n\n  gpt-5 default · /work\n  ? for shortcuts"
		gemini = "\n\n▄▄▄▄\n >   Type your message or @path/to/file\n▀▀▀▀\n ~/work   no sandbox   auto"
	)
	for name, c := range map[string]struct {
		agent, screen string
		want          session.Activity
		detail        string
	}{
		"claude, a farewell above an error": {"claude", "❯ bye\n\n● Goodbye!\n\n❯ go\n\n● API Error: 500 down" + claude, session.Failed, "● API Error: 500 down"},
		"claude, a farewell in this turn":   {"claude", "❯ go\n\n● Goodbye!\n\n● API Error: 500 down" + claude, session.Failed, "● API Error: 500 down"},
		"claude, an error of before":        {"claude", "❯ go\n\n● API Error: 500 down\n\n❯ again\n\n● Fine." + claude, session.Idle, ""},
		"claude, 401 after 429":             {"claude", "● API Error: Request rejected (429)\n\n● Please run /login · API Error: 401" + claude, session.Failed, "● Please run /login · API Error: 401"},
		"claude, 429 after 500":             {"claude", "❯ go\n\n● API Error: 500 down\n\n● API Error: Request rejected (429)" + claude, session.BlockedAPI, "● API Error: Request rejected (429)"},
		"claude, a question that it wrote":  {"claude", "❯ go\n\n● Do you want to proceed?\n  1. Yes\n  2. No" + claude, session.Idle, ""},
		"claude, a prompt of many lines":    {"claude", "❯ fix this:\n  API Error: 500\n  goodbye\n\n● Fine." + claude, session.Idle, ""},
		"claude, a draft in the composer":   {"claude", "❯ go\n\n● API Error: 500 down\n\n────\n❯ try again\n────\n  ? for shortcuts", session.Failed, "● API Error: 500 down"},
		"codex, an error of before":         {"codex", "› go\n\n■ exceeded retry limit, last status: 429\n\n› again\n\n• Fine." + codex, session.Idle, ""},
		"codex, 401 after 429":              {"codex", "› go\n\n■ exceeded retry limit, last status: 429\n\n› again\n\n■ unexpected status 401" + codex, session.Failed, "■ unexpected status 401"},
		"codex, 500 after 429, one turn":    {"codex", "■ exceeded retry limit, last status: 429\n\n■ We’re currently experiencing high\ndemand" + codex, session.Failed, "■ We’re currently experiencing high"},
		"codex, a question that it wrote":   {"codex", "› go\n\n• Would you like to run it?\n  › 1. Yes" + codex, session.Idle, ""},
		"gemini, an error of before":        {"gemini", "Gemini CLI v0.61.0\n▄▄▄▄\n > go\n▀▀▀▀\n\n✕ [API Error: {\"code\":429}]\n▄▄▄▄\n > again\n▀▀▀▀\n✦ Fine." + gemini, session.Idle, ""},
		"gemini, 401 after 429":             {"gemini", "Gemini CLI v0.61.0\n✕ [API Error: {\"code\":429}]\n✕ [API Error: {\"code\":401}]" + gemini, session.Failed, "✕ [API Error: {\"code\":401}]"},
		"gemini, a quota on two lines":      {"gemini", "Gemini CLI v0.61.0\n > go\n\n✕ [API Error: You have exhausted your\n  daily quota on this model.]" + gemini, session.BlockedAPI, "✕ [API Error: You have exhausted your"},
		"gemini, a farewell of before":      {"gemini", "Gemini CLI v0.61.0\n > bye\n\n✦ Goodbye!\n\n > go\n\n✦ Fine." + gemini, session.Idle, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := For(builtin(c.agent))
			got := a.Detect(session.Evidence{Liveness: session.Alive, Screen: c.screen})
			if got.Activity != c.want || got.Detail != c.detail {
				t.Errorf("%s (%s), want %s (%s)", got.Activity, got.Detail, c.want, c.detail)
			}
			// Without input of its own, a run shows the prompts of earlier ones.
			if got := a.Detect(session.Evidence{Liveness: session.Alive, Screen: c.screen, Replayed: true}); got.Activity != session.Idle && !strings.Contains(name, "draft") {
				t.Errorf("replayed: %s (%s)", got.Activity, got.Detail)
			}
		})
	}
}

func TestReadADeadAgent(t *testing.T) {
	for _, c := range []struct {
		exit    *session.Exit
		oneShot bool
		want    session.Activity
		says    string
	}{
		{nil, false, session.Exited, "not known"},
		{&session.Exit{Cause: "self"}, false, session.Exited, "exit status 0"},
		{&session.Exit{Cause: "self", Code: 1}, false, session.Exited, "exit status 1"},
		{&session.Exit{Cause: "self", Signal: "SIGKILL"}, false, session.Exited, "killed by SIGKILL"},
		{&session.Exit{Cause: "failed_start", Code: 127, Detail: "no such"}, false, session.Failed, "could not be started: no such"},
		{&session.Exit{Cause: "self"}, true, session.Done, "exit status 0"},
		{&session.Exit{Cause: "self", Code: 2}, true, session.Failed, "exit status 2"},
		{&session.Exit{Cause: "self", Signal: "SIGSEGV"}, true, session.Failed, "SIGSEGV"},
		{&session.Exit{Cause: "timeout", Signal: "SIGTERM"}, true, session.Failed, "timeout, killed by SIGTERM"},
		{&session.Exit{Cause: "timeout"}, true, session.Exited, "timeout"},
		{&session.Exit{Cause: "requested", Signal: "SIGTERM"}, true, session.Exited, "SIGTERM"},
		{&session.Exit{Cause: "hangup"}, true, session.Exited, "hangup"},
		{nil, true, session.Exited, "not known"},
	} {
		byEvidence := For(session.AgentSpec{Name: "x", Command: []string{"x"}}).Detect(session.Evidence{Liveness: session.Dead, Exit: c.exit, OneShot: c.oneShot})
		bySpec := For(session.AgentSpec{Name: "x", Command: []string{"x"}, OneShot: c.oneShot}).Detect(session.Evidence{Liveness: session.Dead, Exit: c.exit, Screen: "all tasks completed"})
		for _, got := range []session.Detection{byEvidence, bySpec} {
			if got.Activity != c.want || !strings.Contains(got.Detail, c.says) {
				t.Errorf("%+v, one-shot %v, reads %+v; want %s, %q", c.exit, c.oneShot, got, c.want, c.says)
			}
		}
	}
	if got := For(builtin("claude")).Detect(session.Evidence{Liveness: session.Unknown, Title: "✳ x", Screen: claudeIdle}); got.Activity != session.NoActivity {
		t.Errorf("one of whom it is not known whether he lives: %+v", got)
	}
}

func TestReady(t *testing.T) {
	for _, c := range []struct {
		agent  session.AgentSpec
		screen string
		want   bool
	}{
		{builtin("claude"), claudeIdle, true},
		{builtin("claude"), strings.Replace(claudeIdle, "❯ ", "❯\u00a0", 1), true},
		{builtin("claude"), strings.Replace(claudeIdle, "❯ ", `❯ Try "fix it"`, 1), true},
		{builtin("claude"), claudeWorking, false},
		{builtin("claude"), claudeApproval, false},
		{builtin("claude"), "", false},
		{builtin("codex"), codexIdle, true},
		{builtin("codex"), codexBooting, false},
		{builtin("codex"), codexWorking, false},
		{builtin("codex"), codexApproval, false},
		{builtin("gemini"), geminiIdle, true},
		{builtin("gemini"), strings.SplitN(geminiIdle, "\n", 2)[1], false}, // it paints this first
		{builtin("gemini"), "Gemini CLI v0.61.0\n│ > Type your message │", true},
		{builtin("gemini"), geminiWorking, false},
		{builtin("gemini"), geminiApproval, false},
		{session.AgentSpec{Name: "x", Command: []string{"x"}}, "", true},
		{session.AgentSpec{Name: "x", Command: []string{"x"}, Ready: "^>$"}, "hello\n> \n", true},
		{session.AgentSpec{Name: "x", Command: []string{"x"}, Ready: "^>$"}, "hello\n", false},
		{session.AgentSpec{Name: "x", Command: []string{"x"}, Ready: "^> $"}, "hello\n>", true}, // tmux cuts the blank
		{session.AgentSpec{Name: "x", Command: []string{"x"}, Ready: "^> $"}, "hello\n>>", false},
	} {
		if got := For(c.agent).Ready(c.screen); got != c.want {
			t.Errorf("%s is ready: %v, on\n%s", c.agent.Name, got, c.screen)
		}
	}
}

func TestPullRequest(t *testing.T) {
	a := For(builtin("claude"))
	for screen, want := range map[string]string{
		"see https://github.com/o/r/pull/17.":                         "https://github.com/o/r/pull/17",
		"│ https://git.example.org:8443/g/s/r/-/merge_requests/4":     "https://git.example.org:8443/g/s/r/-/merge_requests/4",
		"https://bitbucket.org/o/r/pull-requests/9/diff":              "https://bitbucket.org/o/r/pull-requests/9",
		"https://github.com/o/r/pull/1 https://github.com/o/r/pull/2": "https://github.com/o/r/pull/2",
		"https://github.com/o/r/pull/new/branch":                      "",
		"https://github.com/o/r/issues/3":                             "",
	} {
		for _, liveness := range []session.Liveness{session.Alive, session.Dead} {
			if got := a.Detect(session.Evidence{Liveness: liveness, Screen: screen}).PR; got != want {
				t.Errorf("%q: %q, want %q", screen, got, want)
			}
		}
	}
}

func BenchmarkRead(b *testing.B) {
	var screen strings.Builder
	for i := range 50 {
		fmt.Fprintf(&screen, "line %d of what an agent tells about its work, in the width of a terminal\n", i)
	}
	screen.WriteString(claudeWorking)
	a := For(builtin("claude"))
	for b.Loop() {
		a.Detect(session.Evidence{Liveness: session.Alive, Title: "host", Screen: screen.String()})
	}
}
