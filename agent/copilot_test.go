package agent

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

func TestCopilotStart(t *testing.T) {
	spec := func(permissions string, trust bool) session.Spec {
		return session.Spec{Args: []string{"--model=gpt-5"}, Agent: builtin("copilot", func(s *session.AgentSpec) { s.Permissions, s.Trust = permissions, trust })}
	}
	for name, c := range map[string]struct {
		in   session.StartInput
		want session.Start
	}{
		"a new conversation": {session.StartInput{Spec: spec("", true), Fresh: "7f3e", Prompt: "--fix it"},
			session.Start{Argv: []string{"copilot", "--no-auto-update", "--session-id=7f3e", "--model=gpt-5", "--interactive=--fix it"}, Conversation: "7f3e"}},
		"an earlier one": {session.StartInput{Spec: spec("edits", false), Fresh: "7f3e", Conversation: "0b1c"},
			session.Start{Argv: []string{"copilot", "--no-auto-update", "--allow-tool=write", "--resume=0b1c", "--model=gpt-5"}, Conversation: "0b1c"}},
		"it may all": {session.StartInput{Spec: spec("all", true)},
			session.Start{Argv: []string{"copilot", "--no-auto-update", "--allow-all", "--model=gpt-5"}, Env: map[string]string{"COPILOT_ALLOW_ALL": "true"}}},
		"a command": {session.StartInput{Spec: spec("ask", false), Prompt: "/help me"},
			session.Start{Argv: []string{"copilot", "--no-auto-update", "--model=gpt-5", "--interactive=\u200b/help me"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want.Env == nil {
				c.want.Env = map[string]string{}
			}
			if diff := cmp.Diff(c.want, For(c.in.Spec.Agent).Start(c.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The settings with the trusted folders start with comments, which are kept.
func TestCopilotDotfiles(t *testing.T) {
	of := session.Lookup{Home: "/home/me"}
	s := session.Spec{Workspace: session.Workspace{Path: "/work/shop"}, Agent: builtin("copilot", func(s *session.AgentSpec) { s.Trust = true })}
	fixes := DotfileFixes(s, of)
	if len(fixes) != 1 || fixes[0].Path != "/home/me/.copilot/config.json" {
		t.Fatalf("%+v", fixes)
	}
	const done = "// User settings belong in settings.json.\n// This file is managed automatically.\n{\n  \"trustedFolders\": [\n    \"/other\",\n    \"/work/shop\"\n  ]\n}\n"
	for now, changes := range map[string]bool{
		"// User settings belong in settings.json.\n// This file is managed automatically.\n{\"trustedFolders\":[\"/other\"]}": true,
		done: false,
	} {
		if text, changed, err := fixes[0].Apply([]byte(now)); err != nil || changed != changes || string(text) != done {
			t.Errorf("%s: changed %v, %v\n%s", now, changed, err, text)
		}
	}
	of.Env = map[string]string{"COPILOT_HOME": "/own"}
	if got := DotfileFixes(s, of); len(got) != 1 || got[0].Path != "/own/config.json" {
		t.Errorf("%+v", got)
	}
	s.Agent.Permissions = "all"
	if got := DotfileFixes(s, of); got != nil {
		t.Errorf("with all permissions: %+v", got)
	}
}

func TestCopilotFiles(t *testing.T) {
	a := For(builtin("copilot"))
	for want, of := range map[string]session.Lookup{
		"/home/me/.copilot/session-state/*/events.jsonl":    {Home: "/home/me"},
		"/home/me/.copilot/session-state/7f3e/events.jsonl": {Home: "/home/me", Conversation: "7f3e"},
		"/own/session-state/7f3e/events.jsonl":              {Home: "/home/me", Conversation: "7f3e", Env: map[string]string{"COPILOT_HOME": "/own"}},
	} {
		if got := a.Files(of); !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %s", got, want)
		}
	}
}

// The first of several questions is shown, a limit differs from a failure, and a turn ends once.
func TestCopilotTranscript(t *testing.T) {
	const at = `"timestamp":"2026-11-24T12:09:23.309Z"`
	ask := func(id, command string) string {
		return `{"type":"permission.requested","data":{"requestId":"` + id + `","permissionRequest":{"kind":"shell","fullCommandText":"` + command + `"}},` + at + `}`
	}
	const abort = `{"type":"abort","data":{"reason":"user_abort"},` + at + `}`
	interrupted := map[string]bool{"an interruption": true, "interrupted at once": true}
	begin := []string{`{"type":"user.message","data":{"content":"go"},` + at + `}`, `{"type":"assistant.turn_start","data":{},` + at + `}`}
	for name, c := range map[string]struct {
		lines  []string
		want   session.Activity
		detail string
		turns  int
	}{
		"two questions":              {[]string{ask("1", "a"), ask("2", "b")}, session.Blocked, `run "a"?`, 0},
		"the first has an answer":    {[]string{ask("1", "a"), ask("2", "b"), `{"type":"permission.completed","data":{"requestId":"1"},` + at + `}`}, session.Blocked, `run "b"?`, 0},
		"a limit":                    {[]string{`{"type":"assistant.turn_end","data":{},` + at + `}`, `{"type":"session.error","data":{"errorType":"rate_limit","message":"slow down","statusCode":429},` + at + `}`}, session.BlockedAPI, "slow down", 1},
		"a failure":                  {[]string{`{"type":"session.error","data":{"errorType":"query","message":"bad","statusCode":400},` + at + `}`}, session.Failed, "bad", 1},
		"an answer":                  {[]string{`{"type":"assistant.message","data":{"content":"ok"},` + at + `}`, `{"type":"assistant.turn_end","data":{},` + at + `}`}, session.Idle, "", 1},
		"no answer, and not yet why": {[]string{`{"type":"assistant.turn_end","data":{},` + at + `}`}, session.Working, "", 0},
		"tools are called":           {[]string{`{"type":"assistant.message","data":{"toolRequests":[{"name":"bash"}]},` + at + `}`, `{"type":"assistant.turn_end","data":{},` + at + `}`}, session.Working, "", 0},
		"an interruption":            {[]string{ask("1", "a"), abort}, session.Idle, "", 1},
		"interrupted at once":        {[]string{abort}, session.Idle, "", 1},
		"interrupted, and a message": {[]string{abort, begin[0]}, session.Working, "", 1},
		"one that waited is taken":   {[]string{abort, `{"type":"user.message","data":{"content":"more","delivery":"queued"},` + at + `}`}, session.Working, "", 1},
		"interrupted, it begins":     {[]string{abort, begin[1]}, session.Working, "", 1},
		"interrupted, and a turn":    {[]string{abort, begin[0], begin[1], `{"type":"assistant.message","data":{"content":"ok"},` + at + `}`, `{"type":"assistant.turn_end","data":{},` + at + `}`}, session.Idle, "", 2},
		"its credits are used up":    {[]string{`{"type":"abort","data":{"reason":"autopilot_credit_limit"},` + at + `}`}, session.Idle, "", 1},
		"a sub-agent ends its turns": {[]string{`{"type":"assistant.turn_end","agentId":"x","data":{},` + at + `}`}, session.Working, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var lines [][]byte
			for _, l := range append(slices.Clone(begin), c.lines...) {
				lines = append(lines, []byte(l))
			}
			n := session.ReadTranscript(For(builtin("copilot")), lines)
			if n.Activity != c.want || n.Detail != c.detail || n.Turns != c.turns || n.Interrupted != interrupted[name] {
				t.Errorf("%s (%s), %d turns, interrupted %v", n.Activity, n.Detail, n.Turns, n.Interrupted)
			}
		})
	}
}
