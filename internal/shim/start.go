package shim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// RunVariable is the environment variable that marks every process of a run
// with the run's id.
const RunVariable = "AGENTFORM_RUN"

// The environment variables by which an agent can ask agentform about itself: the
// address of its session and the project's directory.
const (
	SessionVariable = "AGENTFORM_SESSION"
	ProjectVariable = "AGENTFORM_PROJECT"
)

// oomRaise is added to the agent's oom_score_adj (-1000 to 1000): among equals
// an agent goes before the guests, tmux and the user's other programs.
const oomRaise = 300

// startError is why an agent could not be started, with a shell's exit code for
// it.
type startError struct {
	code int
	err  error
}

func (e *startError) Error() string { return e.err.Error() }

const (
	codeNotFound = 127 // the command is not there
	codeCannot   = 126 // anything else kept it from running
)

// start runs the agent on the guest's own terminal, and returns its pid.
func start(c Config, env []string) (int, error) {
	if info, err := os.Stat(c.Dir); err != nil {
		return 0, &startError{codeCannot, fmt.Errorf("its folder: %w", err)}
	} else if !info.IsDir() {
		return 0, &startError{codeCannot, fmt.Errorf("its folder: %s is not a folder", c.Dir)}
	}
	path, err := lookup(c.Argv[0], c.Dir, env)
	if err != nil {
		return 0, err
	}
	undo := moreKillable(oomRaise)
	pid, _, err := syscall.StartProcess(path, c.Argv, &syscall.ProcAttr{
		Dir: c.Dir, Env: env, Files: []uintptr{0, 1, 2}, Sys: attributes(),
	})
	undo()
	if err != nil {
		return 0, &startError{codeCannot, fmt.Errorf("%s: %w", path, err)}
	}
	return pid, nil
}

// lookup finds a command in the agent's PATH; one with a slash is taken from its
// folder.
func lookup(name, dir string, env []string) (string, error) {
	var places []string
	if strings.Contains(name, "/") {
		places = []string{""}
	} else {
		for _, kv := range env {
			if list, ok := strings.CutPrefix(kv, "PATH="); ok {
				places = filepath.SplitList(list)
			}
		}
	}
	var denied error
	for _, place := range places {
		path := filepath.Join(place, name)
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, os.ErrPermission):
			denied = err
		case err != nil:
		case info.IsDir() || info.Mode().Perm()&0o111 == 0:
			denied = fmt.Errorf("%s: is not an executable file", path)
		default:
			return path, nil
		}
	}
	if denied != nil {
		return "", &startError{codeCannot, denied}
	}
	if len(places) == 1 && places[0] == "" {
		return "", &startError{codeNotFound, fmt.Errorf("%s: command not found", name)}
	}
	return "", &startError{codeNotFound, fmt.Errorf("%s: command not found in PATH (%s)", name, strings.Join(places, ":"))}
}

// terminalVariables describe the terminal that the guest was started in, and so
// the agent's: what they were where agentform was called says nothing about it.
// COLORTERM is no such: terminals that have colours do not all set it.
var terminalVariables = []string{"TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION"}

// environment is the agent's: the configured one, the secrets, what describes
// the terminal, and the run's mark. The way to the tmux server is taken out, or
// one agent's `tmux kill-server` would end all, and so is what belongs to
// agentform.
func environment(c Config, secrets map[string]string, own []string) []string {
	vars := map[string]string{}
	if c.Inherit {
		for _, kv := range own {
			if k, v, ok := strings.Cut(kv, "="); ok && k != "" {
				vars[k] = v
			}
		}
	}
	told := map[string]bool{}
	for _, kv := range c.Env {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "" {
			vars[k] = v
			told[k] = k == ProjectVariable || k == SessionVariable
		}
	}
	for k, v := range secrets {
		vars[k] = v
	}
	for k := range vars {
		if k == "TMUX" || k == "TMUX_PANE" || strings.HasPrefix(k, "AGENTFORM_") && !told[k] || slices.Contains(terminalVariables, k) {
			delete(vars, k)
		}
	}
	for _, kv := range own {
		if k, v, ok := strings.Cut(kv, "="); ok && (k == "COLORTERM" || slices.Contains(terminalVariables, k)) {
			vars[k] = v
		}
	}
	vars[RunVariable] = c.Run
	vars["PWD"] = c.Dir
	env := make([]string, 0, len(vars))
	for k, v := range vars {
		env = append(env, k+"="+v)
	}
	slices.Sort(env)
	return env
}
