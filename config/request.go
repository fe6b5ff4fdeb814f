package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/session"
)

// Request is a request for a session without a session block.
type Request struct {
	Address session.Address
	Agent   string   // its name; empty: Command
	Command []string // of an undeclared agent
	Args    []string
	Profile string
	Prompt  string
	Role    string // empty: default
	Labels  map[string]string
	Timeout session.Duration // longest run; 0: none
	// ReadyTimeout bounds the agent's start; 0: the agent's own limit.
	ReadyTimeout session.Duration
	Conversation string // of the agent, to resume

	// Branch gives it a worktree of Dir's repository. Without one it works in Dir.
	Branch string
	Dir    session.Checkout // absolute
}

// Compose returns the spec of a request. Errors are in terms of the command line.
func (m *Manifest) Compose(a Request) (session.Spec, error) {
	s := session.Spec{
		Address: a.Address, Role: a.Role, Labels: a.Labels, Desired: session.Running,
		Profile: a.Profile, Args: a.Args, InheritEnv: slices.Clone(m.InheritEnv), Telemetry: m.Telemetry.ofAgents(), Prompt: session.PromptOf(a.Prompt), Timeout: a.Timeout,
		Runtime: session.RuntimeSpec{Kind: "tmux"}, Pause: session.Pause{Mode: session.Detach},
	}
	if s.Role == "" {
		s.Role = "default"
	}
	if !isRole(s.Role) {
		return s, fmt.Errorf("invalid role %q: a role starts with a letter or digit, followed by letters, digits, dots, dashes and underscores, at most 64 in all", s.Role)
	}
	if a.Conversation != "" {
		s.Conversation = session.Conversation{Resume: true, ID: a.Conversation}
	}
	agent, err := m.agent(a)
	if err != nil {
		return s, err
	}
	s.Agent, s.Restart, s.Health, s.Stop = agent.Spec, agent.Restart, agent.Health, agent.Stop
	if a.ReadyTimeout > 0 {
		s.Agent.ReadyTimeout = a.ReadyTimeout
	}
	return s, m.settle(a, &s)
}

func (m *Manifest) agent(a Request) (Agent, error) {
	if a.Agent == "" {
		if len(a.Command) == 0 {
			return Agent{}, errors.New("no agent is given")
		}
		spec := customAgent()
		spec.Name, spec.Command, spec.PromptVia = session.Slug(filepath.Base(a.Command[0])), a.Command, "none"
		return agentWith(spec), nil
	}
	found, ok := m.Agents[a.Agent]
	if !ok {
		known := slices.Sorted(maps.Keys(m.Agents))
		return Agent{}, fmt.Errorf("there is no agent %q, only %s%s", a.Agent, expr.Quoted(known, "and"), expr.DidYouMean(a.Agent, known))
	}
	found.Spec = cloneAgent(found.Spec)
	return found, nil
}

// settle sets a worktree, the checkout itself, or a directory that is not the top of one.
func (m *Manifest) settle(a Request, s *session.Spec) error {
	s.Workspace.OnDestroy = session.Keep
	w := &s.Workspace
	switch {
	case a.Branch != "":
		if err := session.CheckBranch(a.Branch); err != nil {
			return err
		}
		s.Branch = a.Branch
		w.Mode = session.Worktree
		if w.Repo = (&expr.Dirs{Repos: map[string]string{}}).Repository(a.Dir.Path); w.Repo == "" {
			return fmt.Errorf("%s is not in a git repository, so it has no branches: run git init there, or omit the branch", a.Dir.Path)
		}
		w.Path = filepath.Join(layout.Data{Dir: m.DataDir}.Workspaces(), WorkspaceName(s.Address), branchDirectory(s.Branch))
	case !a.Dir.Exists:
		return fmt.Errorf("there is no directory %s", a.Dir.Path)
	case a.Dir.Git && a.Dir.Branch != "":
		s.Branch = a.Dir.Branch
		w.Mode, w.Repo, w.Path = session.InPlace, a.Dir.Path, a.Dir.Path
	default:
		w.Mode, w.Path, w.Explicit = session.Plain, a.Dir.Path, true
	}
	return nil
}

// IsWorkspaceName reports whether WorkspaceName could have returned a name.
func IsWorkspaceName(name string) bool {
	i := strings.LastIndexByte(name, '-')
	sum := name[i+1:]
	_, err := hex.DecodeString(sum)
	return i > 0 && len(sum) == 6 && err == nil && strings.ToLower(sum) == sum
}

func customAgent() session.AgentSpec {
	return session.AgentSpec{PromptVia: "argument", ReadyTimeout: seconds(30), Observable: "at_start", UnobservedFor: session.Duration(day)}
}
