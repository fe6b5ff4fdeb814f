package agent

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// gemini is the Gemini CLI, measured with 0.61.0 and described in docs/agents/gemini.md. Its exit
// status says nothing: it is 0 for SIGTERM and SIGHUP too. While it retries after a 429 or 500, for
// many minutes, nothing shows that.
func gemini() kind {
	return kind{
		spec: session.AgentSpec{
			PromptVia:      ViaPaste,
			Ready:          `^[>*]\s+Type your message`,
			ReadyTimeout:   session.Duration(2 * time.Minute), // on a busy machine its start takes more than 30 seconds
			StatusBarLines: 3,
			// Its chat file exists before any prompt.
			Observable: AtStart,
			// Without it, Gemini shows a warning at start.
			Env: map[string]string{"COLORTERM": "truecolor"},
		},
		tested: "0.61.0",
		start:  geminiStart,
		paths:  []string{"/@google/gemini-cli/"},
		marks: marks{
			composer: `^[>*!] +(.*)$`,
			hint:     `^Type your message`,
			question: toolQuestion,
			titles: []title{
				{`^\s*✋\s+Action Required`, session.Blocked},
				{`^\s*✦\s+Working`, session.Working},
				{`^\s*◇\s+Ready`, session.Idle},
			},
			blocked: []string{
				`^\? [A-Z]\w*  \S`, // the tool and its action, above the question
				`Allow execution of`,
				`Apply this change\?`,
				`Do you trust the files in this folder\?`,
				`How would you like to authenticate`,
				`Enter Gemini API Key`,
				// Meanwhile the title shows work.
				`It seems like you don't have access to`,
				`^Model "\S+" (was not found|is not available)`,
			},
			blockedAPI: []string{
				`✕ \[API Error: .*("code":429|RESOURCE_EXHAUSTED|exhausted your .*quota|rate limit)`,
			},
			// A dialog: keep trying, another model, or stop.
			retrying: []string{`Usage limit reached for`, `We are currently experiencing high demand`},
			failed: []string{
				`✕ \[API Error: `,
			},
			working: []string{
				`\(esc to cancel, [\dms ]+\)`,
			},
			ui: []string{
				`Type your message`,
				`esc to cancel|Press Ctrl\+C again to exit`,
			},
			// It paints its composer, and reports itself ready, up to a second before it accepts a
			// paste. Then its name or the resumed conversation appears.
			started: []string{`Gemini CLI v\d`, `^[✦✕ℹ] `},
			turn:    `^[>!] +\S`,
		},
		// A prompt that starts with a slash is always a command, even after blanks. With ! it is a
		// shell command if its first character arrives as a key.
		commands: "!",
		// Input is lost while it loads a conversation.
		resumedVia:  ViaArgument,
		files:       geminiFiles,
		transcript:  func() session.TranscriptReader { return &chat{seen: map[string]bool{}} },
		entries:     geminiEntries,
		usage:       geminiUsage,
		dotfiles:    geminiDotfiles,
		signal:      geminiSignal,
		reads:       geminiReads,
		credentials: geminiCredentials,
		login:       geminiLogin,
		relogin:     "start gemini",
		// No hook reports that a question was answered; the title does.
		trust: []string{FromTranscript, FromTitle, FromHook},
	}
}

var geminiPermissions = map[string][]string{
	"ask":   {"--approval-mode", "default"},
	"edits": {"--approval-mode", "auto_edit"},
	"all":   {"--approval-mode", "yolo"},
}

// geminiKey is the variable that replaces a login, and geminiKeyLogin the name of that method in
// its settings.
const (
	geminiKey      = "GEMINI_API_KEY"
	geminiKeyLogin = "gemini-api-key"
)

// geminiDotfiles returns the login method: at start Gemini asks for it, whatever the environment,
// until one is set.
func geminiDotfiles(s session.Spec, of session.Lookup) []DotfileFix {
	if !gets(s, of, geminiKey) {
		return nil // logged in, or reported by MissingLogin
	}
	return []DotfileFix{{
		Path:    filepath.Join(geminiDir(of), "settings.json"),
		Problem: "Gemini CLI asks how to log in, even with a key, before it accepts a prompt",
		add:     []setting{{path: []string{"security", "auth", "selectedType"}, value: geminiKeyLogin}},
	}}
}

// geminiHome returns the directory that contains Gemini CLI's own, .gemini.
func geminiHome(of session.Lookup) string { return cmp.Or(of.Env["GEMINI_CLI_HOME"], of.Home) }

// geminiDir returns Gemini CLI's own directory.
func geminiDir(of session.Lookup) string {
	of.Home = geminiHome(of)
	return ownDir(of, "", ".gemini")
}

func geminiStart(in session.StartInput) session.Start {
	s := in.Spec
	start := session.Start{
		Argv: join(s.Agent.Command, geminiPermissions[s.Agent.Permissions]),
		Env: map[string]string{
			// Otherwise it starts itself a second time, and both processes outlive the terminal.
			"GEMINI_CLI_NO_RELAUNCH": "true",
			// It updates itself by npm in a separate process during other runs; only a dotfile
			// turns that off permanently. This variable declares a single-file program, which it
			// cannot update.
			"IS_BINARY": "true",
		},
	}
	if s.Agent.Trust {
		start.Env["GEMINI_CLI_TRUST_WORKSPACE"] = "true"
	}
	maps.Copy(start.Env, geminiTelemetry(s.Telemetry))
	geminiHooks(in, &start)
	geminiConversation(in, &start)
	return start
}

// geminiConversation adds the arguments for the conversation, the session's arguments, and the
// prompt. Qwen Code uses the same.
func geminiConversation(in session.StartInput, start *session.Start) {
	switch {
	case in.Conversation != "":
		start.Argv = append(start.Argv, "--resume", in.Conversation)
		start.Conversation = in.Conversation
	case in.Fresh != "":
		start.Argv = append(start.Argv, "--session-id", in.Fresh)
		start.Conversation = in.Fresh
	}
	start.Argv = append(start.Argv, in.Spec.Args...)
	if in.Prompt != "" {
		// In one word, because the prompt may start with a dash.
		start.Argv = append(start.Argv, "--prompt-interactive="+in.Prompt)
	}
}

// geminiTelemetry returns the variables with which Gemini CLI sends all signals
// (geminicli.com/docs/cli/telemetry). By default they contain prompts.
func geminiTelemetry(t session.Telemetry) map[string]string {
	if t.Endpoint == "" {
		return nil
	}
	return map[string]string{
		"GEMINI_TELEMETRY_ENABLED": "true", "GEMINI_TELEMETRY_TARGET": "local",
		"GEMINI_TELEMETRY_OTLP_ENDPOINT": t.Endpoint, "GEMINI_TELEMETRY_OTLP_PROTOCOL": "http",
		"GEMINI_TELEMETRY_LOG_PROMPTS": strconv.FormatBool(t.Prompts),
	}
}

// geminiTool is the first line of a dialog: the tool and its action. geminiPermits is its question.
var (
	geminiTool    = lazily(`^\? +([A-Z]\w*) +(.*?)(?: ←)?$`)
	geminiPermits = lazily(`^(Allow execution|Apply this change)`)
)

// toolQuestion finds the question of a dialog about a tool. Qwen Code's title has more of a
// command, but is cut; the model's own questions have a heading.
func toolQuestion(body []drawn) (string, []drawn) {
	m := geminiTool().FindStringSubmatch(body[0].text)
	if m == nil {
		return "", body
	}
	below := body[1:]
	if m[1] == "AskUserQuestion" {
		below = body[min(2, len(body)):]
	}
	ask := sentence(below)
	switch {
	case !geminiPermits().MatchString(ask):
		return "", below
	case m[1] != "Shell":
		return m[1] + " " + m[2] + ": " + ask, nil
	}
	command := m[2]
	if boxed := joined(slices.DeleteFunc(slices.Clone(body), func(l drawn) bool { return !l.nested })); boxed != "" {
		command = boxed
	} else if at := slices.IndexFunc(body, func(l drawn) bool { return geminiPermits().MatchString(l.text) }); at > 1 && strings.HasSuffix(body[0].text, "←") {
		command = joined(body[1:at])
	}
	return `run "` + oneLine(command) + `"?`, nil
}
