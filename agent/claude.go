package agent

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// claude is Claude Code, measured with 2.1.197 and described in docs/agents/claude.md.
func claude() kind {
	return kind{
		spec: session.AgentSpec{
			PromptVia: ViaArgument,
			// The composer between its rules, empty or with a suggestion in it.
			Ready:          `^❯[\s\x{a0}]*(Try ".*)?$`,
			StatusBarLines: 5,
			// Its transcript is created with the first user message, before the answer, so never
			// without a prompt. Its state file exists from the start, but contains no conversation.
			Observable: AtFirstPrompt,
		},
		tested: "2.1.197",
		start:  claudeStart,
		paths:  []string{"/@anthropic-ai/claude-code/", "/claude/versions/"},
		marks: marks{
			composer: `^❯[\s\x{a0}]?(.*)$`,
			turn:     `^❯[\s\x{a0}]\S`,
			hint:     `^(Try "|Press up to edit queued messages$)`,
			question: claudeQuestion,
			chosen:   " ✔",
			titles: []title{
				{`^[\x{2800}-\x{28ff}] `, session.Working},
				{`^✳ `, session.Idle}, // also while a dialog is up
			},
			blocked: []string{
				`Do you want to (proceed|make this edit|create|run|allow)\b.*\?`,
				`Is this a project you created or one you trust`,
				`Yes, I trust this folder`,
				`Detected a custom API key in your environment`,
				`WARNING: Claude Code running in Bypass Permissions mode`,
			},
			blockedAPI: []string{
				`API Error: Request rejected \(429\)`,
				`You['’]ve (hit|reached) your ([\w'’-]+ ){0,4}limit`,
				`You['’]re out of usage credits`,
			},
			failed: []string{
				`Invalid API key · Fix external API key`,
				`Please run /login`,
				`API Error: [45]\d\d\b`,
				`Unable to connect to Anthropic services`,
				`No conversation found with session ID`,
				`Session ID \S+ is already in use`,
			},
			// Retries of 429, 401 and 500 look alike, so they count as work.
			working: []string{
				`esc to interrupt`,
				`API error · Retrying in \d+s · attempt \d+/\d+`,
			},
			ui: []string{
				`\? for shortcuts|esc to interrupt|Press Ctrl-C again to exit`,
				`bypass permissions on|accept edits on|plan mode on|Esc to cancel`,
			},
		},
		// Its commands and, typed or pasted, shell commands that need no permission.
		commands:    "/!",
		files:       claudeFiles,
		transcript:  func() session.TranscriptReader { return &claudeReader{} },
		entries:     claudeEntries,
		usage:       claudeUsage,
		signal:      claudeSignal,
		reads:       claudeReads,
		credentials: claudeCredentials,
		dotfiles:    claudeDotfiles,
		refuses:     claudeRefuses,
		login:       claudeLogin,
		relogin:     "start claude and type /login",
	}
}

var claudePermissions = map[string][]string{
	"ask":   {"--permission-mode", "default"},
	"edits": {"--permission-mode", "acceptEdits"},
	"all":   {"--permission-mode", "bypassPermissions"},
}

// claudeSettings is the file name of a run's settings.
const claudeSettings = "claude.json"

// claudeEvents are the requested hooks. PostToolUse reports that a question was answered with yes.
var claudeEvents = []string{
	"SessionStart", "UserPromptSubmit", "PermissionRequest", "PostToolUse", "Notification",
	"Stop", "StopFailure", "SessionEnd",
}

// claudeEndTimeout is how many seconds Claude Code waits for its SessionEnd hook. By default it
// kills that after one and a half, too early on a busy machine.
const claudeEndTimeout = 5

func claudeStart(in session.StartInput) session.Start {
	s := in.Spec
	start := session.Start{Env: map[string]string{
		// Otherwise it updates itself by npm, to another version at the next start.
		"DISABLE_AUTOUPDATER": "1",
		// Otherwise the left arrow in an empty composer hands the session to a daemon of Claude
		// Code (2.1.197), where nothing stops it.
		"CLAUDE_CODE_DISABLE_AGENT_VIEW": "1",
		// Otherwise an account for which Claude Code has turned it on sees what it may type next in its
		// composer, where nothing distinguishes that from a text that somebody has begun to type.
		"CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",
	}}
	maps.Copy(start.Env, claudeTelemetry(s.Telemetry))
	if s.Agent.Trust {
		// Marks the folder as trusted; nothing else in 2.1.197 reads the variable. The alternative
		// is the user's own dotfile.
		start.Env["CLAUDE_CODE_SANDBOXED"] = "1"
	}
	if s.Agent.Permissions == "all" && in.Root && in.Sandbox {
		start.Env["IS_SANDBOX"] = "1" // otherwise it refuses full permissions as root
	}
	given := slices.Concat(s.Agent.Command, s.Args)
	argv := join(s.Agent.Command, claudePermissions[s.Agent.Permissions])
	switch {
	case in.Conversation != "":
		argv = append(argv, "--resume", in.Conversation)
		start.Conversation = in.Conversation
	case in.Fresh != "" && !has(given, "--session-id", "--resume", "-r", "--continue", "-c", "--from-pr", "--fork-session"):
		argv = append(argv, "--session-id", in.Fresh)
		start.Conversation = in.Fresh
	}
	// It uses only the last --settings: the user's come after agentform's.
	if settings := claudeSettingsOf(in); len(settings) > 0 && !has(given, "--settings") {
		if in.Private == "" {
			argv = append(argv, "--settings", marshal(settings, ""))
		} else {
			argv = append(argv, "--settings", filepath.Join(in.Private, claudeSettings))
			start.Files = map[string]string{claudeSettings: marshal(settings, "  ") + "\n"}
		}
	}
	argv = append(argv, s.Args...)
	if in.Prompt != "" {
		argv = append(argv, "--", in.Prompt)
	}
	start.Argv = argv
	return start
}

// claudeSettingsOf returns the settings of one run, which apply in addition to the user's: the
// hooks, and no warning at start with full permissions, whose default answer is to leave.
func claudeSettingsOf(in session.StartInput) map[string]any {
	settings := map[string]any{}
	if in.Spec.Agent.Permissions == "all" {
		settings["skipDangerousModePermissionPrompt"] = true
	}
	if len(in.Notify) > 0 {
		hooks := map[string]any{}
		for _, event := range claudeEvents {
			hook := map[string]any{"type": "command", "command": shellJoin(in.Notify)}
			if event == "SessionEnd" {
				hook["timeout"] = claudeEndTimeout
			}
			hooks[event] = []any{map[string]any{"hooks": []any{hook}}}
		}
		settings["hooks"] = hooks
	}
	return settings
}

// claudeRefuses reports that Claude Code refuses full permissions as root, unless a variable
// declares a sandbox. A manifest may set it, and agentform sets it in a container.
func claudeRefuses(in session.StartInput) string {
	s := in.Spec
	if s.Agent.Permissions != "all" || !in.Root || in.Sandbox || s.Env["IS_SANDBOX"] == "1" || s.Agent.Env["IS_SANDBOX"] == "1" {
		return ""
	}
	return `Claude Code refuses permissions = "all" as root, and exits immediately: run it as another user or in a container, or mark this machine as a sandbox: env = { IS_SANDBOX = "1" }`
}

// claudeKeys are the variables that replace a login.
var claudeKeys = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
	"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
}

// claudeDotfiles returns two settings: that the first-run setup is done, which is asked for even
// with a key, and that the key, kept as its last 20 characters, is approved.
func claudeDotfiles(s session.Spec, of session.Lookup) []DotfileFix {
	if !gets(s, of, claudeKeys...) {
		return nil // logged in, or reported by MissingLogin
	}
	folder := of.Home
	if own := of.Env["CLAUDE_CONFIG_DIR"]; own != "" {
		folder = own
	}
	fix := DotfileFix{
		Path:    filepath.Join(folder, ".claude.json"),
		Problem: "Claude Code asks for a theme, a login and whether to use its key before it accepts a prompt",
		add:     []setting{{path: []string{"hasCompletedOnboarding"}, value: true}},
	}
	if key := of.Env["ANTHROPIC_API_KEY"]; key != "" {
		fix.add = append(fix.add, setting{path: []string{"customApiKeyResponses", "approved"}, value: key[max(0, len(key)-20):], list: true})
	}
	return []DotfileFix{fix}
}

// has reports whether a command line has one of the flags.
func has(argv []string, flags ...string) bool {
	return slices.ContainsFunc(argv, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return slices.Contains(flags, name)
	})
}

// marshal encodes values that always can be encoded as JSON.
func marshal(v any, indent string) string {
	b, err := json.MarshalIndent(v, "", indent)
	if indent == "" {
		b, err = json.Marshal(v)
	}
	if err != nil {
		return ""
	}
	return string(b)
}

// claudeTelemetry returns the variables with which Claude Code sends metrics and events
// (code.claude.com/docs/en/monitoring-usage), without prompts by default.
func claudeTelemetry(t session.Telemetry) map[string]string {
	if t.Endpoint == "" {
		return nil
	}
	env := map[string]string{
		"CLAUDE_CODE_ENABLE_TELEMETRY": "1", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_LOGS_EXPORTER": "otlp",
		"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_EXPORTER_OTLP_ENDPOINT": t.Endpoint,
	}
	if t.Prompts {
		env["OTEL_LOG_USER_PROMPTS"] = "1"
	}
	return env
}

// claudeQuestion finds the command that a dialog asks about.
func claudeQuestion(body []drawn) (string, []drawn) {
	if body[0].text != "Bash command" || len(body) < 3 {
		return "", body
	}
	text := `run "` + body[1].text + `"`
	if rest := oneLine(joined(body[2 : len(body)-1])); rest != "" {
		text += " (" + rest + ")" // the rest of the command, or its purpose
	}
	return text + "?", nil
}
