package agent

import (
	"strings"

	"github.com/agentform/agentform/session"
)

// gemini is the Gemini CLI, measured with 0.61.0. Its exit code says nothing: it
// is 0 for SIGTERM and SIGHUP too. Its retries of 429 and 500 cannot be seen.
func gemini() kind {
	return kind{
		spec: session.AgentSpec{
			PromptVia:      ViaPaste,
			Ready:          `^[>*]\s+Type your message`,
			StatusBarLines: 3,
			// Its chat file is there before any prompt.
			Observable: AtStart,
			// Without it a warning is shown at start.
			Env: map[string]string{"COLORTERM": "truecolor"},
		},
		start: geminiStart,
		marks: marks{
			titles: []title{
				{`^\s*✋\s+Action Required`, session.Blocked},
				{`^\s*✦\s+Working`, session.Working},
				{`^\s*◇\s+Ready`, session.Idle},
			},
			blocked: []string{
				`Allow execution of`,
				`Apply this change\?`,
				`Do you trust the files in this folder\?`,
				`How would you like to authenticate`,
				`Enter Gemini API Key`,
			},
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
		},
	}
}

var geminiPermissions = map[string][]string{
	"ask":   {"--approval-mode", "default"},
	"edits": {"--approval-mode", "auto_edit"},
	"all":   {"--approval-mode", "yolo"},
}

func geminiStart(in session.StartInput) session.Start {
	// Else it starts itself a second time, and both processes outlive the
	// terminal.
	env := map[string]string{"GEMINI_CLI_NO_RELAUNCH": "true"}
	if in.Spec.Agent.Trust {
		env["GEMINI_CLI_TRUST_WORKSPACE"] = "true"
	}
	return session.Start{Argv: geminiArgv(in), Env: env}
}

func geminiArgv(in session.StartInput) []string {
	s := in.Spec
	argv := join(s.Agent.Command, geminiPermissions[s.Agent.Permissions])
	if in.Conversation != "" {
		argv = append(argv, "--resume", in.Conversation)
	}
	argv = append(argv, s.Args...)
	switch {
	case strings.HasPrefix(in.Prompt, "-"):
		argv = append(argv, "--prompt-interactive="+in.Prompt)
	case in.Prompt != "":
		argv = append(argv, "-i", in.Prompt)
	}
	return argv
}
