package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/session"
)

// notInheritedFile in the data folder names the variables that the first apply did not
// pass on. Where it exists, they have been reported.
const notInheritedFile = "not-inherited.txt"

// mostReported is how many variables one line names.
const mostReported = 8

// notInherited returns the names of the variables of an environment that none of the
// sessions gets, in whatever way.
func notInherited(environ []string, specs []session.Spec) []string {
	seen := map[string]int{}
	for _, s := range specs {
		for _, name := range session.Inherit(environ, s, agent.For(s.Agent)).Left {
			_, own := s.Env[name]
			_, agents := s.Agent.Env[name]
			if !own && !agents && !slices.Contains(s.Secrets, name) && !slices.Contains(shellVariables, name) {
				seen[name]++
			}
		}
	}
	var names []string
	for name, n := range seen {
		if n == len(specs) && session.IsVariablePattern(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// shellVariables are those of an interactive shell that no program misses.
var shellVariables = []string{
	"LS_COLORS", "LESS", "LESSOPEN", "LESSCLOSE", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "HISTFILE", "HISTSIZE", "HISTCONTROL",
	"MAIL", "HOSTNAME", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "WINDOWID", "COLORFGBG", "VTE_VERSION",
}

// reportNotInherited writes, with the first sessions that a project starts on this
// machine, which variables of the environment they do not get.
func reportNotInherited(a *app, dataDir string, environ []string, started []session.Spec) error {
	specs := slices.DeleteFunc(slices.Clone(started), func(s session.Spec) bool { return s.Runtime.Traits().OwnHome })
	names := notInherited(environ, specs)
	if len(names) == 0 {
		return nil
	}
	path := filepath.Join(dataDir, notInheritedFile)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil { // it was reported, or nothing can be written
		return nil
	}
	_, err = f.WriteString(strings.Join(names, "\n") + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return nil
	}
	more := ""
	if n := len(names) - mostReported; n > 0 {
		names, more = names[:mostReported], fmt.Sprintf(" and %d more (%s)", n, a.brief(path))
	}
	_, err = fmt.Fprintf(a.env.Stderr, "Not passed on to agents: %s%s. To pass on more, set inherit_env.\n", strings.Join(names, ", "), more)
	return err
}
