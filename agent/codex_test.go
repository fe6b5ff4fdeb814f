package agent

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
	"github.com/google/go-cmp/cmp"
)

// codexBase are the arguments of every start of Codex.
var codexBase = []string{
	"-c", "features.daemon_auto_start=false", "-c", "check_for_update_on_startup=false",
	"-c", `tui.terminal_title=["activity","run-state","project-name"]`,
}

func TestCodexStart(t *testing.T) {
	for name, c := range map[string]struct {
		agent session.AgentSpec
		in    session.StartInput
		want  []string
		paste string
	}{
		"a prompt":     {builtin("codex"), session.StartInput{Prompt: "fix it"}, join([]string{"codex"}, codexBase, []string{"--", "fix it"}), ""},
		"no prompt":    {builtin("codex"), session.StartInput{}, join([]string{"codex"}, codexBase), ""},
		"a dash":       {builtin("codex"), session.StartInput{Prompt: "-v?"}, join([]string{"codex"}, codexBase, []string{"--", "-v?"}), ""},
		"a command":    {builtin("codex"), session.StartInput{Prompt: "/quit"}, join([]string{"codex"}, codexBase, []string{"--", " /quit"}), ""},
		"a shell line": {builtin("codex"), session.StartInput{Prompt: "!rm -r /"}, join([]string{"codex"}, codexBase, []string{"--", " !rm -r /"}), ""},
		"a file":       {builtin("codex"), session.StartInput{Prompt: "@README"}, join([]string{"codex"}, codexBase, []string{"--", "@README"}), ""},
		"a pasted shell line": {builtin("codex", func(s *session.AgentSpec) { s.PromptVia = ViaPaste }), session.StartInput{Prompt: "!ls"},
			join([]string{"codex"}, codexBase), " !ls"},
		"asks": {builtin("codex", func(s *session.AgentSpec) { s.Permissions = "ask" }), session.StartInput{Sandbox: true},
			join([]string{"codex"}, codexBase, []string{"-a", "on-request", "-s", "read-only"}), ""},
		"edits": {builtin("codex", func(s *session.AgentSpec) { s.Permissions = "edits" }), session.StartInput{Sandbox: true},
			join([]string{"codex"}, codexBase, []string{"-a", "on-request", "-s", "workspace-write"}), ""},
		"may all": {builtin("codex", func(s *session.AgentSpec) { s.Permissions = "all" }), session.StartInput{},
			join([]string{"codex"}, codexBase, []string{"--dangerously-bypass-approvals-and-sandbox"}), ""},
		"an id of ours is not taken": {builtin("codex"), session.StartInput{Fresh: "0199"}, join([]string{"codex"}, codexBase), ""},
		"everything": {
			builtin("codex", func(s *session.AgentSpec) { s.Permissions, s.Trust = "edits", true }),
			session.StartInput{
				Spec:   session.Spec{Workspace: session.Workspace{Path: `/w/a "b"\c`}, Profile: "work", Args: []string{"-m", "gpt-5"}},
				Prompt: "go on", Conversation: "id-1",
			},
			join([]string{"codex", "resume"}, codexBase, []string{
				"-c", `projects={"/w/a \"b\"\\c"={trust_level="trusted"}}`, "--profile", "work",
				"-a", "on-request", "-s", "workspace-write", "-m", "gpt-5", "id-1", "--", "go on",
			}), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.Spec.Agent = c.agent
			want := session.Start{Argv: c.want, Paste: c.paste}
			if diff := cmp.Diff(want, For(c.agent).Start(c.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The hash is the one that Codex 0.169.0 computed for this hook and stored in its config.toml when
// a user trusted it.
func TestCodexTrustsTheHooksItIsGiven(t *testing.T) {
	argv := codexHooks([]string{"/opt/it's/shim", "notify", "/run/1"})
	const command = `'/opt/it'\\''s/shim' 'notify' '/run/1'`
	if len(argv) != 2*len(codexEvents)+2 {
		t.Fatalf("%d words: %q", len(argv), argv)
	}
	for i, e := range codexEvents {
		want := `hooks.` + e[0] + `=[{hooks=[{type="command",command="` + command + `",timeout=3}]}]`
		if argv[2*i] != "-c" || argv[2*i+1] != want {
			t.Errorf("%q\nwant\n%q", argv[2*i+1], want)
		}
	}
	trust := argv[len(argv)-1]
	for _, e := range codexEvents {
		if !strings.Contains(trust, `"/<session-flags>/config.toml:`+e[1]+`:0:0"={trusted_hash="sha256:`) {
			t.Errorf("%s is not trusted: %s", e[0], trust)
		}
	}
	if codexHooks(nil) != nil {
		t.Error("hooks without anybody to tell")
	}
	if got := codexHookHash("stop", "/bin/echo <hi> & bye"); got != "sha256:5f9dc0316450fae13506d4a160be562eabe65cf29a39c76376a229cf07449808" {
		t.Errorf("the hash is %s", got)
	}
}

func TestCodexSignals(t *testing.T) {
	for data, want := range map[string]session.Detection{
		`{"session_id":"0199","hook_event_name":"UserPromptSubmit","prompt":"go"}`:                                              {Activity: session.Working},
		`{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"touch x","description":"need it"}}`: {Activity: session.Blocked, Detail: "run \"touch x\"?\nneed it"},
		`{"hook_event_name":"PermissionRequest","tool_name":"apply_patch","tool_input":{}}`:                                     {Activity: session.Blocked, Detail: "use apply_patch?"},
		`{"hook_event_name":"Stop","last_assistant_message":"done"}`:                                                            {Activity: session.Idle},
		`{"hook_event_name":"Interrupt"}`:                                                                                       {Activity: session.Idle},
	} {
		got, tells := codexSignal([]byte(data))
		if diff := cmp.Diff(want, got); diff != "" || !tells {
			t.Errorf("%s: %v %s", data, tells, diff)
		}
	}
	for _, data := range []string{`{"hook_event_name":"SessionStart","source":"startup"}`, `{"hook_event_name":"Later"}`, `no JSON`, ``,
		// The reports of its notify, including those of the thread that makes up a title.
		`{"type":"agent-turn-complete","thread-id":"1"}`} {
		if got, tells := codexSignal([]byte(data)); tells {
			t.Errorf("%s tells %v", data, got)
		}
	}
}

func TestCodexFiles(t *testing.T) {
	for name, c := range map[string]struct {
		of   session.Lookup
		want []string
	}{
		"a conversation": {session.Lookup{Home: "/h", Conversation: "01a1"}, []string{"/h/.codex/sessions/*/*/*/rollout-*-01a1.jsonl"}},
		"none yet":       {session.Lookup{Home: "/h"}, []string{"/h/.codex/sessions/*/*/*/rollout-*.jsonl"}},
		"its own home":   {session.Lookup{Home: "/h", Env: map[string]string{"CODEX_HOME": "/c[1]"}}, []string{`/c\[1]/sessions/*/*/*/rollout-*.jsonl`}},
		"no home":        {session.Lookup{Conversation: "01a1"}, nil},
	} {
		if diff := cmp.Diff(c.want, codexFiles(c.of)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The lines are from 0.169.0, without unused fields.
const (
	rolloutMeta    = `{"timestamp":"2026-11-21T05:35:14.145Z","type":"session_meta","payload":{"session_id":"01a1","id":"01a1","timestamp":"2026-11-21T05:35:14.015Z","cwd":"/w","cli_version":"0.169.0","source":"cli","thread_source":"user"}}`
	rolloutStarted = `{"timestamp":"2026-11-21T05:35:14.145Z","type":"event_msg","payload":{"type":"task_started","turn_id":"t1","started_at":1795239314}}`
	rolloutUser    = `{"timestamp":"2026-11-21T05:35:14.316Z","type":"event_msg","payload":{"type":"item_completed","turn_id":"t1","item":{"type":"UserMessage","content":[{"type":"text","text":"make it"}]}}}`
	rolloutCall    = `{"timestamp":"2026-11-21T05:35:14.364Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\": \"touch x.txt\", \"justification\": \"need it\"}","call_id":"c1"}}`
	rolloutOutput  = `{"timestamp":"2026-11-21T05:35:20.054Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"Chunk ID: 53ede7\nWall time: 0.0000 seconds\nProcess exited with code 0\nOutput:\nall made\n"}}`
	rolloutTokens  = `{"timestamp":"2026-11-21T05:35:21.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":200,"output_tokens":40,"total_tokens":240}},"rate_limits":{"limit_id":"codex","primary":null,"plan_type":null}}}`
	rolloutAgent   = `{"timestamp":"2026-11-21T05:35:21.100Z","type":"event_msg","payload":{"type":"item_completed","turn_id":"t1","item":{"type":"AgentMessage","content":[{"type":"Text","text":"made"}]}}}`
	rolloutDone    = `{"timestamp":"2026-11-21T05:35:22.000Z","type":"event_msg","payload":{"type":"task_complete","turn_id":"t1","last_agent_message":"made","duration_ms":5135}}`
	rolloutAborted = `{"timestamp":"2026-11-21T05:35:22.000Z","type":"event_msg","payload":{"type":"turn_aborted","turn_id":"t1","reason":"interrupted"}}`
	rolloutUsed    = `{"timestamp":"2026-11-21T05:35:21.000Z","type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":{"limit_id":"codex","primary":{"used_percent":100.0,"window_minutes":300,"resets_at":1795246514},"secondary":{"used_percent":61.0,"window_minutes":10080,"resets_at":1795800000}}}}`
)

func rolloutFailed(info string) string {
	return `{"timestamp":"2026-11-21T05:35:22.000Z","type":"event_msg","payload":{"type":"task_complete","turn_id":"t1","last_agent_message":null,"error":{"message":"it failed","codex_error_info":` + info + `}}}`
}

func jsonLines(text ...string) [][]byte {
	return bytes.Split([]byte(strings.Join(text, "\n")), []byte("\n"))
}

func when(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestCodexTranscript(t *testing.T) {
	ended := when(t, "2026-11-21T05:35:22Z")
	used := []session.LimitWindow{
		{Length: session.Duration(5 * time.Hour), Used: 100, ResetsAt: time.Unix(1795246514, 0)},
		{Length: session.Duration(7 * 24 * time.Hour), Used: 61, ResetsAt: time.Unix(1795800000, 0)},
	}
	started := session.Transcript{Conversation: "01a1", Dir: "/w", StartedAt: when(t, "2026-11-21T05:35:14.015Z"), At: when(t, "2026-11-21T05:35:14.145Z")}
	with := func(edit func(*session.Transcript)) session.Transcript {
		n := started
		edit(&n)
		return n
	}
	for name, c := range map[string]struct {
		lines []string
		want  session.Transcript
	}{
		"before a turn": {[]string{rolloutMeta}, started},
		"works": {[]string{rolloutMeta, rolloutStarted, rolloutUser}, with(func(n *session.Transcript) {
			n.Activity, n.Prompts, n.LastPrompt, n.At = session.Working, 1, "make it", when(t, "2026-11-21T05:35:14.316Z")
		})},
		"a tool runs or waits for approval": {[]string{rolloutMeta, rolloutStarted, rolloutUser, rolloutCall}, with(func(n *session.Transcript) {
			n.Prompts, n.LastPrompt, n.At = 1, "make it", when(t, "2026-11-21T05:35:14.364Z")
		})},
		"a turn": {[]string{rolloutMeta, rolloutStarted, rolloutUser, rolloutCall, rolloutOutput, rolloutTokens, rolloutAgent, rolloutDone}, with(func(n *session.Transcript) {
			n.Activity, n.Prompts, n.LastPrompt, n.At = session.Idle, 1, "make it", ended
			n.Turns, n.FirstTurnAt, n.Tokens, n.LastMessage = 1, ended, 240, "made"
			n.AnsweredAt = ended.Add(-time.Second)
		})},
		"interrupted": {[]string{rolloutMeta, rolloutStarted, rolloutCall, rolloutAborted}, with(func(n *session.Transcript) {
			n.Activity, n.At, n.Turns, n.TurnAt, n.Interrupted = session.Idle, ended, 1, ended, true
		})},
		"interrupted, the beginning is missing": {[]string{rolloutMeta, rolloutAborted}, with(func(n *session.Transcript) {
			n.Activity, n.At, n.Turns, n.TurnAt, n.Interrupted = session.Idle, ended, 1, ended, true
		})},
		"a turn begins after an interruption": {[]string{rolloutMeta, rolloutStarted, rolloutAborted, rolloutStarted}, with(func(n *session.Transcript) {
			n.Activity, n.Turns, n.TurnAt = session.Working, 1, ended
		})},
		"a message after an interruption": {[]string{rolloutMeta, rolloutStarted, rolloutAborted, rolloutUser}, with(func(n *session.Transcript) {
			n.Activity, n.Turns, n.TurnAt = session.Idle, 1, ended
			n.Prompts, n.LastPrompt, n.At = 1, "make it", when(t, "2026-11-21T05:35:14.316Z")
		})},
		"a turn after an interruption": {[]string{rolloutMeta, rolloutStarted, rolloutAborted, rolloutStarted, rolloutDone}, with(func(n *session.Transcript) {
			n.Activity, n.At, n.Turns, n.FirstTurnAt, n.LastMessage = session.Idle, ended, 2, ended, "made"
		})},
		"aborted by Codex itself": {[]string{rolloutMeta, rolloutStarted, strings.ReplaceAll(rolloutAborted, `"interrupted"`, `"replaced"`)}, with(func(n *session.Transcript) {
			n.Activity, n.At, n.Turns, n.FirstTurnAt = session.Idle, ended, 1, ended
		})},
		"too many requests": {[]string{rolloutMeta, rolloutStarted, rolloutFailed(`{"response_too_many_failed_attempts":{"http_status_code":429}}`)}, with(func(n *session.Transcript) {
			n.Activity, n.Detail, n.At, n.Turns, n.TurnAt = session.BlockedAPI, "it failed", ended, 1, ended
		})},
		"the account's limit": {[]string{rolloutMeta, rolloutStarted, rolloutUsed, rolloutFailed(`"usage_limit_exceeded"`)}, with(func(n *session.Transcript) {
			n.Activity, n.Detail, n.At, n.Turns, n.TurnAt = session.BlockedAPI, "it failed", ended, 1, ended
			n.Until, n.Limits = time.Unix(1795246514, 0), used
		})},
		"a bad key": {[]string{rolloutMeta, rolloutStarted, rolloutFailed(`{"http_connection_failed":{"http_status_code":401}}`)}, with(func(n *session.Transcript) {
			n.RefusedAt = ended
			n.Activity, n.Detail, n.At, n.Turns, n.TurnAt = session.Failed, "it failed", ended, 1, ended
		})},
		"the server's fault": {[]string{rolloutMeta, rolloutStarted, rolloutFailed(`"internal_server_error"`)}, with(func(n *session.Transcript) {
			n.Activity, n.Detail, n.At, n.Turns, n.TurnAt = session.Failed, "it failed", ended, 1, ended
		})},
		"goes on after a failure": {[]string{rolloutMeta, rolloutStarted, rolloutUsed, rolloutFailed(`"usage_limit_exceeded"`), rolloutStarted}, with(func(n *session.Transcript) {
			n.Activity, n.Turns, n.TurnAt, n.Limits = session.Working, 1, ended, used
		})},
		"resumed: its first line says where and when": {[]string{rolloutMeta, rolloutStarted, rolloutDone, strings.ReplaceAll(rolloutMeta, "/w", "/other")}, with(func(n *session.Transcript) {
			n.Activity, n.Turns, n.FirstTurnAt, n.LastMessage = session.Idle, 1, ended, "made"
		})},
		"a helper's own": {[]string{strings.ReplaceAll(rolloutMeta, `"thread_source":"user"`, `"thread_source":"subagent"`), rolloutStarted}, session.Transcript{}},
		"nothing":        {nil, session.Transcript{}},
		"not known":      {[]string{`{"type":"world_state","payload":{"full":true}}`, `[]`, `{`, `"text"`}, session.Transcript{}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want.TurnAt.IsZero() {
				c.want.TurnAt = c.want.FirstTurnAt // all end at the same time
			}
			if c.want.LastPrompt != "" {
				c.want.PromptAt = when(t, "2026-11-21T05:35:14.316Z")
				c.want.Messages = []session.Message{{At: c.want.PromptAt, Text: c.want.LastPrompt}}
			}
			if diff := cmp.Diff(c.want, session.ReadTranscript(For(builtin("codex")), jsonLines(c.lines...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCodexEntries(t *testing.T) {
	type entry struct{ Kind, Text string }
	want := []entry{
		{"info", "Codex 0.169.0 in /w"}, {"user", "make it"}, {"tool", "exec_command touch x.txt"}, {"result", "all made"},
		{"usage", "120 tokens (100 in, 20 out)"}, {"agent", "made"}, {"info", "turn interrupted"}, {"error", "it failed"},
	}
	var got []entry
	for _, line := range jsonLines(rolloutMeta, rolloutStarted, rolloutUser, rolloutCall, rolloutOutput,
		`{"timestamp":"2026-11-21T05:35:21.000Z","type":"token_usage_record","payload":{"usage":{"input_tokens":100,"output_tokens":20,"total_tokens":120}}}`,
		rolloutTokens, rolloutAgent, rolloutDone, rolloutAborted, rolloutFailed(`"internal_server_error"`), `{`, `{"type":"later"}`) {
		for _, e := range codexEntries(line) {
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

func TestALongTextIsClipped(t *testing.T) {
	if got := clip(strings.Repeat("é", entryLimit)); len(got) > entryLimit+len(" …") || !strings.HasSuffix(got, "é …") {
		t.Errorf("%d bytes, ends in %q", len(got), got[len(got)-8:])
	}
	if got := clip("short"); got != "short" {
		t.Error(got)
	}
}

func TestTOMLString(t *testing.T) {
	if got := tomlString("a\"b\\c\nd\x7fé"); got != `"a\"b\\c\u000Ad\u007Fé"` {
		t.Error(got)
	}
}

func TestShared(t *testing.T) {
	for line, want := range map[string]bool{
		"/home/x/.codex/packages/app-server-daemon/releases/0.169.0/bin/codex app-server --listen unix:// --managed-daemon": true,
		"codex app-server daemon pid-update-loop": true,
		"codex":                  false,
		"codex -- app-server":    false,
		"node /bin/codex resume": false,
		"claude app-server":      false,
		"":                       false,
	} {
		if got := Shared(strings.Fields(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
