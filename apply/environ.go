package apply

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/session"
)

// inherited returns what a session gets of the environment that agentform was called
// with, or of that of its last run. No session gets what another one calls a secret.
func (r *run) inherited(s session.Spec) (session.Inherited, error) {
	base := r.BaseEnv
	if r.BaseOf != nil {
		own, err := r.BaseOf(s.Address)
		if err != nil {
			return session.Inherited{}, err
		}
		if len(own) > 0 {
			base = own
		}
	}
	base = slices.DeleteFunc(slices.Clone(base), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return r.secrets[name]
	})
	return session.Inherit(base, s, r.Agent(s.Agent)), nil
}

// environ returns an agent's whole environment, and its secrets.
func (r *run) environ(s session.Spec, beneath ...map[string]string) (env []string, secrets map[string]string, err error) {
	in, err := r.inherited(s)
	if err != nil {
		return nil, nil, err
	}
	env, secrets = launch.Environ(s, in, nil, beneath...)
	return env, secrets, nil
}

// Search finds commands, and remembers which PATH has which, since most sessions ask
// for the same: it is kept for one look at many of them.
type Search map[[2]string]searched // by PATH and command

type searched struct {
	path string
	err  error
}

// lookUp looks a command up as the function does, on each PATH only once.
func (s Search) lookUp(command, dir string, env []string) (string, error) {
	if strings.Contains(command, "/") {
		return lookUp(command, dir, env)
	}
	key := [2]string{searchPath(env), command}
	found, known := s[key]
	if !known {
		found.path, found.err = lookUp(command, dir, env)
		s[key] = found
	}
	return found.path, found.err
}

// searchPath is the PATH of an environment.
func searchPath(env []string) string {
	search := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			search = v
		}
	}
	return search
}

// lookUp finds a command as the session would, from its workspace and with its
// environment: agentform's own PATH does not count.
func lookUp(command, dir string, env []string) (string, error) {
	if strings.Contains(command, "/") {
		path := command
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if !executable(path) {
			return "", fmt.Errorf("command %s is no executable file", path)
		}
		return path, nil
	}
	search := searchPath(env)
	for _, folder := range filepath.SplitList(search) {
		if path := filepath.Join(folder, command); folder != "" && executable(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("command %q is not on its PATH (%s)", command, search)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
