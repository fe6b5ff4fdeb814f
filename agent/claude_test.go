package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
	"github.com/google/go-cmp/cmp"
)

func TestClaudeStart(t *testing.T) {
	hooked := func(in *session.StartInput) {
		in.Notify, in.Private = []string{"/data/bin/shim", "notify", "/data/runs/it's"}, "/data/runs/r1/private"
	}
	for name, c := range map[string]struct {
		agent        func(*session.AgentSpec)
		input        func(*session.StartInput)
		argv         []string
		env          map[string]string // in addition to the variables that are always set
		conversation string
	}{
		"an id chosen in advance": {nil, func(in *session.StartInput) { in.Fresh, in.Prompt = "f1", "go" },
			[]string{"--session-id", "f1", "--", "go"}, nil, "f1"},
		"an old conversation": {nil, func(in *session.StartInput) { in.Fresh, in.Conversation = "f1", "c1" },
			[]string{"--resume", "c1"}, nil, "c1"},
		"a conversation that the person chose": {nil, func(in *session.StartInput) { in.Fresh, in.Spec.Args = "f1", []string{"--session-id=mine"} },
			[]string{"--session-id=mine"}, nil, ""},
		"the last one": {func(s *session.AgentSpec) { s.Command = []string{"claude", "-c"} }, func(in *session.StartInput) { in.Fresh = "f1" },
			[]string{"-c"}, nil, ""},
		"hooks": {nil, hooked, []string{"--settings", "/data/runs/r1/private/claude.json"}, nil, ""},
		"hooks, and the person's own settings": {nil, func(in *session.StartInput) {
			hooked(in)
			in.Spec.Args = []string{"--settings", "mine.json"}
		}, []string{"--settings", "mine.json"}, nil, ""},
		"trusted": {func(s *session.AgentSpec) { s.Trust = true }, nil, nil, map[string]string{"CLAUDE_CODE_SANDBOXED": "1"}, ""},
		"all, as root in a container": {func(s *session.AgentSpec) { s.Permissions = "all" }, func(in *session.StartInput) { in.Root, in.Sandbox = true, true },
			[]string{"--permission-mode", "bypassPermissions", "--settings", `{"skipDangerousModePermissionPrompt":true}`}, map[string]string{"IS_SANDBOX": "1"}, ""},
		"all, as root on the host": {func(s *session.AgentSpec) { s.Permissions = "all" }, func(in *session.StartInput) { in.Root = true },
			[]string{"--permission-mode", "bypassPermissions", "--settings", `{"skipDangerousModePermissionPrompt":true}`}, nil, ""},
		"a prompt like a command": {nil, func(in *session.StartInput) { in.Prompt = "/exit" }, []string{"--", " /exit"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec := builtin("claude")
			if c.agent != nil {
				c.agent(&spec)
			}
			in := session.StartInput{Spec: session.Spec{Agent: spec}}
			if c.input != nil {
				c.input(&in)
			}
			got := For(spec).Start(in)
			env := map[string]string{"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_AGENT_VIEW": "1", "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false"}
			for k, v := range c.env {
				env[k] = v
			}
			want := append([]string{"claude"}, c.argv...)
			if name == "the last one" {
				want = []string{"claude", "-c"}
			}
			if diff := cmp.Diff(want, got.Argv); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(env, got.Env); diff != "" {
				t.Error(diff)
			}
			if got.Conversation != c.conversation {
				t.Errorf("conversation %q, want %q", got.Conversation, c.conversation)
			}
		})
	}
}

func TestClaudeSettings(t *testing.T) {
	in := session.StartInput{Private: "/p", Notify: []string{"/bin/shim", "notify", "/data/it's"}, Spec: session.Spec{Agent: builtin("claude", func(s *session.AgentSpec) { s.Permissions = "all" })}}
	files := For(in.Spec.Agent).Start(in).Files
	var got struct {
		Skip  bool `json:"skipDangerousModePermissionPrompt"`
		Hooks map[string][]struct {
			Hooks []struct {
				Type, Command string
				Timeout       int
			}
		}
	}
	if err := json.Unmarshal([]byte(files["claude.json"]), &got); err != nil || len(files) != 1 {
		t.Fatalf("%v: %q", err, files)
	}
	if !got.Skip || len(got.Hooks) != 8 {
		t.Errorf("%+v", got)
	}
	for event, hooks := range got.Hooks {
		if h := hooks[0].Hooks[0]; h.Type != "command" || h.Command != `'/bin/shim' 'notify' '/data/it'\''s'` {
			t.Errorf("%s: %+v", event, h)
		}
		// Claude Code's default for this hook is too short.
		if h := hooks[0].Hooks[0]; (h.Timeout == 5) != (event == "SessionEnd") {
			t.Errorf("%s has %d seconds", event, h.Timeout)
		}
		if _, told := claudeSignal([]byte(`{"hook_event_name":"` + event + `"}`)); !told && event != "Notification" {
			t.Errorf("%s is asked for, and means nothing", event)
		}
	}
}

func TestClaudeSignals(t *testing.T) {
	for data, want := range map[string]session.Detection{
		`{"hook_event_name":"SessionStart","source":"startup"}`:                                                                           {Activity: session.Idle},
		`{"hook_event_name":"UserPromptSubmit","prompt":"go"}`:                                                                            {Activity: session.Working},
		`{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm -r build","description":"Clean"}}`:         {Activity: session.Blocked, Detail: "run \"rm -r build\"?"},
		`{"hook_event_name":"PermissionRequest","tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which color?"}]}}`:  {Activity: session.Blocked, Detail: "Which color?"},
		`{"hook_event_name":"PermissionRequest","tool_name":"mcp__x__y","tool_input":{"n":1}}`:                                            {Activity: session.Blocked, Detail: "use mcp__x__y?\n{\"n\":1}"},
		`{"hook_event_name":"PostToolUse","tool_name":"Bash"}`:                                                                            {Activity: session.Working},
		`{"hook_event_name":"Stop","last_assistant_message":"Fixed."}`:                                                                    {Activity: session.Idle},
		`{"hook_event_name":"StopFailure","error":"rate_limit","last_assistant_message":"You've hit your limit · resets 3pm"}`:            {Activity: session.BlockedAPI, Detail: "You've hit your limit · resets 3pm"},
		`{"hook_event_name":"StopFailure","error":"authentication_failed","error_details":"401"}`:                                         {Activity: session.Failed, Detail: "401", Refused: true},
		`{"hook_event_name":"StopFailure","error":"unknown"}`:                                                                             {Activity: session.Failed, Detail: "unknown"},
		`{"hook_event_name":"SessionEnd","reason":"prompt_input_exit"}`:                                                                   {Activity: session.Exited, Detail: "prompt_input_exit"},
		`{"hook_event_name":"Notification","notification_type":"idle_prompt"}`:                                                            {Activity: session.Idle},
		`{"hook_event_name":"Notification","notification_type":"elicitation_dialog","message":"A server asks"}`:                           {Activity: session.Blocked, Detail: "A server asks"},
		`{"hook_event_name":"Notification","notification_type":"permission_prompt","message":"Claude needs your permission to use Bash"}`: {},
		`{"hook_event_name":"SessionEnd","reason":"clear"}`:                                                                               {},
		`{"hook_event_name":"PreCompact"}`:                                                                                                {},
		`[1]`:                                                                                                                             {},
	} {
		got, told := claudeSignal([]byte(data))
		if got != want || told != (want != session.Detection{}) {
			t.Errorf("%s: %+v, %v", data, got, told)
		}
	}
}

func TestClaudeFiles(t *testing.T) {
	for name, c := range map[string]struct {
		of   session.Lookup
		want []string
	}{
		"a run": {session.Lookup{Dir: "/work/my shop.v2", Home: "/home/me", Conversation: "c1", Process: session.Process{PID: 42}},
			[]string{"/home/me/.claude/projects/*-my-shop-v2/c1.jsonl", "/home/me/.claude/sessions/42.json"}},
		"any conversation of a folder": {session.Lookup{Dir: "/work/shop", Home: "/home/me"}, []string{"/home/me/.claude/projects/*-shop/*.jsonl"}},
		"a folder of its own": {session.Lookup{Dir: "/work/shop", Home: "/home/me", Conversation: "c1", Env: map[string]string{"CLAUDE_CONFIG_DIR": "/etc/c[1]"}},
			[]string{`/etc/c\[1]/projects/*-shop/c1.jsonl`}},
		"a long path": {session.Lookup{Dir: "/" + strings.Repeat("long", 60), Home: "/h", Conversation: "c1"},
			[]string{"/h/.claude/projects/-" + strings.Repeat("long", 60)[:199] + "-*/c1.jsonl"}},
		"no home": {session.Lookup{Dir: "/work/shop", Conversation: "c1"}, nil},
	} {
		if diff := cmp.Diff(c.want, For(builtin("claude")).Files(c.of)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestClaudeQueue checks what each line of a transcript shows of messages typed during work; the
// state file comes last.
func TestClaudeQueue(t *testing.T) {
	op := func(second int, name string) string {
		return fmt.Sprintf(`{"type":"queue-operation","operation":%q,"timestamp":"2026-03-14T12:00:%02dZ","sessionId":"c1"}`, name, second)
	}
	const prompt = `{"type":"user","timestamp":"2026-03-14T12:00:00Z","sessionId":"c1","message":{"role":"user","content":"fix it"}}`
	const ended = `{"type":"system","subtype":"turn_duration","timestamp":"2026-03-14T12:00:05Z"}`
	for name, c := range map[string]struct {
		lines    []string
		queued   int
		taken    bool
		activity session.Activity
	}{
		"one waits":                {[]string{prompt, op(1, "enqueue")}, 1, false, session.Working},
		"one waits after the turn": {[]string{prompt, op(1, "enqueue"), ended}, 1, false, session.Idle},
		"it is taken up":           {[]string{prompt, op(1, "enqueue"), op(6, "dequeue"), ended}, 0, true, session.Working},
		"one of two is":            {[]string{prompt, op(1, "enqueue"), op(2, "enqueue"), op(6, "dequeue"), ended}, 1, true, session.Working},
		"within the turn":          {[]string{prompt, op(1, "enqueue"), op(2, "remove"), ended}, 0, false, session.Idle},
		"all are taken back":       {[]string{prompt, op(1, "enqueue"), op(2, "enqueue"), op(3, "popAll"), ended}, 0, false, session.Idle},
		"more than is known of":    {[]string{prompt, op(6, "dequeue")}, 0, true, session.Working},
	} {
		n := session.ReadTranscript(For(builtin("claude")), jsonLines(c.lines...))
		if len(n.Queued) != c.queued || n.TakenAt.IsZero() == c.taken || n.Activity != c.activity {
			t.Errorf("%s: %d wait, taken %v, %s", name, len(n.Queued), n.TakenAt, n.Activity)
		}
	}
}

// TestClaudeMessages checks which messages a transcript shows as taken up: those that began a turn,
// and those that were taken up within one.
func TestClaudeMessages(t *testing.T) {
	n := session.ReadTranscript(For(builtin("claude")), jsonLines(
		`{"type":"user","timestamp":"2026-03-14T12:00:00Z","message":{"content":"one"}}`,
		`{"type":"queue-operation","operation":"enqueue","timestamp":"2026-03-14T12:00:01Z","content":"two"}`,
		`{"type":"queue-operation","operation":"enqueue","timestamp":"2026-03-14T12:00:02Z","content":"three"}`,
		`{"type":"queue-operation","operation":"remove","timestamp":"2026-03-14T12:00:03Z"}`,
		`{"type":"attachment","timestamp":"2026-03-14T12:00:01Z","attachment":{"type":"queued_command","prompt":"two","commandMode":"prompt"}}`,
		`{"type":"attachment","timestamp":"2026-03-14T12:00:01Z","attachment":{"type":"skill_listing","content":"- a skill"}}`,
	))
	at := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	want := []session.Message{{At: at, Text: "one"}, {At: at.Add(time.Second), Text: "two"}}
	if diff := cmp.Diff(want, n.Messages); diff != "" || len(n.Queued) != 1 || n.Queued[0].Text != "three" {
		t.Errorf("%v wait, %s", n.Queued, diff)
	}
}

func TestClaudeTranscript(t *testing.T) {
	const (
		prompt  = `{"type":"user","timestamp":"2026-03-14T12:00:00Z","sessionId":"c1","cwd":"/w","message":{"role":"user","content":"fix it"}}`
		meta    = `{"type":"user","isMeta":true,"timestamp":"2026-03-14T12:00:00Z","message":{"content":"<caveat>"}}`
		command = `{"type":"user","timestamp":"2026-03-14T12:00:00Z","message":{"content":"<command-name>/clear</command-name>"}}`
		text    = `{"type":"assistant","timestamp":"2026-03-14T12:00:01Z","message":{"id":"m1","content":[{"type":"text","text":"I look."}],"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":2}}}`
		tool    = `{"type":"assistant","timestamp":"2026-03-14T12:00:02Z","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"stop_reason":"tool_use","usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":2}}}`
		result  = `{"type":"user","timestamp":"2026-03-14T12:00:03Z","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"a b"}]}}`
		helper  = `{"type":"assistant","isSidechain":true,"timestamp":"2026-03-14T12:00:03Z","message":{"content":[{"type":"text","text":"I am a helper."}]}}`
		limit   = `{"type":"assistant","timestamp":"2026-03-14T12:00:04Z","isApiErrorMessage":true,"error":"rate_limit","message":{"content":[{"type":"text","text":"You've hit your limit"}]}}`
		ended   = `{"type":"system","subtype":"turn_duration","timestamp":"2026-03-14T12:00:05Z","durationMs":5000}`
		stopped = `{"type":"user","timestamp":"2026-03-14T12:00:05Z","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}`
		again   = `{"type":"user","timestamp":"2026-03-14T12:00:06Z","message":{"content":"once more"}}`
		over    = `{"type":"system","subtype":"turn_duration","timestamp":"2026-03-14T12:00:07Z","durationMs":1000}`
		denied  = `{"type":"user","timestamp":"2026-03-14T12:00:05Z","message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}`
		queued  = `{"type":"queue-operation","operation":"enqueue","timestamp":"2026-03-14T12:00:04Z","content":"once more"}`
		taken   = `{"type":"queue-operation","operation":"dequeue","timestamp":"2026-03-14T12:00:06Z"}`
		idle    = `{"pid":7,"sessionId":"c1","cwd":"/w","startedAt":1773489600000,"status":"idle","statusUpdatedAt":1773489610000}`
		before  = `{"pid":7,"sessionId":"c1","status":"idle","statusUpdatedAt":1773489599000}`
		busy    = `{"pid":7,"sessionId":"c1","status":"busy"}`
		waits   = `{"pid":7,"sessionId":"c1","status":"waiting","waitingFor":"permission prompt"}`
		dialog  = `{"pid":7,"sessionId":"c1","status":"waiting","waitingFor":"dialog open"}`
		other   = `{"pid":7,"sessionId":"c2","status":"idle"}`
		// Of claude --print: each block of an answer is a line with the answer's stop reason.
		looks   = `{"type":"assistant","entrypoint":"sdk-cli","timestamp":"2026-03-14T12:00:02Z","message":{"id":"m2","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}],"stop_reason":"tool_use"}}`
		thinks  = `{"type":"assistant","entrypoint":"sdk-cli","timestamp":"2026-03-14T12:00:04Z","message":{"id":"m3","content":[{"type":"thinking"}],"stop_reason":"end_turn"}}`
		printed = `{"type":"assistant","entrypoint":"sdk-cli","timestamp":"2026-03-14T12:00:04Z","message":{"id":"m3","content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn"}}`
		refused = `{"type":"assistant","entrypoint":"sdk-cli","timestamp":"2026-03-14T12:00:04Z","isApiErrorMessage":true,"error":"rate_limit","message":{"id":"m4","content":[{"type":"text","text":"You've hit your limit"}],"stop_reason":"stop_sequence"}}`
	)
	interrupted := map[string]bool{"an interruption": true, "interrupted, and it is idle": true, "an interruption alone": true, "a permission is refused": true, "interrupted while one waits": true}
	for name, c := range map[string]struct {
		lines    []string
		activity session.Activity
		detail   string
		prompts  int
		turns    int
		tokens   int64
	}{
		"nothing":                        {nil, "", "", 0, 0, 0},
		"what it does not know":          {[]string{`{"type":"mode","mode":"normal"}`, `[]`, `{`, `{"type":"system","subtype":"local_command"}`}, "", "", 0, 0, 0},
		"a prompt":                       {[]string{meta, prompt}, session.Working, "", 1, 0, 0},
		"a command of its own":           {[]string{command}, "", "", 0, 0, 0},
		"an answer":                      {[]string{prompt, text}, session.Working, "", 1, 0, 17},
		"a tool that runs or may not":    {[]string{prompt, text, tool}, session.Working, "", 1, 0, 17},
		"a tool that asks":               {[]string{prompt, text, tool, waits}, session.Blocked, "run \"ls\"?", 1, 0, 17},
		"a question not written yet":     {[]string{prompt, waits}, session.Blocked, "", 1, 0, 0},
		"a dialog over a tool":           {[]string{prompt, text, tool, dialog}, session.Blocked, "", 1, 0, 17},
		"a tool that ran":                {[]string{prompt, text, tool, result, busy}, session.Working, "", 1, 0, 17},
		"a helper at work":               {[]string{prompt, helper}, session.Working, "", 1, 0, 0},
		"the end of a turn":              {[]string{prompt, text, ended}, session.Idle, "", 1, 1, 17},
		"an interruption":                {[]string{prompt, text, tool, stopped}, session.Idle, "", 1, 1, 17},
		"interrupted, and it is idle":    {[]string{prompt, text, stopped, idle}, session.Idle, "", 1, 1, 17},
		"an interruption alone":          {[]string{stopped}, session.Idle, "", 0, 1, 0},
		"a permission is refused":        {[]string{prompt, text, tool, result, denied}, session.Idle, "", 1, 1, 17},
		"interrupted, and a message":     {[]string{prompt, stopped, again}, session.Working, "", 2, 1, 0},
		"interrupted, and a turn":        {[]string{prompt, stopped, again, over}, session.Idle, "", 2, 2, 0},
		"interrupted while one waits":    {[]string{prompt, queued, stopped}, session.Idle, "", 1, 1, 0},
		"one that waited is taken up":    {[]string{prompt, queued, stopped, taken}, session.Working, "", 1, 1, 0},
		"a limit":                        {[]string{prompt, limit, ended}, session.BlockedAPI, "You've hit your limit", 1, 1, 0},
		"a limit, and it is idle":        {[]string{prompt, limit, ended, idle}, session.BlockedAPI, "You've hit your limit", 1, 1, 0},
		"a limit before its prompt":      {[]string{limit, prompt, idle}, session.BlockedAPI, "You've hit your limit", 1, 0, 0},
		"a limit that is over":           {[]string{prompt, limit, ended, again}, session.Working, "", 2, 1, 0},
		"idle from the start":            {[]string{idle}, session.Idle, "", 0, 0, 0},
		"idle before its prompt":         {[]string{prompt, before}, session.Working, "", 1, 0, 0},
		"idle before a command":          {[]string{command, before}, session.Idle, "", 0, 0, 0},
		"idle before its turn ended":     {[]string{prompt, text, ended, before}, session.Idle, "", 1, 1, 17},
		"taken back before any answer":   {[]string{prompt, idle}, session.Idle, "", 1, 0, 0},
		"busy behind an ended turn":      {[]string{prompt, ended, busy}, session.Working, "", 1, 1, 0},
		"printed, a tool runs":           {[]string{prompt, looks}, session.Working, "", 1, 0, 0},
		"printed":                        {[]string{prompt, looks, result, printed}, session.Idle, "", 1, 1, 0},
		"printed, of two blocks":         {[]string{prompt, thinks, printed}, session.Idle, "", 1, 1, 0},
		"printed, a limit":               {[]string{prompt, refused}, session.BlockedAPI, "You've hit your limit", 1, 1, 0},
		"another conversation was begun": {[]string{prompt, ended, other}, session.Idle, "", 1, 1, 0},
	} {
		var lines [][]byte
		for _, l := range c.lines {
			lines = append(lines, []byte(l))
		}
		n := session.ReadTranscript(For(builtin("claude")), lines)
		if n.Activity != c.activity || n.Detail != c.detail || n.Prompts != c.prompts || n.Turns != c.turns || n.Tokens != c.tokens || n.Interrupted != interrupted[name] {
			t.Errorf("%s: %+v", name, n)
		}
	}
	n := session.ReadTranscript(For(builtin("claude")), [][]byte{[]byte(prompt), []byte(text), []byte(ended), []byte(other)})
	at := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	want := session.Transcript{
		Conversation: "c2", Dir: "/w", StartedAt: at, Activity: session.Idle, At: at.Add(5 * time.Second), FirstTurnAt: at.Add(5 * time.Second), TurnAt: at.Add(5 * time.Second),
		Prompts: 1, PromptAt: at, Turns: 1, Tokens: 17, AnsweredAt: at.Add(time.Second), LastPrompt: "fix it", LastMessage: "I look.",
		Messages: []session.Message{{At: at, Text: "fix it"}},
	}
	if diff := cmp.Diff(want, n); diff != "" {
		t.Error(diff)
	}
}
