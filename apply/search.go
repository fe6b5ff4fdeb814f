package apply

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/session"
)

// Search finds commands, and remembers what each PATH has, since most sessions ask for
// the same. It is for one plan.
type Search map[[2]string]found // by PATH and command

type found struct {
	path string
	err  error
}

// Startable returns why a session cannot be started with the command line of its agent
// in an environment (NAME=VALUE, the last of a name counts). It accepts a path in a
// workspace that does not exist yet.
func (s Search) Startable(spec session.Spec, argv, env []string) error {
	if len(argv) == 0 {
		return errors.New("it has no command")
	}
	if strings.Contains(argv[0], "/") && !filepath.IsAbs(argv[0]) {
		if _, err := os.Stat(spec.Workspace.Path); err != nil {
			return nil
		}
	}
	key := [2]string{variable(env, "PATH"), argv[0]}
	f, known := s[key]
	if !known || strings.Contains(argv[0], "/") {
		f.path, f.err = lookUp(argv[0], spec.Workspace.Path, env)
		s[key] = f
	}
	if f.err != nil {
		return f.err
	}
	return checkInterpreter(f.path)
}

// variable returns the value of a variable in an environment.
func variable(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// lookUp finds a command as the session does: from its workspace and on its own PATH.
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
	search := variable(env, "PATH")
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

// checkInterpreter returns an error if the interpreter of a script does not exist. What
// cannot be read is for the system to judge.
func checkInterpreter(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := f.Read(head)
	line, script := strings.CutPrefix(string(head[:n]), "#!")
	line, _, _ = strings.Cut(line, "\n")
	words := strings.Fields(line)
	if !script || len(words) == 0 || !filepath.IsAbs(words[0]) {
		return nil
	}
	if _, err := os.Stat(words[0]); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s cannot run: its interpreter %s is not there", path, words[0])
	}
	return nil
}
