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

// gemini is the Gemini CLI, measured with 0.61.0; docs/agents/gemini.md has it in
// words. Its exit code says nothing: it is 0 for SIGTERM and SIGHUP too. While it
// tries again after a 429 or 500, for many minutes, nothing of it can be seen.
func gemini() kind {
	return kind{
		spec: session.AgentSpec{
			PromptVia:      ViaPaste,
			Ready:          `^[>*]\s+Type your message`,
			ReadyTimeout:   session.Duration(2 * time.Minute), // on a busy machine it starts in more than 30 seconds
			StatusBarLines: 3,
			// Its chat file is there before any prompt.
			Observable: AtStart,
			// Without it a warning is shown at start.
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
				`^\? [A-Z]\w*  \S`, // the tool and what it is to do, above the question
				`Allow execution of`,
				`Apply this change\?`,
				`Do you trust the files in this folder\?`,
				`How would you like to authenticate`,
				`Enter Gemini API Key`,
				// The title says that it works meanwhile.
				`It seems like you don't have access to`,
				`^Model "\S+" (was not found|is not available)`,
			},
			blockedAPI: []string{
				`✕ \[API Error: .*("code":429|RESOURCE_EXHAUSTED|exhausted your .*quota|rate limit)`,
			},
			// A dialog: keep trying, another model, stop.
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
			// It paints its composer, and calls itself ready, up to a second before it
			// takes a paste for one: then come its name or the conversation so far.
			started: []string{`Gemini CLI v\d`, `^[✦✕ℹ] `},
			turn:    `^[>!] +\S`,
		},
		// A prompt that begins with a slash is a command however it comes, blanks
		// before it or not. One with ! is the shell's if its first character is taken
		// for a key.
		commands: "!",
		// What is typed while it loads a conversation is lost.
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
		// No hook tells that a question was answered; the title does.
		trust: []string{FromTranscript, FromTitle, FromHook},
	}
}

var geminiPermissions = map[string][]string{
	"ask":   {"--approval-mode", "default"},
	"edits": {"--approval-mode", "auto_edit"},
	"all":   {"--approval-mode", "yolo"},
}

// geminiKey is the variable with which it needs no login, and geminiKeyLogin what
// that way is called in its settings.
const (
	geminiKey      = "GEMINI_API_KEY"
	geminiKeyLogin = "gemini-api-key"
)

// geminiDotfiles: it asks at start how to log in, whatever its environment has,
// until a way is set.
func geminiDotfiles(s session.Spec, of session.Lookup) []DotfileFix {
	if !gets(s, of, geminiKey) {
		return nil // it is logged in, or MissingLogin says that it is not
	}
	return []DotfileFix{{
		Path:    filepath.Join(geminiDir(of), "settings.json"),
		Problem: "Gemini CLI asks how to log in, even with a key, before it accepts a prompt",
		add:     []setting{{path: []string{"security", "auth", "selectedType"}, value: geminiKeyLogin}},
	}}
}

// geminiHome is the folder that its own, .gemini, is in.
func geminiHome(of session.Lookup) string { return cmp.Or(of.Env["GEMINI_CLI_HOME"], of.Home) }

// geminiDir is its own directory.
func geminiDir(of session.Lookup) string {
	of.Home = geminiHome(of)
	return ownDir(of, "", ".gemini")
}

func geminiStart(in session.StartInput) session.Start {
	s := in.Spec
	start := session.Start{
		Argv: join(s.Agent.Command, geminiPermissions[s.Agent.Permissions]),
		Env: map[string]string{
			// Else it starts itself a second time, and both processes outlive the
			// terminal.
			"GEMINI_CLI_NO_RELAUNCH": "true",
			// It updates itself by npm in a process of its own, as it stands, while
			// others run; only a dotfile turns that off for good. This says that it is a
			// program of one file, which it does not know how to update.
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

// geminiConversation adds the arguments that name the conversation, the session's own, and the
// prompt. Qwen Code takes the same.
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
		// In one word, because the prompt may begin with a dash.
		start.Argv = append(start.Argv, "--prompt-interactive="+in.Prompt)
	}
}

// geminiTelemetry returns the variables with which Gemini CLI sends all signals
// (geminicli.com/docs/cli/telemetry). Its prompts are in them unless told otherwise.
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

// geminiTool is the first line of a dialog: the tool, and what that is to do. geminiPermits is
// what it asks.
var (
	geminiTool    = lazily(`^\? +([A-Z]\w*) +(.*?)(?: ←)?$`)
	geminiPermits = lazily(`^(Allow execution|Apply this change)`)
)

// toolQuestion finds what a dialog asks about a tool. Qwen Code's title has more of a command,
// and is cut; its questions of the model's have a heading.
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
