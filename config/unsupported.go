package config

import "github.com/hashicorp/hcl/v2"

// unsupported is what the language has and this release does not carry out:
// what it is, and what to do meanwhile. It is refused, never passed over.
var unsupported = []struct{ feature, what, instead string }{
	{"runtime docker", "Docker runtimes are", "Sessions run in tmux on this host; remove the block."},
	{"runtime tmux", "Named tmux servers are", "tmux on this host needs no block; remove it."},
	{"secret", "Sources of secrets are", "Without such a block the value comes from agentform's own environment; name it in the session's secrets."},
	{"notify", "Notifications are", "Remove the block."},
	{"import", "Import blocks are", "Remove the block."},
	{"moved", "Moved blocks are", "Remove the block; a session under a new name is made anew."},
	{"removed", "Removed blocks are", "Remove the block; `agentform state rm` forgets a session without touching it."},
	{"output", "Outputs are", "Remove the block."},
	{"check", "Checks are", "Remove the block; a variable can have a validation block."},
	{"conversation", "Conversations to go on with are", "Remove the block; restart { resume = true } continues the session's own."},
	{"workspace.mode clone", "Clones as workspaces are", `Use mode = "worktree".`},
	{"heartbeat.key", "Heartbeat keys are", "Use a command."},
}

// notYet tells that a feature is not supported yet. It reports whether that is
// so.
func (l *loader) notYet(at hcl.Range, feature string) bool {
	for _, u := range unsupported {
		if u.feature == feature {
			l.fail(at, "Not supported yet", "%s part of the language, but this release does not carry them out. %s", u.what, u.instead)
			return true
		}
	}
	return false
}
