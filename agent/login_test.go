package agent

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

func TestMissingLogin(t *testing.T) {
	const home, dir = "/home/me", "/work/shop/.agentform/workspaces/x"
	for name, c := range map[string]struct {
		agent string
		env   map[string]string
		files map[string]string
		edit  func(*session.Spec)
		os    string
		want  string // in what is lacking or in the remedy; empty: nothing is missing
	}{
		"claude, never started":            {agent: Claude, want: "/home/me/.claude/.credentials.json"},
		"claude, logged in":                {agent: Claude, files: map[string]string{home + "/.claude/.credentials.json": "{}"}},
		"claude, its account":              {agent: Claude, files: map[string]string{home + "/.claude.json": `{"oauthAccount":{}}`}},
		"claude, only set up":              {agent: Claude, files: map[string]string{home + "/.claude.json": `{"hasCompletedOnboarding":true}`}, want: "ANTHROPIC_API_KEY"},
		"claude, a key that is inherited":  {agent: Claude, env: map[string]string{"ANTHROPIC_API_KEY": "sk"}},
		"claude, a key that is declared":   {agent: Claude, edit: func(s *session.Spec) { s.Secrets = []string{"ANTHROPIC_AUTH_TOKEN"} }},
		"claude, an empty key":             {agent: Claude, env: map[string]string{"ANTHROPIC_API_KEY": ""}, want: "no key"},
		"claude, Bedrock":                  {agent: Claude, env: map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1"}},
		"claude, a helper in its settings": {agent: Claude, files: map[string]string{home + "/.claude/settings.json": `{"apiKeyHelper":"x"}`}},
		"claude, settings of the project":  {agent: Claude, files: map[string]string{"/work/shop/.claude/settings.local.json": `{"env":{"ANTHROPIC_API_KEY":"x"}}`}},
		"claude, settings of its own":      {agent: Claude, edit: func(s *session.Spec) { s.Args = []string{"--settings", "x"} }},
		"claude, another folder": {agent: Claude, env: map[string]string{"CLAUDE_CONFIG_DIR": "/etc/c"},
			files: map[string]string{home + "/.claude/.credentials.json": "{}"}, want: "/etc/c/.credentials.json"},
		"claude, on macOS":               {agent: Claude, os: "darwin"},
		"claude, another program":        {agent: Claude, edit: func(s *session.Spec) { s.Agent.Command = []string{"my-claude"} }},
		"claude, by its path":            {agent: Claude, edit: func(s *session.Spec) { s.Agent.Command = []string{"/opt/claude"} }, want: "log in"},
		"based on claude":                {agent: Claude, edit: func(s *session.Spec) { s.Agent.Name = "reviewer" }, want: "log in"},
		"codex, never started":           {agent: Codex, want: "/home/me/.codex/auth.json"},
		"codex, only a key":              {agent: Codex, env: map[string]string{"OPENAI_API_KEY": "sk"}, want: "codex login --with-api-key"},
		"codex, logged in":               {agent: Codex, files: map[string]string{home + "/.codex/auth.json": "{}"}},
		"codex, a provider":              {agent: Codex, files: map[string]string{home + "/.codex/config.toml": `model_provider = "x"`}},
		"codex, a plain configuration":   {agent: Codex, files: map[string]string{home + "/.codex/config.toml": `model = "x"`}, want: "log in"},
		"codex, a provider as an option": {agent: Codex, edit: func(s *session.Spec) { s.Args = []string{"-c", "model_provider=x"} }},
		"codex, a profile":               {agent: Codex, edit: func(s *session.Spec) { s.Profile = "x" }},
		"codex, another folder": {agent: Codex, env: map[string]string{"CODEX_HOME": "/etc/c"},
			files: map[string]string{"/etc/c/auth.json": ""}},
		"qwen, never started":           {agent: Qwen, want: "/home/me/.qwen/settings.json"},
		"qwen, a key":                   {agent: Qwen, env: map[string]string{"OPENAI_API_KEY": "x"}},
		"qwen, a provider":              {agent: Qwen, files: map[string]string{home + "/.qwen/settings.json": `{"modelProviders":{}}`}},
		"copilot, never started":        {agent: Copilot, want: "/home/me/.copilot/config.json"},
		"copilot, a token":              {agent: Copilot, env: map[string]string{"GH_TOKEN": "x"}},
		"copilot, its own model":        {agent: Copilot, env: map[string]string{"COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1"}},
		"copilot, logged in":            {agent: Copilot, files: map[string]string{home + "/.copilot/config.json": `{"loggedInUsers":[]}`}},
		"gemini, never started":         {agent: Gemini, want: "/home/me/.gemini/oauth_creds.json"},
		"gemini, a key":                 {agent: Gemini, env: map[string]string{"GEMINI_API_KEY": "x"}},
		"gemini, Vertex":                {agent: Gemini, env: map[string]string{"GOOGLE_GENAI_USE_VERTEXAI": "true"}},
		"gemini, logged in":             {agent: Gemini, files: map[string]string{home + "/.gemini/oauth_creds.json": "{}"}},
		"gemini, a way that was chosen": {agent: Gemini, files: map[string]string{home + "/.gemini/settings.json": `{"security":{"auth":{"selectedType":"oauth-personal"}}}`}},
		"gemini, a .env above":          {agent: Gemini, files: map[string]string{"/work/shop/.env": "GEMINI_API_KEY=x"}},
		"an agent of one's own":         {agent: "x", edit: func(s *session.Spec) { s.Agent = session.AgentSpec{Name: "x", Command: []string{"x"}} }},
	} {
		s := session.Spec{Agent: Builtins()[c.agent]}
		if c.edit != nil {
			c.edit(&s)
		}
		if c.os == "" {
			c.os = "linux"
		}
		lack, remedy := MissingLogin(s, LoginFacts{OS: c.os, At: session.Lookup{Home: home, Dir: dir, Env: c.env}, Read: func(path string) []byte {
			text, there := c.files[path]
			if !there {
				return nil
			}
			return []byte(text)
		}})
		if got := lack + "\n" + remedy; c.want == "" && got != "\n" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
