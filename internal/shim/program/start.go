package program

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// oomRaise is added to the agent's oom_score_adj (-1000 to 1000), so that an agent is killed before
// the shims, tmux and the user's other programs.
const oomRaise = 300

// startError is why an agent could not be started, with the exit status a shell would use.
type startError struct {
	code int
	err  error
}

func (e *startError) Error() string { return e.err.Error() }

// start runs the agent on the shim's own terminal, and returns its pid.
func start(c rundir.Config, env []string) (int, error) {
	if info, err := os.Stat(c.Dir); err != nil {
		return 0, &startError{shim.ExitCannot, fmt.Errorf("its directory: %w", err)}
	} else if !info.IsDir() {
		return 0, &startError{shim.ExitCannot, fmt.Errorf("its directory: %s is not a directory", c.Dir)}
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
		return 0, &startError{shim.ExitCannot, fmt.Errorf("%s: %w", path, err)}
	}
	return pid, nil
}

// lookup finds a command in the agent's PATH. A command with a slash is relative to the agent's
// directory.
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
		return "", &startError{shim.ExitCannot, denied}
	}
	if len(places) == 1 && places[0] == "" {
		return "", &startError{shim.ExitNotFound, fmt.Errorf("%s: command not found", name)}
	}
	return "", &startError{shim.ExitNotFound, fmt.Errorf("%s: command not found in PATH (%s)", name, strings.Join(places, ":"))}
}

// terminalVariables describe the terminal of the shim and so of the agent; their values where
// agentform was called do not apply. COLORTERM is not one of them: not all terminals with colours
// set it.
var terminalVariables = []string{"TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION"}

// environment returns the agent's: the configured one, the secrets, the terminal's variables, and
// the run's mark. It removes agentform's own variables and the way to the tmux server, with which
// an agent's `tmux kill-server` would end all sessions.
func environment(c rundir.Config, secrets map[string]string, own []string) []string {
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
			told[k] = k == rundir.ProjectVariable || k == rundir.SessionVariable
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
	vars[proc.RunVariable] = c.Run
	vars["PWD"] = c.Dir
	env := make([]string, 0, len(vars))
	for k, v := range vars {
		env = append(env, k+"="+v)
	}
	slices.Sort(env)
	return env
}
