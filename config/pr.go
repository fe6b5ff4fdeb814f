package config

import (
	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
)

// checkPR refuses a pr block of sessions that have no branch, or no agent that could be sent something.
func checkPR(d reader, b *expr.Block, s session.Spec) {
	switch b = b.Block("pr"); {
	case b == nil:
	case s.Workspace.Mode == session.Plain:
		d.FailAt(b.Def, "No pull request", "%s works in a directory without git, so it has no branch to open a pull request from.", s.Address)
	case s.Agent.OneShot:
		d.FailAt(b.Def, "No pull request", "The agent %q is one-shot, and checks fail after it has exited: remove one_shot, and set finish = \"landed\".", s.Agent.Name)
	}
}
