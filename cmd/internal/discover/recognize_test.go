package discover

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/session"
)

func known() map[string]config.Agent {
	all := map[string]config.Agent{}
	for name, spec := range agent.Builtins() {
		all[name] = config.Agent{Spec: spec}
	}
	all["mine"] = config.Agent{Spec: session.AgentSpec{Name: "mine", Command: []string{"/opt/my-agent", "chat"}}}
	return all
}

func TestRecognize(t *testing.T) {
	for line, want := range map[string]string{
		"claude":                                        "claude:",
		"/usr/bin/claude --model opus":                  "claude:--model opus",
		"node /usr/bin/codex resume":                    "codex:resume",
		"node --no-warnings=DEP0040 /usr/bin/gemini -y": "gemini:-y",
		"node /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js -c":               "claude:-c",
		"/root/.local/share/claude/versions/2.1.4":                                     "claude:",
		"/x/node_modules/@openai/codex/vendor/x86_64-unknown-linux-musl/codex/codex x": "codex:x",
		"my-agent chat --fast":  "mine:--fast",
		"my-agent serve":        "",
		"vim claude":            "",
		"tail -f claude.log":    "",
		"-bash":                 "",
		"bash -i":               "",
		"node server.js":        "",
		"/home/claude/bin/tool": "",
	} {
		name, args, ok := Recognize(known(), strings.Fields(line))
		got := ""
		if ok {
			got = name + ":" + strings.Join(args, " ")
		}
		if got != want {
			t.Errorf("%q is %q, want %q", line, got, want)
		}
	}
	if _, _, ok := Recognize(known(), nil); ok {
		t.Error("no command line is an agent")
	}
}
