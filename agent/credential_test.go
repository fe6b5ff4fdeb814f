package agent_test

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/session"
)

// TestCredential checks which runs share a credential, and its name.
func TestCredential(t *testing.T) {
	type run struct {
		agent   string
		id      string
		env     string
		secrets map[string]string
		change  func(*session.Spec)
	}
	of := func(r run) session.Credential {
		s := session.Spec{Agent: session.AgentSpec{Name: r.agent}, Runtime: session.RuntimeSpec{Kind: "tmux"}}
		if r.change != nil {
			r.change(&s)
		}
		env := append([]string{"HOME=/home/ada"}, strings.Fields(r.env)...)
		return agent.Credential(s, agent.CredentialFacts{Salt: "lineage", ID: r.id, Env: env, Secrets: r.secrets})
	}
	declares := func(name string) func(*session.Spec) {
		return func(s *session.Spec) { s.Secrets = []string{name} }
	}
	inDocker := func(s *session.Spec) { s.Runtime = session.RuntimeSpec{Kind: "docker"} }
	key := map[string]string{"ANTHROPIC_API_KEY": "sk-1"}
	for _, c := range []struct {
		what string
		a, b run
		same bool
		name string // of a
	}{
		{"one directory", run{agent: "claude", id: "1"}, run{agent: "claude", id: "2"}, true, "claude, ~/.claude"},
		{"another directory", run{agent: "claude"}, run{agent: "claude", env: "CLAUDE_CONFIG_DIR=/srv/b/"}, false, "claude, ~/.claude"},
		{"the same by another name", run{agent: "claude", env: "CLAUDE_CONFIG_DIR=/srv/b/"}, run{agent: "claude", env: "CLAUDE_CONFIG_DIR=/srv/b"}, true, "claude, /srv/b"},
		{"an agent of one's own", run{agent: "reviewer", change: func(s *session.Spec) { s.Agent.Base = "claude" }}, run{agent: "claude"}, true, "claude, ~/.claude"},
		{"without a base", run{agent: "robot"}, run{agent: "robot"}, true, ""},
		{"another agent", run{agent: "codex"}, run{agent: "claude"}, false, "codex, ~/.codex"},
		{"another profile", run{agent: "codex"}, run{agent: "codex", change: func(s *session.Spec) { s.Profile = "b" }}, false, "codex, ~/.codex"},
		{"a key", run{agent: "claude", secrets: key, env: "CLAUDE_CONFIG_DIR=/a"}, run{agent: "claude", env: "ANTHROPIC_API_KEY=sk-1"}, true, "claude, ANTHROPIC_API_KEY"},
		{"a key, whose agent it is", run{agent: "opencode", secrets: key}, run{agent: "claude", secrets: key}, true, "opencode, ANTHROPIC_API_KEY"},
		{"another key", run{agent: "claude", secrets: key}, run{agent: "claude", env: "ANTHROPIC_API_KEY=sk-2"}, false, "claude, ANTHROPIC_API_KEY"},
		{"the key that counts", run{agent: "claude", env: "ANTHROPIC_AUTH_TOKEN=t ANTHROPIC_API_KEY=a"}, run{agent: "claude", env: "ANTHROPIC_AUTH_TOKEN=t ANTHROPIC_API_KEY=b"}, true, "claude, ANTHROPIC_AUTH_TOKEN"},
		{"the keys of a choice", run{agent: "opencode", env: "OPENAI_API_KEY=o ANTHROPIC_API_KEY=a"}, run{agent: "opencode", env: "ANTHROPIC_API_KEY=a"}, false, "opencode, ANTHROPIC_API_KEY and OPENAI_API_KEY"},
		{"another address", run{agent: "claude", secrets: key}, run{agent: "claude", secrets: key, env: "ANTHROPIC_BASE_URL=http://b"}, false, "claude, ANTHROPIC_API_KEY"},
		{"a declared secret, by its name", run{agent: "claude", change: declares("ANTHROPIC_API_KEY"), secrets: key}, run{agent: "claude", change: declares("ANTHROPIC_API_KEY")}, true, "claude, ANTHROPIC_API_KEY"},
		{"containers", run{agent: "claude", id: "1", change: inDocker}, run{agent: "claude", id: "2", change: inDocker}, false, "claude, ~/.claude"},
		{"a container with the same key", run{agent: "claude", id: "1", change: inDocker, env: "ANTHROPIC_API_KEY=sk-1"}, run{agent: "claude", secrets: key}, true, "claude, ANTHROPIC_API_KEY"},
		{"clouds", run{agent: "claude", env: "CLAUDE_CODE_USE_BEDROCK=1 AWS_PROFILE=a"}, run{agent: "claude", env: "CLAUDE_CODE_USE_BEDROCK=1 AWS_PROFILE=b"}, false, "claude, CLAUDE_CODE_USE_BEDROCK"},
	} {
		a, b := of(c.a), of(c.b)
		if same := a.ID == b.ID; same != c.same || a.Name != c.name {
			t.Errorf("%s: the same is %t, want %t; %q, want %q", c.what, same, c.same, a.Name, c.name)
		}
		if (a.ID == "") != (c.name == "") || strings.Contains(a.ID, "sk-") {
			t.Errorf("%s: %+v", c.what, a)
		}
	}
	for _, name := range agent.Names() {
		if of(run{agent: name}).ID == "" {
			t.Errorf("%s has no credential", name)
		}
	}
	s := session.Spec{Agent: session.AgentSpec{Name: "claude"}}
	if one, other := agent.Credential(s, agent.CredentialFacts{Salt: "1", Secrets: key}), agent.Credential(s, agent.CredentialFacts{Salt: "2", Secrets: key}); one.ID == other.ID {
		t.Errorf("a key has the same digest in two projects: %s", one.ID)
	}
}
