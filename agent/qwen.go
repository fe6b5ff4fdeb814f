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

// qwen is Qwen Code, measured with 0.15.10; docs/agents/qwen.md has it in words. It began as
// Gemini CLI and looks like it; its hooks are Claude Code's, and so is much of its session file.
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
				`^\? +[A-Z]\w* .*←$`, // the tool and what it is to do, above the question
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
		// A prompt that begins with one of these is a command or the shell's, however it comes.
		commands:   "/!?",
		shield:     "\u200b", // a zero-width space: it drops blanks
		files:      qwenFiles,
		transcript: func() session.TranscriptReader { return &qwenChat{turns: turns{repeats: true}} },
		entries:    qwenEntries,
		usage:      qwenUsage,
		signal:     qwenSignal,

		conversation: qwenHookConversation,
		reads:        qwenReads,
		credentials:  qwenCredentials,
		login:        qwenLogin,
		ignoresHooks: qwenIgnoresHooks,
	}
}

var qwenPermissions = map[string][]string{
	"ask":   {"--approval-mode", "default"},
	"edits": {"--approval-mode", "auto-edit"},
	"all":   {"--approval-mode", "yolo"},
}

// The names of the files of one run: settings, and the folders that are trusted.
const (
	qwenSettings = "qwen.json"
	qwenTrusted  = "qwen-trusted.json"
)

// qwenEvents are the hooks that are asked for. Not Notification: it says idle after each
// turn, also after one that failed.
var qwenEvents = []string{"SessionStart", "UserPromptSubmit", "PermissionRequest", "PostToolUse", "Stop", "StopFailure", "SessionEnd"}

// qwenTools are Claude Code's names of tools whose questions are shown in words of their own.
var qwenTools = map[string]string{"run_shell_command": "Bash", "ask_user_question": "AskUserQuestion"}

// qwenHookConversation returns the conversation of a hook. Qwen Code has its session file open
// only while it writes a line.
func qwenHookConversation(signal []byte) string {
	var s struct {
		Conversation string `json:"session_id"`
	}
	_ = json.Unmarshal(signal, &s) // it does not tell
	return s.Conversation
}

// qwenSignal returns what a hook of Qwen Code told: what Claude Code's would. None tells of
// a turn that was interrupted, or whose tools were all refused; its session file does.
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
		// Else it starts itself a second time, and both processes outlive the terminal.
		Env: map[string]string{"QWEN_CODE_NO_RELAUNCH": "true"},
	}
	maps.Copy(start.Env, qwenTelemetry(s.Telemetry))
	if in.Private != "" {
		qwenFilesOfRun(in, &start)
	}
	geminiConversation(in, &start)
	return start
}

// qwenFilesOfRun adds settings with hooks and without updates: the system's defaults, so
// what the person has set still counts. It runs the person's hooks and those of the project,
// and in place of each that are missing all of them together. A folder can be trusted by a
// list of its own.
func qwenFilesOfRun(in session.StartInput, start *session.Start) {
	settings := map[string]any{"$version": 4, "general": map[string]any{"enableAutoUpdate": false}}
	if len(in.Notify) > 0 {
		settings["hooks"] = namedHooks(qwenEvents, in.Notify)
	}
	start.Files = map[string]string{}
	write := func(name, variable string, value any) {
		if text, err := json.MarshalIndent(value, "", "  "); err == nil { // it always can be
			start.Files[name] = string(text)
			start.Env[variable] = filepath.Join(in.Private, name)
		}
	}
	write(qwenSettings, "QWEN_CODE_SYSTEM_DEFAULTS_PATH", settings)
	if dir := in.Spec.Workspace.Path; in.Spec.Agent.Trust && dir != "" {
		write(qwenTrusted, "QWEN_CODE_TRUSTED_FOLDERS_PATH", map[string]string{dir: "TRUST_FOLDER"})
	}
}

// qwenHome is its own folder.
func qwenHome(of session.Lookup) string { return ownDir(of, "QWEN_HOME", ".qwen") }

// qwenLogin looks for the login of Qwen Code, which also reads the first .env above its
// folder.
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

// qwenIgnoresHooks looks for hooks in the settings of the person and of the project: if both
// have some, Qwen Code runs none of its system's defaults.
func qwenIgnoresHooks(s session.Spec, f LoginFacts) (why, remedy string) {
	hooked := func(folder string) bool {
		var settings struct{ Hooks map[string]any }
		text := f.Read(filepath.Join(folder, "settings.json"))
		if json.Unmarshal(text, &settings) != nil { // it may have comments
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

// qwenReads returns what Qwen Code logs in with, which model it asks and where its files
// are. It leaves out how it finds an editor (QWEN_CODE_IDE_…): that is the caller's.
func qwenReads(func(string) string) []string {
	return []string{
		"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL",
		"GEMINI_API_KEY", "GEMINI_MODEL", "GOOGLE_*", "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY", "OPENROUTER_API_KEY",
		"QWEN_HOME", "QWEN_RUNTIME_DIR", "QWEN_DEFAULT_AUTH_TYPE", "QWEN_CODE_SYSTEM_SETTINGS_PATH",
	}
}

// qwenCredentials is what https://qwenlm.github.io/qwen-code-docs/en/users/configuration/auth/
// lists. Its settings choose which of them counts.
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
	// Empty ones keep it from taking those of its settings and of OTEL_EXPORTER_OTLP_….
	for _, all := range []string{"", "_LOGS", "_TRACES"} {
		env["QWEN_TELEMETRY_OTLP"+all+"_ENDPOINT"] = ""
	}
	env["QWEN_TELEMETRY_OTLP_METRICS_ENDPOINT"] = t.Signal("metrics")
	return env
}
