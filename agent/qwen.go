package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/agentform/agentform/session"
)

// qwen is Qwen Code, measured with 0.15.10 and described in docs/agents/qwen.md. It is derived from
// Gemini CLI and looks like it; its hooks are Claude Code's, as is much of its session file.
func qwen() kind {
	return kind{
		spec: session.AgentSpec{
			PromptVia:      ViaArgument,
			Ready:          `^[>*]\s+Type your message`,
			StatusBarLines: 1,
			// Its session file comes with the first prompt.
			Observable: AtFirstPrompt,
		},
		tested: "0.15.10",
		start:  qwenStart,
		paths:  []string{"/@qwen-code/qwen-code/"},
		marks: marks{
			composer: `^[>*!] +(.*)$`,
			hint:     `^Type your message`,
			question: toolQuestion,
			blocked: []string{
				`^\? +[A-Z]\w* .*←$`, // the tool and its action, above the question
				`Allow execution of`,
				`Apply this change\?`,
				`Waiting for user confirmation`,
				`Do you trust this folder\?`,
				`Select Authentication Method`,
				`^Enter to (select|submit)\b.*Esc to go back`,
			},
			blockedAPI: []string{`✕ \[API Error: .*(\b429\b|[Rr]ate limit|quota)`},
			failed:     []string{`✕ \[API Error: `},
			working:    []string{`\(\d[\dhms ]*(?: · [↑↓] [\d.,]+\w? tokens)? · esc to cancel\)`},
			ui:         []string{`Type your message`, `esc to cancel|Press Ctrl\+C again to exit|\? for shortcuts`},
			started:    []string{`>_ Qwen Code \(v\d`, `^[✦✕●] `},
			turn:       `^[>!] +\S`,
		},
		// A prompt that starts with one of these is always a command or a shell command.
		commands:   "/!?",
		shield:     "\u200b", // a zero-width space: blanks are ignored
		files:      qwenFiles,
		transcript: func() session.TranscriptReader { return &qwenChat{turns: turns{repeats: true}} },
		entries:    qwenEntries,
		usage:      qwenUsage,
		signal:     qwenSignal,

		conversation: qwenHookConversation,
		reads:        qwenReads,
		credentials:  qwenCredentials,
		login:        qwenLogin,
		relogin:      "start qwen",
		ignoresHooks: qwenIgnoresHooks,
	}
}

var qwenPermissions = map[string][]string{
	"ask":   {"--approval-mode", "default"},
	"edits": {"--approval-mode", "auto-edit"},
	"all":   {"--approval-mode", "yolo"},
}

// The names of a run's files: settings, and trusted folders.
const (
	qwenSettings = "qwen.json"
	qwenTrusted  = "qwen-trusted.json"
)

// qwenEvents are the requested hooks. Notification is not among them, since it reports idle after
// each turn, even a failed one.
var qwenEvents = []string{"SessionStart", "UserPromptSubmit", "PermissionRequest", "PostToolUse", "Stop", "StopFailure", "SessionEnd"}

// qwenTools maps tools with their own dialogs to Claude Code's names.
var qwenTools = map[string]string{"run_shell_command": "Bash", "ask_user_question": "AskUserQuestion"}

// qwenHookConversation returns the conversation of a hook: Qwen Code opens its session file only to
// write a line.
func qwenHookConversation(signal []byte) string {
	var s struct {
		Conversation string `json:"session_id"`
	}
	_ = json.Unmarshal(signal, &s) // without an id it is empty
	return s.Conversation
}

// qwenSignal returns the meaning of a hook's report, which is in Claude Code's format. No hook
// reports a turn that was interrupted, or whose tools were all refused; the session file does.
func qwenSignal(data []byte) (session.Detection, bool) {
	var told claudeTold
	if json.Unmarshal(data, &told) != nil {
		return session.Detection{}, false
	}
	if told.Event == "PermissionRequest" {
		return session.Detection{Activity: session.Blocked, Detail: claudeAsks(cmp.Or(qwenTools[told.Tool], told.Tool), told.Input)}, true
	}
	return claudeSignal(data)
}

func qwenStart(in session.StartInput) session.Start {
	s := in.Spec
	start := session.Start{
		Argv: join(s.Agent.Command, qwenPermissions[s.Agent.Permissions]),
		// Otherwise it starts itself a second time, and both processes outlive the terminal.
		Env: map[string]string{"QWEN_CODE_NO_RELAUNCH": "true"},
	}
	maps.Copy(start.Env, qwenTelemetry(s.Telemetry))
	if in.Private != "" {
		qwenFilesOfRun(in, &start)
	}
	geminiConversation(in, &start)
	return start
}

// qwenFilesOfRun adds settings with hooks and without updates. They are system defaults, so the
// user's settings take precedence. Qwen Code runs the user's and the project's hooks, and in place
// of either that is missing, the merged hooks of all settings. A folder can be trusted by its own list.
func qwenFilesOfRun(in session.StartInput, start *session.Start) {
	settings := map[string]any{"$version": 4, "general": map[string]any{"enableAutoUpdate": false}}
	if len(in.Notify) > 0 {
		settings["hooks"] = namedHooks(qwenEvents, in.Notify)
	}
	start.Files = map[string]string{}
	write := func(name, variable string, value any) {
		if text, err := json.MarshalIndent(value, "", "  "); err == nil { // it can always be encoded
			start.Files[name] = string(text)
			start.Env[variable] = filepath.Join(in.Private, name)
		}
	}
	write(qwenSettings, "QWEN_CODE_SYSTEM_DEFAULTS_PATH", settings)
	if dir := in.Spec.Workspace.Path; in.Spec.Agent.Trust && dir != "" {
		write(qwenTrusted, "QWEN_CODE_TRUSTED_FOLDERS_PATH", map[string]string{dir: "TRUST_FOLDER"})
	}
}

// qwenHome returns Qwen Code's own directory.
func qwenHome(of session.Lookup) string { return ownDir(of, "QWEN_HOME", ".qwen") }

// qwenLogin checks the login of Qwen Code, which also reads the first .env at or above its
// directory.
func qwenLogin(s session.Spec, f LoginFacts) (lack, remedy string) {
	if f.set(s, "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY", "QWEN_", "DASHSCOPE_API_KEY", "BAILIAN_", "OPENROUTER_API_KEY") {
		return "", ""
	}
	home := qwenHome(f.At)
	settings := []string{filepath.Join(home, "settings.json"), "/etc/qwen-code/settings.json", "/Library/Application Support/QwenCode/settings.json"}
	variables := []string{filepath.Join(home, ".env"), filepath.Join(f.At.Home, ".env")}
	for _, folder := range f.folders(s) {
		settings = append(settings, filepath.Join(folder, ".qwen", "settings.json"))
		variables = append(variables, filepath.Join(folder, ".qwen", ".env"), filepath.Join(folder, ".env"))
	}
	found := func(path string) bool { return f.contains(path, `"auth"`, `"selectedType"`, `"modelProviders"`) }
	if f.exists(filepath.Join(home, "oauth_creds.json")) || f.exists(variables...) || slices.ContainsFunc(settings, found) {
		return "", ""
	}
	return "there is no login in " + settings[0] + ", and no key in its environment", "log in: start qwen once, or set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL"
}

// qwenIgnoresHooks checks the user's and the project's settings for hooks: if both have some, Qwen
// Code ignores those of the system defaults.
func qwenIgnoresHooks(s session.Spec, f LoginFacts) (why, remedy string) {
	hooked := func(folder string) bool {
		var settings struct{ Hooks map[string]any }
		text := f.Read(filepath.Join(folder, "settings.json"))
		if json.Unmarshal(text, &settings) != nil { // it may contain comments
			return bytes.Contains(text, []byte(`"hooks"`))
		}
		return len(settings.Hooks) > 0
	}
	project := f.At.Dir
	if !f.exists(filepath.Join(project, ".qwen", "settings.json")) {
		project = s.Workspace.Repo // the workspace may not exist yet
	}
	home := qwenHome(f.At)
	if !hooked(home) || !hooked(filepath.Join(project, ".qwen")) {
		return "", ""
	}
	return "the settings of the project have hooks, and so has " + filepath.Join(home, "settings.json") +
		": Qwen Code runs no hooks of agentform then, which reads its session file and screen instead", "keep hooks in one of the two files"
}

// qwenReads returns the variables for logins, the model and files. It leaves out the way to an
// editor (QWEN_CODE_IDE_…), which is the caller's.
func qwenReads(func(string) string) []string {
	return []string{
		"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL",
		"GEMINI_API_KEY", "GEMINI_MODEL", "GOOGLE_*", "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY", "OPENROUTER_API_KEY",
		"QWEN_HOME", "QWEN_RUNTIME_DIR", "QWEN_DEFAULT_AUTH_TYPE", "QWEN_CODE_SYSTEM_SETTINGS_PATH",
	}
}

// qwenCredentials has the list of
// https://qwenlm.github.io/qwen-code-docs/en/users/configuration/auth/. The settings select one.
var qwenCredentials = credentials{
	keys: keysOf("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY",
		"OPENROUTER_API_KEY"),
	every: true,
	also:  []string{"OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "QWEN_DEFAULT_AUTH_TYPE"},
	dir:   qwenHome,
}

// qwenTelemetry returns the variables with which Qwen Code sends metrics, and with prompts
// all signals: its logs contain the conversation even with LOG_PROMPTS=false.
func qwenTelemetry(t session.Telemetry) map[string]string {
	if t.Endpoint == "" {
		return nil
	}
	env := map[string]string{
		"QWEN_TELEMETRY_ENABLED": "true", "QWEN_TELEMETRY_TARGET": "local", "QWEN_TELEMETRY_OTLP_PROTOCOL": "http",
		"QWEN_TELEMETRY_LOG_PROMPTS": strconv.FormatBool(t.Prompts),
	}
	if t.Prompts {
		env["QWEN_TELEMETRY_OTLP_ENDPOINT"] = t.Endpoint
		return env
	}
	// Empty values override those of its settings and of OTEL_EXPORTER_OTLP_….
	for _, all := range []string{"", "_LOGS", "_TRACES"} {
		env["QWEN_TELEMETRY_OTLP"+all+"_ENDPOINT"] = ""
	}
	env["QWEN_TELEMETRY_OTLP_METRICS_ENDPOINT"] = t.Signal("metrics")
	return env
}
