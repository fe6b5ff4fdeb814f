package agent

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
	"github.com/google/go-cmp/cmp"
)

func builtin(name string, edit ...func(*session.AgentSpec)) session.AgentSpec {
	s := Builtins()[name]
	for _, e := range edit {
		e(&s)
	}
	return s
}

// The documentation promises the defaults, so each is written out here.
func TestBuiltins(t *testing.T) {
	want := map[string]session.AgentSpec{
		"claude": {
			Name: "claude", Base: "claude", Command: []string{"claude"}, PromptVia: "argument",
			Ready: `^❯[\s\x{a0}]*(Try ".*)?$`, ReadyTimeout: session.Duration(30 * time.Second),
			StatusBarLines: 5, Observable: "at_first_prompt", UnobservedFor: session.Duration(24 * time.Hour),
		},
		"codex": {
			Name: "codex", Base: "codex", Command: []string{"codex"}, PromptVia: "argument",
			Ready: `^\s*\S+ \S+ · [/~]`, ReadyTimeout: session.Duration(30 * time.Second),
			StatusBarLines: 3, Observable: "at_first_prompt", UnobservedFor: session.Duration(24 * time.Hour),
		},
		"copilot": {
			Name: "copilot", Base: "copilot", Command: []string{"copilot"}, PromptVia: "argument",
			Ready: `^❯( |$)`, ReadyTimeout: session.Duration(30 * time.Second),
			StatusBarLines: 1, Observable: "at_start", UnobservedFor: session.Duration(24 * time.Hour),
		},
		"gemini": {
			Name: "gemini", Base: "gemini", Command: []string{"gemini"}, PromptVia: "paste",
			Ready: `^[>*]\s+Type your message`, ReadyTimeout: session.Duration(2 * time.Minute),
			StatusBarLines: 3, Observable: "at_start", UnobservedFor: session.Duration(24 * time.Hour),
			Env: map[string]string{"COLORTERM": "truecolor"},
		},
		"opencode": {
			Name: "opencode", Base: "opencode", Command: []string{"opencode"}, PromptVia: "paste",
			Ready: `ctrl\+p commands`, ReadyTimeout: session.Duration(5 * time.Minute),
			StatusBarLines: 3, Observable: "at_first_prompt", UnobservedFor: session.Duration(24 * time.Hour),
		},
		"qwen": {
			Name: "qwen", Base: "qwen", Command: []string{"qwen"}, PromptVia: "argument",
			Ready: `^[>*]\s+Type your message`, ReadyTimeout: session.Duration(30 * time.Second),
			StatusBarLines: 1, Observable: "at_first_prompt", UnobservedFor: session.Duration(24 * time.Hour),
		},
	}
	if diff := cmp.Diff(want, Builtins()); diff != "" {
		t.Error(diff)
	}
	Builtins()["gemini"].Env["COLORTERM"] = "changed"
	if diff := cmp.Diff(want, Builtins()); diff != "" {
		t.Errorf("a caller changed them: %s", diff)
	}
}

// An invalid pattern would be skipped silently.
func TestEveryPatternCompiles(t *testing.T) {
	lists := [][]string{donePhrases, limitPhrases, failedPhrases, shellPrompt}
	for _, kind := range kinds {
		k := kind()
		m := k.marks
		lists = append(lists, m.blocked, m.blockedAPI, m.failed, m.working, m.retrying, m.ui, []string{k.spec.Ready})
		if len(m.ui) != 2 {
			t.Errorf("%s has %d patterns of its screen, not two", k.spec.Ready, len(m.ui))
		}
	}
	for _, list := range lists {
		if got := compile(exact, list); len(got) != len(list) {
			t.Errorf("%d of %q compile", len(got), list)
		}
	}
	for _, phrases := range [][]string{donePhrases, limitPhrases, failedPhrases} {
		if len(phrases) < 4 || strings.ToLower(strings.Join(phrases, "")) != strings.Join(phrases, "") {
			t.Errorf("fewer than four phrases, or not in lower case: %q", phrases)
		}
	}
}

func TestStart(t *testing.T) {
	claudeEnv := map[string]string{"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_AGENT_VIEW": "1", "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false"}
	long := strings.Repeat("x", ArgumentLimit+1)
	for name, c := range map[string]struct {
		agent        session.AgentSpec
		spec         session.Spec
		prompt       string
		conversation string
		want         session.Start
	}{
		"claude": {builtin("claude"), session.Spec{}, "fix it", "",
			session.Start{Argv: []string{"claude", "--", "fix it"}, Env: claudeEnv}},
		"claude without a prompt": {builtin("claude"), session.Spec{Args: []string{"--model", "opus"}}, "", "",
			session.Start{Argv: []string{"claude", "--model", "opus"}, Env: claudeEnv}},
		"claude, a prompt like a flag": {builtin("claude"), session.Spec{}, "--help", "",
			session.Start{Argv: []string{"claude", "--", "--help"}, Env: claudeEnv}},
		"claude asks": {builtin("claude", func(s *session.AgentSpec) { s.Permissions = "ask" }), session.Spec{}, "", "",
			session.Start{Argv: []string{"claude", "--permission-mode", "default"}, Env: claudeEnv}},
		"claude edits": {builtin("claude", func(s *session.AgentSpec) { s.Permissions = "edits" }), session.Spec{}, "", "",
			session.Start{Argv: []string{"claude", "--permission-mode", "acceptEdits"}, Env: claudeEnv}},
		"claude may all": {builtin("claude", func(s *session.AgentSpec) { s.Permissions = "all" }), session.Spec{}, "p", "",
			session.Start{Argv: []string{"claude", "--permission-mode", "bypassPermissions", "--settings", `{"skipDangerousModePermissionPrompt":true}`, "--", "p"}, Env: claudeEnv}},
		"claude goes on": {builtin("claude"), session.Spec{Args: []string{"--verbose"}}, "and now", "7f3e",
			session.Start{Argv: []string{"claude", "--resume", "7f3e", "--verbose", "--", "and now"}, Env: claudeEnv}},
		"claude, a long prompt": {builtin("claude"), session.Spec{}, long, "",
			session.Start{Argv: []string{"claude"}, Env: claudeEnv, Paste: long}},
		"claude, the longest argument": {builtin("claude"), session.Spec{}, long[1:], "",
			session.Start{Argv: []string{"claude", "--", long[1:]}, Env: claudeEnv}},
		"claude by paste": {builtin("claude", func(s *session.AgentSpec) { s.PromptVia = ViaPaste }), session.Spec{}, "p", "",
			session.Start{Argv: []string{"claude"}, Env: claudeEnv, Paste: "p"}},
		"claude, no prompt wanted": {builtin("claude", func(s *session.AgentSpec) { s.PromptVia = ViaNone }), session.Spec{}, "p", "",
			session.Start{Argv: []string{"claude"}, Env: claudeEnv}},
		"a reviewer based on claude": {builtin("claude", func(s *session.AgentSpec) { s.Name, s.Command = "reviewer", []string{"claude", "--model", "opus"} }), session.Spec{}, "p", "",
			session.Start{Argv: []string{"claude", "--model", "opus", "--", "p"}, Env: claudeEnv}},
		"custom": {session.AgentSpec{Name: "lint", Command: []string{"make", "lint"}, PromptVia: "argument", Permissions: "all", Trust: true},
			session.Spec{Args: []string{"-j2"}, Profile: "x"}, "-p", "c",
			session.Start{Argv: []string{"make", "lint", "-j2", "-p"}}},
		"custom by paste": {session.AgentSpec{Name: "repl", Command: []string{"repl"}, PromptVia: "paste"}, session.Spec{}, "1+1", "",
			session.Start{Argv: []string{"repl"}, Paste: "1+1"}},
		"custom, no prompt wanted": {session.AgentSpec{Name: "repl", Command: []string{"repl"}, PromptVia: "none"}, session.Spec{}, "1+1", "",
			session.Start{Argv: []string{"repl"}}},
		"a custom one called claude": {session.AgentSpec{Name: "claude", Command: []string{"mine"}, PromptVia: "argument"}, session.Spec{}, "p", "",
			session.Start{Argv: []string{"mine", "p"}}},
	} {
		t.Run(name, func(t *testing.T) {
			command, args := slices.Clone(c.agent.Command), slices.Clone(c.spec.Args)
			c.spec.Agent = c.agent
			got := For(c.agent).Start(session.StartInput{Spec: c.spec, Prompt: c.prompt, Conversation: c.conversation})
			if got.Paste != c.want.Paste || !slices.Equal(got.Argv, c.want.Argv) || !maps.Equal(got.Env, c.want.Env) {
				t.Error(cmp.Diff(c.want, got))
			}
			if !slices.Equal(command, c.agent.Command) || !slices.Equal(args, c.spec.Args) {
				t.Error("the specification was changed")
			}
		})
	}
}
