package discover

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/proc"
)

// Agent is an agent's process.
type Agent struct {
	Name string
	Args []string // in addition to the agent's command
	PID  int
}

// Below returns the agent that is a process or one of its descendants. Of several it is the first
// that is not suspended, parents first: agents started by an agent do not count.
func Below(pid int, agents map[string]config.Agent) (Agent, bool) {
	if pid <= 0 {
		return Agent{}, false
	}
	all := proc.Descendants(pid)
	if self, ok := proc.ReadStat(pid); ok {
		all = slices.Insert(all, 0, self)
	}
	var found []Agent
	inside := map[int]bool{} // processes of agents already found
	for _, p := range all {
		if inside[p.Parent] {
			inside[p.PID] = true
			continue
		}
		name, args, ok := Recognize(agents, proc.Argv(p.PID))
		if !ok {
			continue
		}
		inside[p.PID] = true
		a := Agent{Name: name, Args: args, PID: p.PID}
		if p.State != 'T' {
			return a, true
		}
		found = append(found, a)
	}
	if len(found) == 0 {
		return Agent{}, false
	}
	return found[0], true
}

var interpreters = []string{"node", "bun", "deno", "python", "python3", "ruby", "sh", "bash", "dash", "zsh"}

// Recognize returns the agent whose command a command line starts with, and the further arguments.
// It skips an interpreter and its flags.
func Recognize(agents map[string]config.Agent, argv []string) (name string, args []string, ok bool) {
	if len(argv) == 0 {
		return "", nil, false
	}
	program, rest := argv[0], argv[1:]
	if slices.Contains(interpreters, strings.TrimPrefix(filepath.Base(program), "-")) {
		i := slices.IndexFunc(rest, func(word string) bool { return !strings.HasPrefix(word, "-") })
		if i < 0 {
			return "", nil, false
		}
		program, rest = rest[i], rest[i+1:]
	}
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		own := agents[name].Spec.Command
		if len(own) > 0 && filepath.Base(own[0]) == agent.Program(program) && len(rest) >= len(own)-1 && slices.Equal(own[1:], rest[:len(own)-1]) {
			return name, rest[len(own)-1:], true
		}
	}
	return "", nil, false
}
