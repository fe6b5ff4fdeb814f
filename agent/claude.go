package agent

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// claude is Claude Code, measured with 2.1.197; docs/agents/claude.md has it in
// words.
func claude() kind {
	return kind{
		spec: session.AgentSpec{
			PromptVia: ViaArgument,
			// The composer between its rules, empty or with a suggestion in it.
			Ready:          `^❯[\s\x{a0}]*(Try ".*)?$`,
			StatusBarLines: 5,
			// Its transcript is made with the first user message, before the answer;
			// without a prompt there never is one. Its state file is there from the
			// start, but says nothing of a conversation.
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
			// Retries of 429, 401 and 500 look alike, so they are work.
			working: []string{
				`esc to interrupt`,
				`API error · Retrying in \d+s · attempt \d+/\d+`,
			},
			ui: []string{
				`\? for shortcuts|esc to interrupt|Press Ctrl-C again to exit`,
				`bypass permissions on|accept edits on|plan mode on|Esc to cancel`,
			},
		},
		// Its commands, and, typed or pasted, the shell's, which asks nobody.
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
	}
}

var claudePermissions = map[string][]string{
	"ask":   {"--permission-mode", "default"},
	"edits": {"--permission-mode", "acceptEdits"},
	"all":   {"--permission-mode", "bypassPermissions"},
}

// claudeSettings is the name of the settings of one run.
const claudeSettings = "claude.json"

// claudeEvents are the hooks that are asked for. PostToolUse says that a question
// was answered with yes.
var claudeEvents = []string{
	"SessionStart", "UserPromptSubmit", "PermissionRequest", "PostToolUse", "Notification",
	"Stop", "StopFailure", "SessionEnd",
}

// claudeEndTimeout is how many seconds Claude Code waits for the hook of its end. By default
// it kills that after one and a half, which is too little on a busy machine.
const claudeEndTimeout = 5

func claudeStart(in session.StartInput) session.Start {
	s := in.Spec
	start := session.Start{Env: map[string]string{
		// Else it runs npm by itself and may be another version at the next start.
		"DISABLE_AUTOUPDATER": "1",
		// Else the left arrow in an empty composer gives the session to a daemon of Claude
		// Code's own (2.1.197), where nothing stops it.
		"CLAUDE_CODE_DISABLE_AGENT_VIEW": "1",
	}}
	maps.Copy(start.Env, claudeTelemetry(s.Telemetry))
	if s.Agent.Trust {
		// It says that the folder is trusted; nothing else of 2.1.197 reads it. The
		// other way is the person's own dotfile.
		start.Env["CLAUDE_CODE_SANDBOXED"] = "1"
	}
	if s.Agent.Permissions == "all" && in.Root && in.Sandbox {
		start.Env["IS_SANDBOX"] = "1" // else it refuses to do all as root
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
	// It takes the last --settings only: a person's own come after ours.
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

// claudeSettingsOf are the settings of one run, which count beside the person's
// own: the hooks, and no warning at start where all is permitted, whose default
// answer is to leave.
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

// claudeRefuses: it does not do all unasked as root, unless a variable says that it is
// in a sandbox, which a manifest may say and agentform says of a container.
func claudeRefuses(in session.StartInput) string {
	s := in.Spec
	if s.Agent.Permissions != "all" || !in.Root || in.Sandbox || s.Env["IS_SANDBOX"] == "1" || s.Agent.Env["IS_SANDBOX"] == "1" {
		return ""
	}
	return `Claude Code refuses permissions = "all" as root, and exits immediately: run it as another user or in a container, or mark this machine as a sandbox: env = { IS_SANDBOX = "1" }`
}

// claudeKeys are the variables with which it needs no login.
var claudeKeys = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
	"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
}

// claudeDotfiles: it wants to be set up by a person even where it has a key, and a
// key to be approved by one, which is kept as the last 20 characters.
func claudeDotfiles(s session.Spec, of session.Lookup) []DotfileFix {
	if !gets(s, of, claudeKeys...) {
		return nil // it is logged in, or MissingLogin says that it is not
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

// has reports whether a command line has one of some flags.
func has(argv []string, flags ...string) bool {
	return slices.ContainsFunc(argv, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return slices.Contains(flags, name)
	})
}

// marshal is JSON of values that always can be.
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
// (code.claude.com/docs/en/monitoring-usage). It has no prompts in them unless told to.
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
		text += " (" + rest + ")" // the rest of the command, or what it is for
	}
	return text + "?", nil
}
