package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

func TestQwenStart(t *testing.T) {
	spec := func(permissions string, trust bool) session.Spec {
		return session.Spec{Args: []string{"-m", "qwen3"}, Workspace: session.Workspace{Path: "/work/shop"},
			Agent: builtin("qwen", func(s *session.AgentSpec) { s.Permissions, s.Trust = permissions, trust })}
	}
	for name, c := range map[string]struct {
		in    session.StartInput
		argv  string
		env   string
		files string
	}{
		"a new conversation": {session.StartInput{Spec: spec("ask", false), Fresh: "7f3e", Prompt: "--fix it"},
			"qwen --approval-mode default --session-id 7f3e -m qwen3 --prompt-interactive=--fix it", "map[QWEN_CODE_NO_RELAUNCH:true]", "map[]"},
		"an earlier one": {session.StartInput{Spec: spec("edits", false), Fresh: "7f3e", Conversation: "0b1c"},
			"qwen --approval-mode auto-edit --resume 0b1c -m qwen3", "map[QWEN_CODE_NO_RELAUNCH:true]", "map[]"},
		"a command": {session.StartInput{Spec: spec("all", false), Prompt: "/help me"},
			"qwen --approval-mode yolo -m qwen3 --prompt-interactive=\u200b/help me", "map[QWEN_CODE_NO_RELAUNCH:true]", "map[]"},
		"a trusted folder": {session.StartInput{Spec: spec("", true), Private: "/private"}, "qwen -m qwen3",
			"map[QWEN_CODE_NO_RELAUNCH:true QWEN_CODE_SYSTEM_DEFAULTS_PATH:/private/qwen.json QWEN_CODE_TRUSTED_FOLDERS_PATH:/private/qwen-trusted.json]",
			"map[qwen-trusted.json:{\n  \"/work/shop\": \"TRUST_FOLDER\"\n} qwen.json:{\n  \"$version\": 4,\n  \"general\": {\n    \"enableAutoUpdate\": false\n  }\n}]"},
	} {
		t.Run(name, func(t *testing.T) {
			got := For(c.in.Spec.Agent).Start(c.in)
			if diff := cmp.Diff([]string{c.argv, c.env, c.files}, []string{strings.Join(got.Argv, " "), fmt.Sprint(got.Env), fmt.Sprint(got.Files)}); diff != "" {
				t.Error(diff)
			}
		})
	}
	told := For(spec("", false).Agent).Start(session.StartInput{Spec: spec("", false), Private: "/private", Notify: []string{"notify", "a b"}})
	for _, event := range qwenEvents {
		if !strings.Contains(told.Files[qwenSettings], `"`+event+`": [`) || !strings.Contains(told.Files[qwenSettings], `"'notify' 'a b'"`) {
			t.Errorf("no hook for %s:\n%s", event, told.Files[qwenSettings])
		}
	}
}

func TestQwenHooks(t *testing.T) {
	for told, want := range map[string]session.Detection{
		`{"hook_event_name":"PermissionRequest","tool_name":"run_shell_command","tool_input":{"command":"touch made","description":"x"}}`:  {Activity: session.Blocked, Detail: `run "touch made"?`},
		`{"hook_event_name":"PermissionRequest","tool_name":"ask_user_question","tool_input":{"questions":[{"question":"Which color?"}]}}`: {Activity: session.Blocked, Detail: "Which color?"},
		`{"hook_event_name":"PermissionRequest","tool_name":"write_file","tool_input":{"file_path":"notes.md","content":"hello"}}`:         {Activity: session.Blocked, Detail: "use write_file?\nnotes.md"},
		`{"hook_event_name":"UserPromptSubmit","prompt":""}`:                                                                               {Activity: session.Working},
		`{"hook_event_name":"StopFailure","error":"rate_limit","error_details":"429 no","last_assistant_message":"[API Error: 429 no]"}`:   {Activity: session.BlockedAPI, Detail: "[API Error: 429 no]"},
	} {
		if got, ok := qwenSignal([]byte(told)); !ok || !cmp.Equal(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", told, got, ok, want)
		}
	}
}

// A failed request is tried seven times; a limit is reported from the first attempt.
func TestQwenFailures(t *testing.T) {
	at := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	record := func(text string) []byte {
		at = at.Add(time.Second)
		return []byte(`{"sessionId":"7f3e","cwd":"/work/shop","timestamp":"` + at.Format(time.RFC3339) + `",` + text + `}`)
	}
	prompt := func() []byte { return record(`"type":"user","message":{"parts":[{"text":"go"}]}`) }
	failure := func(status int, id string) []byte {
		return record(fmt.Sprintf(`"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_error","prompt_id":"7f3e%s","status_code":%d,"error_message":"no","error_type":"x"}}`, id, status))
	}
	const own = "########0"
	for name, c := range map[string]struct {
		status, times int
		id            string
		want          session.Activity
		turns         int
	}{
		"bad request":                 {400, 1, own, session.Failed, 1},
		"server error, once":          {500, 1, own, session.Working, 0},
		"server error, six times":     {503, 6, own, session.Working, 0},
		"server error, seven times":   {503, 7, own, session.Failed, 1},
		"limit, once":                 {429, 1, own, session.BlockedAPI, 0},
		"limit, seven times":          {429, 7, own, session.BlockedAPI, 1},
		"bad request of a sub-agent":  {400, 1, "#helper-x#0", session.Working, 0},
		"a connection that is broken": {0, 1, own, session.Failed, 1},
	} {
		lines := [][]byte{prompt()}
		for range c.times {
			lines = append(lines, failure(c.status, c.id))
		}
		if n := session.ReadTranscript(For(builtin("qwen")), lines); n.Activity != c.want || n.Turns != c.turns {
			t.Errorf("%s: %s after %d turns, want %s after %d", name, n.Activity, n.Turns, c.want, c.turns)
		}
	}
}

// TestQwenInterrupted checks that an interruption is detected before an answer and in tools, but
// not during an answer, which looks complete.
func TestQwenInterrupted(t *testing.T) {
	const (
		begin   = `{"sessionId":"7f3e","cwd":"/work/shop","timestamp":"2026-11-24T12:00:00Z",`
		prompt  = begin + `"type":"user","message":{"parts":[{"text":"go"}]}}`
		aborted = begin + `"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_error","prompt_id":"7f3e########0","error_message":"Request was aborted.","error_type":"APIUserAbortError"}}}`
		cut     = begin + `"type":"assistant","message":{"role":"model","parts":[{"text":"I begin"}]}}`
		calls   = begin + `"type":"assistant","message":{"role":"model","parts":[{"functionCall":{"id":"c1","name":"run_shell_command","args":{}}},{"functionCall":{"id":"c2","name":"run_shell_command","args":{}}}]}}`
		stopped = begin + `"type":"tool_result","toolCallResult":{"status":"cancelled"}}`
		ran     = begin + `"type":"tool_result","toolCallResult":{"status":"success"}}`
	)
	helper := strings.ReplaceAll(aborted, "7f3e########0", "7f3e#helper-x#0")
	for name, c := range map[string]struct {
		lines       []string
		want        session.Activity
		turns       int
		interrupted bool
	}{
		"before an answer":           {[]string{prompt, aborted}, session.Idle, 1, true},
		"in the middle of an answer": {[]string{prompt, cut}, session.Idle, 1, false},
		"its tools":                  {[]string{prompt, calls, stopped, stopped}, session.Idle, 1, true},
		"one of its tools":           {[]string{prompt, calls, ran, stopped}, session.Working, 0, false},
		"behind its tools":           {[]string{prompt, calls, ran, ran, aborted}, session.Idle, 1, true},
		"a sub-agent":                {[]string{prompt, helper}, session.Working, 0, false},
		"a message after it":         {[]string{prompt, aborted, prompt}, session.Working, 1, false},
		"a turn after it":            {[]string{prompt, aborted, prompt, cut}, session.Idle, 2, false},
		"another one after it":       {[]string{prompt, aborted, prompt, cut, prompt, aborted}, session.Idle, 3, true},
	} {
		if n := session.ReadTranscript(For(builtin("qwen")), jsonLines(c.lines...)); n.Activity != c.want || n.Turns != c.turns || n.Interrupted != c.interrupted {
			t.Errorf("%s: %s, %d turns, interrupted %v", name, n.Activity, n.Turns, n.Interrupted)
		}
	}
}

func TestQwenIgnoresHooks(t *testing.T) {
	const home, dir, repo = "/home/me/.qwen/settings.json", "/w/.qwen/settings.json", "/repo/.qwen/settings.json"
	const hooks = `{"hooks": {"Stop": []}}`
	for name, c := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"both have hooks":                  {map[string]string{home: hooks, dir: hooks}, true},
		"the workspace does not exist yet": {map[string]string{home: hooks, repo: hooks}, true},
		"it has comments":                  {map[string]string{home: "// mine\n" + hooks, dir: hooks}, true},
		"the workspace has other settings": {map[string]string{home: hooks, dir: "{}", repo: hooks}, false},
		"only the person's":                {map[string]string{home: hooks, dir: `{"hooks": {}}`}, false},
		"only the project's":               {map[string]string{dir: hooks}, false},
		"none":                             {nil, false},
	} {
		why, remedy := IgnoresHooks(session.Spec{Agent: Builtins()[Qwen], Workspace: session.Workspace{Repo: "/repo"}}, LoginFacts{
			At: session.Lookup{Home: "/home/me", Dir: "/w"},
			Read: func(path string) []byte {
				if text, there := c.files[path]; there {
					return []byte(text)
				}
				return nil
			},
		})
		if got := strings.Contains(why, home) && remedy != ""; got != c.want {
			t.Errorf("%s: %q, %q", name, why, remedy)
		}
	}
}
