package apply

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/session"
)

// Search finds commands for one plan. It caches paths by PATH and command, since most sessions need
// the same.
type Search map[[2]string]string

// Startable returns why a session cannot be started with the command line of its agent
// in an environment (NAME=VALUE, the last of a name counts). It accepts a path in a
// workspace that does not exist yet.
func (s Search) Startable(spec session.Spec, argv, env []string) error {
	if len(argv) == 0 {
		return errors.New("it has no command")
	}
	isPath := strings.Contains(argv[0], "/")
	if isPath && !filepath.IsAbs(argv[0]) {
		if _, err := os.Stat(spec.Workspace.Path); err != nil {
			return nil
		}
	}
	key := [2]string{environ.Vars(env).Get("PATH"), argv[0]}
	path, known := s[key]
	if !known || isPath {
		var err error
		if path, err = environ.Vars(env).LookUp(argv[0], spec.Workspace.Path); err != nil {
			return err
		}
		s[key] = path
	}
	return checkInterpreter(path)
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
		return fmt.Errorf("%s cannot run: its interpreter %s does not exist", path, words[0])
	}
	return nil
}
