package agent_test

import (
	"testing"

	"github.com/agentform/agentform/agent"
)

func TestProgram(t *testing.T) {
	for file, want := range map[string]string{
		"claude":               "claude",
		"/usr/local/bin/codex": "codex",
		"/usr/bin/gemini.js":   "gemini",
		"/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js": "claude",
		"/home/you/.local/share/claude/versions/2.1.4":           "claude",
		"/x/node_modules/@openai/codex/bin/codex.js":             "codex",
		"/x/node_modules/@qwen-code/qwen-code/cli.js":            "qwen",
		"/x/node_modules/@github/copilot/npm-loader.js":          "copilot",
		"/x/node_modules/@google/gemini-cli/dist/index.js":       "gemini",
		"/opt/my-agent":                "my-agent",
		"/home/claude/bin/my-agent.py": "my-agent.py",
	} {
		if got := agent.Program(file); got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
}
