package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
	"github.com/google/go-cmp/cmp"
)

func TestGeminiStart(t *testing.T) {
	env := map[string]string{"GEMINI_CLI_NO_RELAUNCH": "true", "IS_BINARY": "true"}
	argument := builtin("gemini", func(s *session.AgentSpec) { s.PromptVia = ViaArgument })
	for name, c := range map[string]struct {
		agent session.AgentSpec
		in    session.StartInput
		want  session.Start
	}{
		"a prompt": {builtin("gemini"), session.StartInput{Prompt: "fix it"}, session.Start{Argv: []string{"gemini"}, Env: env, Paste: "fix it"}},
		"by argument": {argument, session.StartInput{Prompt: "fix it"},
			session.Start{Argv: []string{"gemini", "--prompt-interactive=fix it"}, Env: env}},
		"a dash": {argument, session.StartInput{Prompt: "-p"},
			session.Start{Argv: []string{"gemini", "--prompt-interactive=-p"}, Env: env}},
		"a shell line": {builtin("gemini"), session.StartInput{Prompt: "!ls"}, session.Start{Argv: []string{"gemini"}, Env: env, Paste: " !ls"}},
		"a command": {argument, session.StartInput{Prompt: "/review"},
			session.Start{Argv: []string{"gemini", "--prompt-interactive=/review"}, Env: env}},
		"asks": {builtin("gemini", func(s *session.AgentSpec) { s.Permissions = "ask" }), session.StartInput{},
			session.Start{Argv: []string{"gemini", "--approval-mode", "default"}, Env: env}},
		"may all and is trusted": {builtin("gemini", func(s *session.AgentSpec) { s.Permissions, s.Trust = "all", true }), session.StartInput{},
			session.Start{Argv: []string{"gemini", "--approval-mode", "yolo"}, Env: map[string]string{
				"GEMINI_CLI_NO_RELAUNCH": "true", "IS_BINARY": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true",
			}}},
		"a fresh conversation": {builtin("gemini"), session.StartInput{Spec: session.Spec{Args: []string{"-m", "pro"}}, Fresh: "id-2"},
			session.Start{Argv: []string{"gemini", "--session-id", "id-2", "-m", "pro"}, Env: env, Conversation: "id-2"}},
		"goes on": {builtin("gemini", func(s *session.AgentSpec) { s.Permissions = "edits" }), session.StartInput{Conversation: "id-1", Fresh: "id-2"},
			session.Start{Argv: []string{"gemini", "--approval-mode", "auto_edit", "--resume", "id-1"}, Env: env, Conversation: "id-1"}},
		"goes on with a prompt, which typing would lose": {builtin("gemini"), session.StartInput{Conversation: "id-1", Prompt: "and now"},
			session.Start{Argv: []string{"gemini", "--resume", "id-1", "--prompt-interactive=and now"}, Env: env, Conversation: "id-1"}},
		"hooks, but not as root": {builtin("gemini"), session.StartInput{Notify: []string{"shim"}, Private: "/run/1/private"},
			session.Start{Argv: []string{"gemini"}, Env: env}},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.Spec.Agent = c.agent
			if diff := cmp.Diff(c.want, For(c.agent).Start(c.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGeminiHooksAsRoot(t *testing.T) {
	in := session.StartInput{Notify: []string{"/opt/it's/shim", "notify"}, Private: "/run/1/private", Root: true}
	in.Spec.Agent = builtin("gemini")
	type settings struct {
		General struct {
			EnableAutoUpdate             *bool
			EnableAutoUpdateNotification *bool
		}
		Security struct{ Auth struct{ SelectedType string } }
		Hooks    map[string][]struct {
			Matcher string
			Hooks   []struct{ Type, Command, Name string }
		}
	}
	start := func() (s settings) {
		t.Helper()
		got := For(in.Spec.Agent).Start(in)
		if got.Env["GEMINI_CLI_SYSTEM_DEFAULTS_PATH"] != "/run/1/private/gemini.json" || len(got.Files) != 1 {
			t.Fatalf("%v %v", got.Env, got.Files)
		}
		if err := json.Unmarshal([]byte(got.Files["gemini.json"]), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := start()
	if u := s.General.EnableAutoUpdate; u == nil || *u {
		t.Error("it updates itself")
	}
	if s.Security.Auth.SelectedType != "" {
		t.Error("it is told to use a key that it is not given")
	}
	var events []string
	for event, all := range s.Hooks {
		events = append(events, event)
		if len(all) != 1 || all[0].Matcher != "*" || len(all[0].Hooks) != 1 || all[0].Hooks[0].Type != "command" || all[0].Hooks[0].Command != `'/opt/it'\''s/shim' 'notify'` {
			t.Errorf("%s: %+v", event, all)
		}
	}
	slices.Sort(events)
	if diff := cmp.Diff([]string{"AfterAgent", "BeforeAgent", "Notification", "SessionStart"}, events); diff != "" {
		t.Error(diff)
	}
	in.Spec.Secrets = []string{"GEMINI_API_KEY"}
	if s := start(); s.Security.Auth.SelectedType != "gemini-api-key" {
		t.Error("with a key it still asks how to log in")
	}
}

func TestGeminiDotfiles(t *testing.T) {
	s := session.Spec{Agent: builtin("gemini")}
	of := session.Lookup{Home: "/home/me"}
	if got := DotfileFixes(s, of); got != nil {
		t.Errorf("an agent without a key: %+v", got)
	}
	s.Secrets = []string{"GEMINI_API_KEY"}
	fixes := DotfileFixes(s, of)
	if len(fixes) != 1 || fixes[0].Path != "/home/me/.gemini/settings.json" {
		t.Fatalf("%+v", fixes)
	}
	text, changed, err := fixes[0].Apply([]byte(`{"ui":{"theme":"mine"}}`))
	const want = `{"security":{"auth":{"selectedType":"gemini-api-key"}},"ui":{"theme":"mine"}}`
	var got bytes.Buffer
	if compact := json.Compact(&got, text); err != nil || !changed || compact != nil || got.String() != want {
		t.Errorf("%v %v %s", changed, err, text)
	}
	if _, changed, err := fixes[0].Apply([]byte(`{"security":{"auth":{"selectedType":"oauth-personal"}}}`)); changed || err != nil {
		t.Errorf("a person's own choice is changed: %v", err)
	}
}

func TestGeminiSignals(t *testing.T) {
	for data, want := range map[string]session.Detection{
		`{"session_id":"1","hook_event_name":"BeforeAgent","prompt":"go"}`:        {Activity: session.Working},
		`{"hook_event_name":"AfterAgent","prompt":"go","prompt_response":"gone"}`: {Activity: session.Idle},
		`{"hook_event_name":"AfterAgent","prompt_response":"[no response text]"}`: {Activity: session.Idle},
		`{"hook_event_name":"Notification","notification_type":"ToolPermission","message":"Tool Confirm Shell Command requires execution","details":{"type":"exec","title":"Confirm Shell Command","command":"touch x.txt","rootCommand":"touch"}}`: {Activity: session.Blocked, Detail: "Confirm Shell Command\ntouch x.txt"},
		`{"hook_event_name":"Notification","notification_type":"ToolPermission","message":"Tool Confirm Edit","details":{"type":"edit","fileName":"a.go"}}`:                                                                                         {Activity: session.Blocked, Detail: "Tool Confirm Edit\na.go"},
	} {
		got, tells := geminiSignal([]byte(data))
		if diff := cmp.Diff(want, got); diff != "" || !tells {
			t.Errorf("%s: %v %s", data, tells, diff)
		}
	}
	for _, data := range []string{`{"hook_event_name":"SessionStart","source":"startup"}`, `{"hook_event_name":"Notification","notification_type":"Later"}`, `no JSON`, ``} {
		if got, tells := geminiSignal([]byte(data)); tells {
			t.Errorf("%s tells %v", data, got)
		}
	}
}

func TestGeminiFiles(t *testing.T) {
	for name, c := range map[string]struct {
		of   session.Lookup
		want []string
	}{
		"a conversation": {session.Lookup{Home: "/h", Conversation: "8a12ed24-0a58-4a92-a3e2-ace88e908658"}, []string{"/h/.gemini/tmp/*/chats/session-*-8a12ed24.jsonl"}},
		"not known":      {session.Lookup{Home: "/h"}, []string{"/h/.gemini/tmp/*/chats/session-*.jsonl"}},
		"its own home":   {session.Lookup{Home: "/h", Env: map[string]string{"GEMINI_CLI_HOME": "/g*"}}, []string{`/g\*/.gemini/tmp/*/chats/session-*.jsonl`}},
		"no home":        {session.Lookup{}, nil},
	} {
		if diff := cmp.Diff(c.want, geminiFiles(c.of)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The lines are from 0.61.0, without unused fields.
const (
	chatHead      = `{"sessionId":"8a12ed24-0a58","projectHash":"c3be","startTime":"2026-11-21T05:50:29.148Z","lastUpdated":"2026-11-21T05:50:29.148Z","kind":"main"}`
	chatBegin     = `{"$set":{"messages":[{"id":"m0","timestamp":"2026-11-21T05:50:29.148Z","type":"user","content":[{"text":"<session_context>\nThis is the Gemini CLI.\n- **Workspace Directories:**\n  - /work/my shop\n- **Directory Structure:**\n\n</session_context>"}]}],"lastUpdated":"2026-11-21T05:50:29.148Z"}}`
	chatUser      = `{"id":"m1","timestamp":"2026-11-21T05:50:30.000Z","type":"user","content":[{"text":"make it"}]}`
	chatUpdated   = `{"$set":{"lastUpdated":"2026-11-21T05:50:30.000Z"}}`
	chatAsks      = `{"id":"m2","timestamp":"2026-11-21T05:50:31.000Z","type":"gemini","content":"I look.","thoughts":[],"tokens":{"input":100,"output":20,"total":120},"model":"gemini-2.5-pro"}`
	chatCalled    = `{"id":"m2","timestamp":"2026-11-21T05:50:31.000Z","type":"gemini","content":"I look.","thoughts":[],"tokens":{"input":100,"output":20,"total":120},"model":"gemini-2.5-pro","toolCalls":[{"id":"c1","name":"run_shell_command","args":{"command":"touch x.txt","description":"x"},"result":[{"functionResponse":{"id":"c1","name":"run_shell_command","response":{"output":"<untrusted_context>\nOutput: all made\nProcess Group PGID: 1\n</untrusted_context>"}}}],"status":"success"}]}`
	chatResult    = `{"id":"m3","timestamp":"2026-11-21T05:50:35.000Z","type":"user","content":[{"functionResponse":{"id":"c1","name":"run_shell_command","response":{"output":"all made"}}}]}`
	chatAnswer    = `{"id":"m4","timestamp":"2026-11-21T05:50:36.000Z","type":"gemini","content":"made","thoughts":[],"tokens":{"input":150,"output":30,"total":180},"model":"gemini-2.5-pro"}`
	chatError     = `{"id":"m5","timestamp":"2026-11-21T05:50:36.000Z","type":"error","content":"[API Error: {\"error\":{\"code\":401,\"message\":\"scripted 401\",\"status\":\"UNAUTHENTICATED\"}}]"}`
	chatQuota     = `{"id":"m5","timestamp":"2026-11-21T05:50:36.000Z","type":"error","content":"[API Error: You have exhausted your daily quota on this model.]"}`
	chatFailed    = `{"id":"m6","timestamp":"2026-11-21T05:50:36.100Z","type":"info","content":"This request failed. Press F12 for diagnostics"}`
	chatCancelled = `{"id":"m7","timestamp":"2026-11-21T05:50:36.000Z","type":"info","content":"Request cancelled."}`
	// The user's message, rewritten with another id, if the model had not started to answer.
	chatOnceMore = `{"id":"m9","timestamp":"2026-11-21T05:50:36.092Z","type":"user","content":[{"text":"make it"}]}`
	// After a refusal it rewrites the results and the model's messages of the turn before, with
	// other ids.
	chatOldResult = `{"id":"m11","timestamp":"2026-11-21T05:50:36.039Z","type":"user","content":[{"functionResponse":{"id":"c0","name":"run_shell_command","response":{"output":"before"}}}]}`
	chatOldAnswer = `{"id":"m10","timestamp":"2026-11-21T05:50:36.039Z","type":"gemini","content":[{"text":"made"}],"thoughts":[],"tokens":null}`
	chatNext      = `{"id":"m12","timestamp":"2026-11-21T05:50:40.000Z","type":"user","content":[{"text":"and test it"}]}`
	chatNextDone  = `{"id":"m13","timestamp":"2026-11-21T05:50:41.000Z","type":"gemini","content":"tested","thoughts":[],"tokens":{"input":150,"output":30,"total":180},"model":"gemini-2.5-pro"}`
	// After a refusal it rewrites the user's message.
	chatAgain = `{"id":"m8","timestamp":"2026-11-21T05:50:36.000Z","type":"user","content":[{"text":"<session_context>\nThis is the Gemini CLI.\n</session_context>"},{"text":"make it"}]}`
)

func TestGeminiTranscript(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 11, 21, 5, 50, second, 0, time.UTC) }
	with := func(edit func(*session.Transcript)) session.Transcript {
		n := session.Transcript{Conversation: "8a12ed24-0a58", Dir: "/work/my shop", StartedAt: at(29).Add(148 * time.Millisecond)}
		edit(&n)
		return n
	}
	prompted := []string{chatHead, chatBegin, chatUser, chatUpdated}
	for name, c := range map[string]struct {
		lines []string
		want  session.Transcript
	}{
		"before a turn": {[]string{chatHead, chatBegin}, with(func(*session.Transcript) {})},
		"works, or tries again after a 429": {prompted, with(func(n *session.Transcript) {
			n.Activity, n.At, n.Prompts, n.LastPrompt = session.Working, at(30), 1, "make it"
		})},
		"a tool has run": {slices.Concat(prompted, []string{chatAsks, chatCalled, chatResult}), with(func(n *session.Transcript) {
			n.Activity, n.At, n.Prompts, n.LastPrompt, n.Tokens, n.LastMessage = session.Working, at(35), 1, "make it", 120, "I look."
		})},
		"a turn": {slices.Concat(prompted, []string{chatAsks, chatCalled, chatResult, chatAnswer, chatUpdated}), with(func(n *session.Transcript) {
			n.At, n.Prompts, n.LastPrompt, n.Tokens, n.LastMessage = at(36), 1, "make it", 300, "made"
			n.Turns, n.FirstTurnAt, n.Unsettled = 1, at(36), true
		})},
		"a bad key": {slices.Concat(prompted, []string{chatBegin, chatError, chatFailed}), with(func(n *session.Transcript) {
			n.Activity, n.At, n.Prompts, n.LastPrompt = session.Failed, at(36).Add(100*time.Millisecond), 1, "make it"
			n.Detail = `[API Error: {"error":{"code":401,"message":"scripted 401","status":"UNAUTHENTICATED"}}]`
			n.Turns, n.TurnAt, n.RefusedAt = 1, at(36), at(36)
		})},
		"no quota": {slices.Concat(prompted, []string{chatQuota}), with(func(n *session.Transcript) {
			n.Activity, n.At, n.Prompts, n.LastPrompt = session.BlockedAPI, at(36), 1, "make it"
			n.Detail = `[API Error: You have exhausted your daily quota on this model.]`
			n.Turns, n.TurnAt = 1, at(36)
		})},
		"cancelled": {slices.Concat(prompted, []string{chatCancelled, chatAgain}), with(func(n *session.Transcript) {
			n.Activity, n.At, n.Prompts, n.LastPrompt = session.Idle, at(36), 1, "make it"
			n.Turns, n.TurnAt, n.Interrupted = 1, at(36), true
		})},
		"cancelled before its first word": {slices.Concat(prompted, []string{chatCancelled, chatOnceMore}), with(func(n *session.Transcript) {
			n.Activity, n.At, n.Prompts, n.LastPrompt = session.Idle, at(36).Add(92*time.Millisecond), 1, "make it"
			n.Turns, n.TurnAt, n.Interrupted = 1, at(36), true
		})},
		"a permission is refused": {slices.Concat(prompted, []string{chatAsks, chatCalled, chatCancelled, chatOldResult, chatOldAnswer}), with(func(n *session.Transcript) {
			n.Activity, n.At, n.Prompts, n.LastPrompt, n.Tokens, n.LastMessage = session.Idle, at(36).Add(39*time.Millisecond), 1, "make it", 120, "I look."
			n.Turns, n.TurnAt, n.Interrupted = 1, at(36), true
		})},
		"cancelled, the beginning is missing": {[]string{chatHead, chatBegin, chatCancelled}, with(func(n *session.Transcript) {
			n.Activity, n.At, n.Turns, n.TurnAt, n.Interrupted = session.Idle, at(36), 1, at(36), true
		})},
		"a message after one that was cancelled": {slices.Concat(prompted, []string{chatCancelled, chatNext}), with(func(n *session.Transcript) {
			n.Activity, n.At, n.Prompts, n.LastPrompt = session.Working, at(40), 2, "and test it"
			n.Turns, n.TurnAt = 1, at(36)
		})},
		"a turn after one that was cancelled": {slices.Concat(prompted, []string{chatCancelled, chatNext, chatNextDone}), with(func(n *session.Transcript) {
			n.At, n.Prompts, n.LastPrompt, n.Tokens, n.LastMessage = at(41), 2, "and test it", 180, "tested"
			n.Turns, n.FirstTurnAt, n.TurnAt, n.Unsettled = 2, at(41), at(41), true
			n.AnsweredAt = at(41)
		})},
		"resumed: the messages are written again": {slices.Concat(prompted, []string{chatAnswer, chatHead, chatBegin, chatUser, chatAnswer}), with(func(n *session.Transcript) {
			n.At, n.Prompts, n.LastPrompt, n.Tokens, n.LastMessage = at(36), 1, "make it", 180, "made"
			n.Turns, n.FirstTurnAt, n.Unsettled = 1, at(36), true
			n.AnsweredAt = at(36)
		})},
		"not known": {[]string{`{"type":"later"}`, `[]`, `{`, `{"id":"x","timestamp":"2026-11-21T05:50:36Z","type":"user","content":7}`}, session.Transcript{
			At: at(36), Prompts: 1, PromptAt: at(36), Activity: session.Working,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want.TurnAt.IsZero() {
				c.want.TurnAt = c.want.FirstTurnAt
			}
			if c.want.LastPrompt != "" {
				c.want.PromptAt = at(30)
				c.want.Messages = []session.Message{{At: at(30), Text: "make it"}}
			}
			if c.want.Prompts == 2 {
				c.want.PromptAt = at(40)
				c.want.Messages = append(c.want.Messages, session.Message{At: at(40), Text: c.want.LastPrompt})
			}
			switch c.want.Tokens { // the last answer that has used some
			case 120:
				c.want.AnsweredAt = at(31)
			case 300:
				c.want.AnsweredAt = at(36)
			}
			if diff := cmp.Diff(c.want, session.ReadTranscript(For(builtin("gemini")), jsonLines(c.lines...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGeminiEntries(t *testing.T) {
	type entry struct{ Kind, Text string }
	want := []entry{
		{"user", "make it"}, {"agent", "I look."}, {"usage", "120 tokens (100 in, 20 out)"},
		{"tool", "run_shell_command touch x.txt"}, {"result", "all made"}, {"agent", "made"}, {"usage", "180 tokens (150 in, 30 out)"},
		{"error", "[API Error: You have exhausted your daily quota on this model.]"}, {"info", "Request cancelled."},
	}
	var got []entry
	for _, line := range jsonLines(chatHead, chatBegin, chatUser, chatUpdated, chatAsks, chatCalled, chatResult, chatAnswer, chatQuota, chatCancelled, chatAgain, `{`) {
		for _, e := range geminiEntries(line) {
			if e.At.IsZero() {
				t.Errorf("%v has no time", e)
			}
			got = append(got, entry{e.Kind, e.Text})
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
