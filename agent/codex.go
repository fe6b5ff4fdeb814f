package agent

import (
	"fmt"
	"strings"

	"github.com/agentform/agentform/session"
)

// codex is the Codex CLI, measured with 0.169.0.
func codex() kind {
	return kind{
		spec: session.AgentSpec{
			PromptVia: ViaArgument,
			// The status line, "  gpt-5 default · /work": while it boots, it shows its
			// composer without it.
			Ready:          `^\s*\S+ \S+ · [/~]`,
			StatusBarLines: 3,
			// Since 0.169 its session file is made when the first prompt is submitted;
			// older ones made it after the first turn.
			Observable: AtFirstPrompt,
		},
		start: codexStart,
		marks: marks{
			titles: []title{
				// The mark blinks, so it is matched without its ! too.
				{`^\[\s*!?\s*\] Action Required`, session.Blocked},
				{`^[\x{2800}-\x{28ff}] `, session.Working},
				{`^codex$|\S \| \S`, session.Idle}, // the second half is the folder's name,
			},
			blocked: []string{
				`Would you like to .*\?`,
				`Trust this folder\?`,
				`Sign in with ChatGPT`,
			},
			blockedAPI: []string{
				`exceeded retry limit, last status: 429`,
				`You['’]ve hit your usage limit`,
			},
			retrying: []string{`Server is busy, reconnecting \d/\d`},
			failed: []string{
				`^■ unexpected status \d+`,
				`^■ We['’]re currently experiencing high demand`,
			},
			working: []string{
				`^[•◦] .*\(\d+.* • esc to interrupt\)`,
				`Reconnecting\.\.\. \d/\d`,
			},
			ui: []string{
				`esc to interrupt|\? for shortcuts|Ask Codex to do anything`,
				`Press enter to confirm or esc to cancel`,
			},
		},
	}
}

var codexPermissions = map[string][]string{
	"ask":   {"-a", "on-request", "-s", "read-only"},
	"edits": {"-a", "on-request", "-s", "workspace-write"},
	"all":   {"--dangerously-bypass-approvals-and-sandbox"},
}

func codexStart(in session.StartInput) session.Start {
	return session.Start{Argv: codexArgv(in)}
}

func codexArgv(in session.StartInput) []string {
	s := in.Spec
	argv := join(s.Agent.Command)
	if in.Conversation != "" {
		argv = append(argv, "resume")
	}
	// Without the first it moves into a daemon that outlives the terminal; the
	// second keeps it from asking the network for a new version.
	argv = append(argv, "--disable", "daemon_auto_start", "-c", "check_for_update_on_startup=false")
	if s.Agent.Trust && s.Workspace.Path != "" {
		argv = append(argv, "-c", fmt.Sprintf(`projects={%s={trust_level="trusted"}}`, tomlString(s.Workspace.Path)))
	}
	if s.Profile != "" {
		argv = append(argv, "--profile", s.Profile)
	}
	argv = join(argv, codexPermissions[s.Agent.Permissions], s.Args)
	if in.Conversation != "" {
		argv = append(argv, in.Conversation)
	}
	if strings.HasPrefix(in.Prompt, "-") {
		argv = append(argv, "--")
	}
	if in.Prompt != "" {
		argv = append(argv, in.Prompt)
	}
	return argv
}

// tomlString is a text as a TOML basic string.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
