package language

import (
	"sync"

	"github.com/agentform/agentform/session"
)

// AgentBlock returns the agent block.
var AgentBlock = sync.OnceValue(func() *Block {
	return &Block{
		Type: "agent", Labels: []string{"name"}, Repeatable: true,
		Doc: "A custom agent, or a change to a built-in one: `claude`, `codex`, `copilot`, `gemini`, `opencode` and `qwen` need no block. Its `restart`, `health` and `stop` blocks are the defaults of its sessions.",
		Attributes: []Attribute{
			{Name: "base", Kind: Text, Forces: Restarts, Apart: true, Field: func(s *session.Spec) any { return &s.Agent.Base }, Example: `"claude"`, Doc: "A built-in agent to inherit everything from."},
			{Name: "command", Kind: Command, Forces: Restarts, DefaultWords: "its base's", Field: func(s *session.Spec) any { return &s.Agent.Command }, Example: `["my-agent", "--chat"]`, Doc: "The program and its first arguments. Required without a base."},
			{Name: "permissions", Kind: Text, Forces: Restarts, Values: []string{"ask", "edits", "all"}, Meanings: []string{"it reads, and asks for the rest", "it writes in the workspace, and asks for the rest", "it asks nothing"}, DefaultWords: "the agent's own", Field: func(s *session.Spec) any { return &s.Agent.Permissions }, Example: `"edits"`, Doc: "What the agent does without asking, by a built-in agent's [own flags](agents/README.md)."},
			{Name: "trust", Kind: Flag, Forces: Restarts, Default: "false", Field: func(s *session.Spec) any { return &s.Agent.Trust }, Example: "true", Doc: "Trusts the workspace, without a dialog at the start."},
			{Name: "prompt_via", Kind: Text, Forces: InPlace, Values: []string{"argument", "paste", "none"}, Meanings: []string{"the last argument of its command", "typed once the agent is ready", "not at all"}, DefaultWords: "its base's; else `argument`", Field: func(s *session.Spec) any { return &s.Agent.PromptVia }, Doc: "How the first prompt is delivered."},
			{Name: "ready", Kind: Regex, Forces: InPlace, DefaultWords: "its base's", Field: func(s *session.Spec) any { return &s.Agent.Ready }, Example: `"^> "`, Doc: "Matches the screen once a prompt can be typed."},
			{Name: "ready_timeout", Kind: Duration, Forces: InPlace, DefaultWords: "its base's; else `30s`", Least: 1, Field: func(s *session.Spec) any { return &s.Agent.ReadyTimeout }, Example: `"1m"`, Doc: "Timeout for that; the error shows the screen."},
			{Name: "status_bar_lines", Kind: Whole, Forces: InPlace, DefaultWords: "its base's; else 0", Field: func(s *session.Spec) any { return &s.Agent.StatusBarLines }, Example: "2", Doc: "Lines at the bottom of the screen to ignore."},
			{Name: "observable", Kind: Text, Forces: InPlace, Values: []string{"at_start", "at_first_prompt", "after_first_turn"}, Meanings: []string{"as soon as it runs", "once it was given a prompt", "once its first turn has ended"}, DefaultWords: "its base's; else `at_start`", Field: func(s *session.Spec) any { return &s.Agent.Observable }, Doc: "When its own session file must exist."},
			{Name: "unobserved_for", Kind: Duration, Forces: InPlace, DefaultWords: "its base's; else `24h`", Least: 1, Field: func(s *session.Spec) any { return &s.Agent.UnobservedFor }, Example: `"24h"`, Doc: "Reports a session that has none for longer; never kills it."},
			{Name: "one_shot", Kind: Flag, Forces: InPlace, Default: "false", Field: func(s *session.Spec) any { return &s.Agent.OneShot }, Doc: "Exit status 0 means *done*, and the agent is not restarted. Otherwise it means *exited*."},
			{Name: "env", Kind: Table, Forces: Restarts, Field: func(s *session.Spec) any { return &s.Agent.Env }, Example: `{ LOG = "debug" }`, Doc: "Added to the environment of its sessions."},
			{Name: "inherit_env", Kind: TrueOrTexts, Forces: Restarts, DefaultWords: "none", Apart: true, Field: func(s *session.Spec) any { return &s.Agent.InheritEnv }, Example: `["SSH_AUTH_SOCK"]`, Doc: "Variables of your environment that it gets on this machine: names, with `*` for any characters, or `true`."},
		},
		Blocks: []Block{
			{
				Type: "patterns", Forces: InPlace, Field: func(s *session.Spec) any { return &s.Agent.Patterns },
				Doc: "Case-insensitive regular expressions over the screen, added to the built-in ones.",
				Attributes: []Attribute{
					{Name: "done", Kind: Regexes, Field: func(s *session.Spec) any { return &s.Agent.Patterns.Done }, Example: `["all tests pass"]`, Doc: "The task is done."},
					{Name: "blocked", Kind: Regexes, Field: func(s *session.Spec) any { return &s.Agent.Patterns.Blocked }, Example: `["\\[y/n\\]"]`, Doc: "The agent waits for you."},
					{Name: "blocked_api", Kind: Regexes, Field: func(s *session.Spec) any { return &s.Agent.Patterns.BlockedAPI }, Example: `["rate limit"]`, Doc: "The agent waits for its provider: a limit, an overload."},
					{Name: "failed", Kind: Regexes, Field: func(s *session.Spec) any { return &s.Agent.Patterns.Failed }, Example: `["fatal error"]`, Doc: "The agent has failed."},
					{Name: "working", Kind: Regexes, Field: func(s *session.Spec) any { return &s.Agent.Patterns.Working }, Example: `["thinking"]`, Doc: "The agent is working."},
					{Name: "ui", Kind: Regexes, Field: func(s *session.Spec) any { return &s.Agent.Patterns.UI }, Example: `["my-agent v"]`, Doc: "The user interface is shown."},
					{Name: "shell_prompt", Kind: Regexes, Field: func(s *session.Spec) any { return &s.Agent.Patterns.ShellPrompt }, Example: `["\\$ $"]`, Doc: "A shell is shown instead of the agent."},
				},
			},
			restart(), health(), stop(),
			budget("For each session of the agent by itself.", "1000000", "5", `"2h"`),
		},
	}
})
