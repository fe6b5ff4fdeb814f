package agent

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/agentform/agentform/session"
)

// codex is the Codex CLI, measured with 0.169.0 and described in docs/agents/codex.md.
func codex() kind {
	return kind{
		spec: session.AgentSpec{
			PromptVia: ViaArgument,
			// The status line, " gpt-5 default · /work". While Codex boots, the composer has none.
			Ready:          `^\s*\S+ \S+ · [/~]`,
			StatusBarLines: 3,
			// Since 0.169 its session file is created with the first prompt; older versions created
			// it after the first turn.
			Observable: AtFirstPrompt,
		},
		tested: "0.169.0",
		start:  codexStart,
		paths:  []string{"/@openai/codex/"},
		marks: marks{
			composer: `^› ?(.*)$`,
			turn:     `^› \S`,
			hint:     `^Ask Codex to do anything`,
			question: commandQuestion,
			// In the format set by codexTitle: "⠋ Working
			//
			// api", "Ready
			//
			// api".
			titles: []title{
				{`^\[ [!.] \] Action Required`, session.Blocked}, // the mark blinks
				{`^[\x{2800}-\x{28ff}] `, session.Working},
				{`^Ready( \||$)`, session.Idle},
			},
			blocked: []string{
				`Would you like to .*\?`,
				`Trust this folder\?`,
				`Hooks need review`,
				`Sign in with ChatGPT`,
				`Paste or type your API key below`,
			},
			blockedAPI: []string{
				`^■ exceeded retry limit, last status: 429`,
				`^■ You['’]ve hit your usage limit`,
			},
			retrying: []string{`Server is busy, reconnecting \d+/\d+`},
			failed: []string{
				`^■ unexpected status \d+`,
				`^■ We['’]re currently experiencing high demand`,
				`^■ stream disconnected`,
			},
			reconnecting: []string{`^[•◦] Reconnecting to server… \(\d`}, // the mark blinks
			disconnected: []string{`^[•◦] Reconnect failed — check the endpoint`},
			working: []string{
				`^[•◦] .*\(\d+.* • esc to interrupt\)`,
				`Reconnecting\.\.\. \d+/\d+`,
			},
			// Its warnings replace the composer and all signs of work.
			ended: []string{`^Worked for \S+ • \d+:\d\d`, `^■ Conversation interrupted`},
			ui: []string{
				`esc to interrupt|\? for shortcuts|Ask Codex to do anything`,
				`Press enter to confirm or esc to cancel`,
			},
		},
		// Typed or pasted, they start its commands and shell commands that need no permission; in
		// an argument only the second does. After a blank both are text.
		commands:    "/!",
		files:       codexFiles,
		transcript:  func() session.TranscriptReader { return &rollout{} },
		entries:     codexEntries,
		usage:       codexUsage,
		signal:      codexSignal,
		reads:       codexReads,
		credentials: codexCredentials,
		login:       codexLogin,
		relogin:     "codex login",
		// No hook reports that a question was answered, or that a turn failed.
		trust: []string{FromTranscript, FromTitle, FromHook},
	}
}

// Shared reports whether a command line is of a process shared by the agents of several terminals:
// Codex's daemon, a child of the Codex that started first.
func Shared(argv []string) bool {
	return len(argv) > 1 && path.Base(argv[0]) == "codex" && argv[1] == "app-server"
}

// The sandbox of the first two needs user namespaces, which a container has only if its settings
// allow them. Without them every command fails or needs approval. agentform does not widen the
// permissions by itself.
var codexPermissions = map[string][]string{
	"ask":   {"-a", "on-request", "-s", "read-only"},
	"edits": {"-a", "on-request", "-s", "workspace-write"},
	"all":   {"--dangerously-bypass-approvals-and-sandbox"},
}

// codexTitle makes the title show in a word whether Codex waits. By default it is the folder's
// name, which could be anything.
const codexTitle = `tui.terminal_title=["activity","run-state","project-name"]`

func codexStart(in session.StartInput) session.Start {
	s := in.Spec
	argv := join(s.Agent.Command)
	if in.Conversation != "" {
		argv = append(argv, "resume")
	}
	argv = append(argv,
		// Otherwise it moves into a daemon, new or existing, and outlives the terminal. This is a
		// setting and not --no-daemon, because earlier versions accept unknown settings.
		"-c", "features.daemon_auto_start=false",
		"-c", "check_for_update_on_startup=false",
		"-c", codexTitle)
	if s.Agent.Trust && s.Workspace.Path != "" {
		argv = append(argv, "-c", fmt.Sprintf(`projects={%s={trust_level="trusted"}}`, tomlString(s.Workspace.Path)))
	}
	argv = join(argv, codexHooks(in.Notify), codexTelemetry(s.Telemetry))
	if s.Profile != "" {
		argv = append(argv, "--profile", s.Profile)
	}
	argv = join(argv, codexPermissions[s.Agent.Permissions], s.Args)
	if in.Conversation != "" {
		argv = append(argv, in.Conversation)
	}
	if in.Prompt != "" {
		// Without the dashes, a prompt of one word could be a command.
		argv = append(argv, "--", in.Prompt)
	}
	return session.Start{Argv: argv}
}

// tomlString returns a text as a TOML basic string.
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

// codexTelemetry returns the settings with which Codex sends logs, traces and metrics (the [otel]
// table of its config.toml).
func codexTelemetry(t session.Telemetry) []string {
	if t.Endpoint == "" {
		return nil
	}
	args := []string{"-c", "otel.log_user_prompt=" + strconv.FormatBool(t.Prompts)}
	for _, e := range []struct{ setting, signal string }{{"exporter", "logs"}, {"trace_exporter", "traces"}, {"metrics_exporter", "metrics"}} {
		args = append(args, "-c", fmt.Sprintf(`otel.%s={otlp-http={endpoint=%s,protocol="binary"}}`, e.setting, tomlString(t.Signal(e.signal))))
	}
	return args
}
