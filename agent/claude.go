package agent

import "github.com/agentform/agentform/session"

// claude is Claude Code, measured with 2.1.197.
func claude() kind {
	return kind{
		spec: session.AgentSpec{
			PromptVia: ViaArgument,
			// The composer between its rules, empty or with a suggestion in it.
			Ready:          `^❯[\s\x{a0}]*(Try ".*)?$`,
			StatusBarLines: 5,
			// Its transcript is made with the first user message, before the answer;
			// without a in.Prompt there never is one.
			Observable: AtFirstPrompt,
		},
		start: claudeStart,
		marks: marks{
			titles: []title{
				{`^[\x{2800}-\x{28ff}] `, session.Working},
				{`^✳ `, session.Idle},
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
				`You['’]ve hit your (\w+ )?limit`,
			},
			failed: []string{
				`Invalid API key · Fix external API key`,
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
	}
}

var claudePermissions = map[string][]string{
	"ask":   {"--permission-mode", "default"},
	"edits": {"--permission-mode", "acceptEdits"},
	// The setting spares the warning at start, whose default answer is to leave.
	// As root it leaves all the same, unless IS_SANDBOX=1 is in its environment:
	// only a manifest can say that it is in one.
	"all": {"--permission-mode", "bypassPermissions", "--settings", `{"skipDangerousModePermissionPrompt":true}`},
}

func claudeStart(in session.StartInput) session.Start {
	return session.Start{
		Argv: claudeArgv(in),
		// Else it runs npm by itself and may be another version at the next start.
		Env: map[string]string{"DISABLE_AUTOUPDATER": "1"},
	}
}

func claudeArgv(in session.StartInput) []string {
	s := in.Spec
	argv := join(s.Agent.Command, claudePermissions[s.Agent.Permissions])
	if in.Conversation != "" {
		argv = append(argv, "--resume", in.Conversation)
	}
	argv = append(argv, s.Args...)
	if in.Prompt != "" {
		argv = append(argv, "--", in.Prompt)
	}
	return argv
}
