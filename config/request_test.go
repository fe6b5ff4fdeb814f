package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

func TestCompose(t *testing.T) {
	dir := t.TempDir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(text string) *Manifest {
		if err := os.WriteFile(filepath.Join(dir, "agentform.hcl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m, ds := Load(Options{Dir: dir, Builtins: map[string]session.AgentSpec{"claude": {Name: "claude", Base: "claude", Command: []string{"claude"}}}})
		if session.HasErrors(ds) {
			t.Fatal(ds)
		}
		return m
	}
	m := write(`
agent "fake" {
  command = ["fake", "-x"]
  stop { grace = "3s" }
}
`)
	checkout := session.Checkout{Path: dir, Exists: true, Git: true, Branch: "main"}
	s, err := m.Compose(Request{Address: "session.task", Agent: "fake", Prompt: "go", Dir: checkout, Branch: "agents/task",
		ReadyTimeout: session.Duration(time.Minute), Conversation: "c1", Labels: map[string]string{"a": "b"}})
	if err != nil {
		t.Fatal(err)
	}
	// As a session block would have it.
	want := write(`
agent "fake" {
  command       = ["fake", "-x"]
  ready_timeout = "1m"
  stop { grace = "3s" }
}
session "task" {
  agent  = agent.fake
  branch = "agents/task"
  prompt = "go"
  labels = { a = "b" }
}
`).Sessions[0]
	want.Conversation = session.Conversation{Resume: true, ID: "c1"}
	if s.Hash() != want.Hash() || s.Agent.ReadyTimeout != want.Agent.ReadyTimeout || s.Stop != want.Stop || s.Restart != want.Restart ||
		s.Health.HungAfter != want.Health.HungAfter || s.Workspace.Path != want.Workspace.Path || s.Role != want.Role ||
		s.Conversation != want.Conversation || s.Labels["a"] != "b" || s.Workspace.OnDestroy != want.Workspace.OnDestroy || s.Pause != want.Pause {
		t.Errorf("composed %+v\nwant     %+v", s, want)
	}
	if s, err := m.Compose(Request{Address: "session.x", Agent: "claude", Dir: checkout}); err != nil || s.Workspace.Mode != session.InPlace ||
		s.Workspace.Path != dir || s.Workspace.Repo != dir || s.Branch != "main" {
		t.Errorf("in place: %+v, %v", s.Workspace, err)
	}
	plain := session.Checkout{Path: "/srv", Exists: true}
	if s, err := m.Compose(Request{Address: "session.x", Command: []string{"/opt/My Agent", "-v"}, Dir: plain}); err != nil || s.Workspace.Mode != session.Plain ||
		s.Branch != "" || s.Agent.Name != "my-agent" || !slices.Equal(s.Agent.Command, []string{"/opt/My Agent", "-v"}) || s.Agent.PromptVia != "none" {
		t.Errorf("plain: %+v %+v, %v", s.Workspace, s.Agent, err)
	}
	for want, a := range map[string]Request{
		"Did you mean":                   {Agent: "fkae", Dir: checkout},
		"no agent is given":              {Dir: checkout},
		"invalid role":                   {Agent: "fake", Role: "a/b", Dir: checkout},
		"invalid branch name":            {Agent: "fake", Branch: "a..b", Dir: checkout},
		"is not in a git repository":     {Agent: "fake", Branch: "a", Dir: session.Checkout{Path: "/"}},
		"there is no directory /nowhere": {Agent: "fake", Dir: session.Checkout{Path: "/nowhere"}},
	} {
		a.Address = "session.x"
		if _, err := m.Compose(a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", a, err, want)
		}
	}
}

// Without a manifest there are the built-in agents.
func TestAgentsWithoutManifest(t *testing.T) {
	m, ds := Load(Options{Dir: t.TempDir(), Builtins: map[string]session.AgentSpec{"claude": {Name: "claude"}}})
	if !session.HasErrors(ds) || len(m.Agents) != 1 || m.Agents["claude"].Stop.Signal != "SIGTERM" {
		t.Errorf("%+v, %v", m.Agents, ds)
	}
}
