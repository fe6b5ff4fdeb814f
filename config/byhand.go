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
	"github.com/agentform/agentform/session"
)

// Asked is a session that is asked for without a session block.
type Asked struct {
	Address session.Address
	Agent   string   // its name; empty: Command is one of its own
	Command []string // of an agent that nothing declares
	Args    []string
	Profile string
	Prompt  string
	Role    string // empty: default
	Labels  map[string]string
	Timeout session.Duration // longest run; 0: none
	// ReadyTimeout is how long its agent may take until it can be typed into; 0:
	// as the agent says.
	ReadyTimeout session.Duration
	Conversation string // of the agent, to go on with

	// Branch gives it a worktree of the repository that Dir is in. Without one it
	// works in Dir itself.
	Branch string
	Dir    session.Checkout // where to work, as it stands; its path is absolute
}

// Compose makes the whole of what was asked for: every default filled in, as for
// a session block. It says what is wrong with it, in the words of a command line.
func (m *Manifest) Compose(a Asked) (session.Spec, error) {
	s := session.Spec{
		Address: a.Address, Role: a.Role, Labels: a.Labels, Desired: session.Running,
		Profile: a.Profile, Args: a.Args, InheritEnv: slices.Clone(m.InheritEnv), Prompt: session.PromptOf(a.Prompt), Timeout: a.Timeout,
		Runtime: session.RuntimeSpec{Kind: "tmux"}, Pause: session.Pause{Mode: session.Detach},
	}
	if s.Role == "" {
		s.Role = "default"
	}
	if !isRole(s.Role) {
		return s, fmt.Errorf("role %q cannot name a folder: a role starts with a letter or digit and holds letters, digits, dots, dashes and underscores, at most 64", s.Role)
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

// agent is the one that is asked for.
func (m *Manifest) agent(a Asked) (Agent, error) {
	if a.Agent == "" {
		if len(a.Command) == 0 {
			return Agent{}, errors.New("no agent is named")
		}
		spec := customAgent()
		spec.Name, spec.Command, spec.PromptVia = session.Slug(filepath.Base(a.Command[0])), a.Command, "none"
		return agentWith(spec), nil
	}
	found, ok := m.Agents[a.Agent]
	if !ok {
		known := slices.Sorted(maps.Keys(m.Agents))
		return Agent{}, fmt.Errorf("there is no agent %q: there are %s%s", a.Agent, expr.Quoted(known, "and"), expr.DidYouMean(a.Agent, known))
	}
	found.Spec = cloneAgent(found.Spec)
	return found, nil
}

// settle works out where it works: in a worktree of its own, in the checkout
// itself, or in a folder that is the top of none, without a branch.
func (m *Manifest) settle(a Asked, s *session.Spec) error {
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
			return fmt.Errorf("%s is in no git repository, so there is no branch to work on: git init there, or leave the branch out", a.Dir.Path)
		}
		w.Path = filepath.Join(m.DataDir, "workspaces", folderName(s.Address), branchFolder(s.Branch))
	case !a.Dir.Exists:
		return fmt.Errorf("there is no folder %s", a.Dir.Path)
	case a.Dir.Git && a.Dir.Branch != "":
		s.Branch = a.Dir.Branch
		w.Mode, w.Repo, w.Path = session.InPlace, a.Dir.Path, a.Dir.Path
	default:
		w.Mode, w.Path, w.Explicit = session.Plain, a.Dir.Path, true
	}
	return nil
}

// WorkspaceName is the folder of a session among a project's workspaces, one of
// its own for every address.
func WorkspaceName(a session.Address) string { return folderName(a) }

// IsWorkspaceName reports whether name has the form of what WorkspaceName returns: a
// folder of another name was made by someone else.
func IsWorkspaceName(name string) bool {
	i := strings.LastIndexByte(name, '-')
	sum := name[i+1:]
	_, err := hex.DecodeString(sum)
	return i > 0 && len(sum) == 6 && err == nil && strings.ToLower(sum) == sum
}

// customAgent is what an agent is that is none of the built-in ones, before
// anything is said of it.
func customAgent() session.AgentSpec {
	return session.AgentSpec{PromptVia: "argument", ReadyTimeout: seconds(30), Observable: "at_start", UnobservedFor: session.Duration(day)}
}
