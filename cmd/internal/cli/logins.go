package cli

import (
	"os"
	"runtime"
	"slices"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/session"
)

// missingLogin returns what a session's agent lacks to log in, and how to log in. Of a
// container nothing is known: it has another home, and its image may bring a login.
func missingLogin(a *app, s session.Spec) (lack, remedy string) {
	if s.Runtime.Traits().OwnHome {
		return "", ""
	}
	return agent.MissingLogin(s, agent.LoginFacts{OS: runtime.GOOS, At: a.whereabouts(s), Read: readSmall})
}

// largestConfig is the size, in bytes, above which a file is not an agent's configuration.
const largestConfig = 16 << 20

// readSmall returns the text of a regular file, or nothing. A file that exists and cannot
// be read may hold a login, so it is not nothing.
func readSmall(path string) []byte {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return nil
	}
	if !info.Mode().IsRegular() || info.Size() > largestConfig {
		return []byte{}
	}
	text, _ := os.ReadFile(path)
	if text == nil {
		return []byte{}
	}
	return text
}

// otherAgents reports the built-in agents that are installed and that no session uses,
// with whether each is logged in.
func (x *examination) otherAgents() {
	for _, name := range x.app.installedAgents() {
		uses := func(s session.Spec) bool { return s.Agent.Name == name || s.Agent.Base == name }
		if slices.ContainsFunc(x.project.manifest.Sessions, uses) {
			continue
		}
		s := session.Spec{Agent: agent.Builtins()[name], Workspace: session.Workspace{Path: x.project.manifest.Root, Repo: x.project.manifest.Root}}
		switch lack, remedy := missingLogin(x.app, s); {
		case lack == "":
			x.add(view.Fine, name, "installed", "")
		case len(x.project.manifest.Sessions) > 0:
			x.add(view.Fine, name, "installed, not logged in, and no session uses it", "")
		default:
			x.add(view.Warning, name, "installed, not logged in: "+lack, remedy)
		}
	}
}
