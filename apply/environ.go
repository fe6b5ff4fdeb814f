package apply

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// environ is an agent's whole environment but for its secrets, sorted: the base
// without any session's secrets, under it what this machine and the agent's adapter
// want, then what its agent block says, then the session's own. In a container the base is the
// image's, which is there already, and what the runtime block adds to it.
func (r *run) environ(s session.Spec, beneath ...map[string]string) []string {
	env := map[string]string{}
	base := r.BaseEnv
	if r.BaseOf != nil {
		if own := r.BaseOf(s.Address); len(own) > 0 {
			base = own
		}
	}
	if d := s.Runtime.Docker; d != nil {
		base = nil
		for name, value := range d.Env {
			env[name] = value
		}
	}
	for _, kv := range base {
		if name, value, ok := strings.Cut(kv, "="); ok && !r.secrets[name] {
			env[name] = value
		}
	}
	for _, layer := range append(beneath, s.Agent.Env, s.Env) {
		for name, value := range layer {
			env[name] = value
		}
	}
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// home is the HOME of agents that are given no other.
func (a *Applier) home() string {
	home := ""
	for _, kv := range a.BaseEnv {
		if v, ok := strings.CutPrefix(kv, "HOME="); ok {
			home = v
		}
	}
	return home
}

// secretsOf are the values of a session's secrets. The error names one that is
// not set.
func (r *run) secretsOf(s session.Spec) (map[string]string, error) {
	values := make(map[string]string, len(s.Secrets))
	for _, name := range s.Secrets {
		v, ok := r.Secrets(name)
		if !ok {
			return nil, fmt.Errorf("secret %s is not set", name)
		}
		values[name] = v
	}
	return values, nil
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
