package agent

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
	"github.com/google/go-cmp/cmp"
)

func TestDotfileFixes(t *testing.T) {
	s := session.Spec{Agent: builtin("claude")}
	of := session.Lookup{Home: "/home/me", Env: map[string]string{"ANTHROPIC_API_KEY": "sk-0123456789abcdefghij"}}
	if got := DotfileFixes(s, session.Lookup{Home: "/home/me"}); got != nil {
		t.Errorf("an agent that has no key: %+v", got)
	}
	s.Secrets = []string{"ANTHROPIC_API_KEY"}
	if got := DotfileFixes(s, session.Lookup{Home: "/home/me"}); len(got) != 1 {
		t.Errorf("a key whose value is not known: %+v", got)
	}
	s.Secrets = nil // it is inherited
	fixes := DotfileFixes(s, of)
	if len(fixes) != 1 || fixes[0].Path != "/home/me/.claude.json" {
		t.Fatalf("%+v", fixes)
	}
	of.Env["CLAUDE_CONFIG_DIR"] = "/etc/claude"
	if got := DotfileFixes(s, of); got[0].Path != "/etc/claude/.claude.json" {
		t.Errorf("%+v", got)
	}
	if got := DotfileFixes(session.Spec{Agent: session.AgentSpec{Name: "x", Command: []string{"x"}}}, of); got != nil {
		t.Errorf("a custom agent: %+v", got)
	}
	const done = `{
  "customApiKeyResponses": {
    "approved": [
      "abc",
      "0123456789abcdefghij"
    ],
    "rejected": []
  },
  "hasCompletedOnboarding": true,
  "numStartups": 12345678901234567890
}
`
	for now, want := range map[string]string{
		`{"numStartups":12345678901234567890,"customApiKeyResponses":{"approved":["abc"],"rejected":[]}}`: done,
		done: done,
		"":   "{\n  \"customApiKeyResponses\": {\n    \"approved\": [\n      \"0123456789abcdefghij\"\n    ]\n  },\n  \"hasCompletedOnboarding\": true\n}\n",
	} {
		text, changed, err := fixes[0].Apply([]byte(now))
		if diff := cmp.Diff(want, string(text)); diff != "" || err != nil || changed != (now != want) {
			t.Errorf("%s: changed %v, %v\n%s", now, changed, err, diff)
		}
	}
	for _, bad := range []string{`[1]`, `{`, `{"customApiKeyResponses":7}`, `{"customApiKeyResponses":{"approved":"all"}}`} {
		if _, _, err := fixes[0].Apply([]byte(bad)); err == nil || !strings.Contains(err.Error(), "add to /home/me/.claude.json") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestRefusal(t *testing.T) {
	all := func(edit ...func(*session.StartInput)) session.StartInput {
		in := session.StartInput{Root: true, Spec: session.Spec{Agent: builtin("claude", func(s *session.AgentSpec) { s.Permissions = "all" })}}
		for _, e := range edit {
			e(&in)
		}
		return in
	}
	if got := Refusal(all()); !strings.Contains(got, "as root") {
		t.Errorf("all as root: %q", got)
	}
	for name, in := range map[string]session.StartInput{
		"not root":       all(func(in *session.StartInput) { in.Root = false }),
		"in a container": all(func(in *session.StartInput) { in.Sandbox = true }),
		"in a sandbox":   all(func(in *session.StartInput) { in.Spec.Env = map[string]string{"IS_SANDBOX": "1"} }),
		"edits only":     all(func(in *session.StartInput) { in.Spec.Agent.Permissions = "edits" }),
		"codex":          all(func(in *session.StartInput) { in.Spec.Agent = builtin("codex") }),
	} {
		if got := Refusal(in); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
