package agent

import (
	"maps"
	"path/filepath"
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
		start: geminiStart,
		paths: []string{"/@google/gemini-cli/"},
		marks: marks{
			composer: `^[>*!] +(.*)$`,
			hint:     `^Type your message`,
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
		Path:    filepath.Join(geminiHome(of), ".gemini", "settings.json"),
		Problem: "Gemini CLI asks how to log in, even with a key, before it accepts a prompt",
		add:     []setting{{path: []string{"security", "auth", "selectedType"}, value: geminiKeyLogin}},
	}}
}

// geminiHome is the folder that its own, .gemini, is in.
func geminiHome(of session.Lookup) string {
	if own := of.Env["GEMINI_CLI_HOME"]; own != "" {
		return own
	}
	return of.Home
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
