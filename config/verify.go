package config

import (
	"path"
	"strings"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// checkVerify refuses to verify sessions that have no commit, or no agent at the end of a turn.
func checkVerify(d reader, b *expr.Block, s session.Spec) {
	finish := b.Attr("finish")
	b = b.Block("verify")
	if b != nil {
		checkVerification(d, b, s.Verify)
	}
	switch {
	case b == nil && s.Finish == session.FinishVerified:
		d.Fail(finish, "Nothing to verify", "finish = \"verified\" needs a verify block with the command that has to succeed.")
	case b != nil && s.Finish == session.FinishTurn:
		d.Fail(finish, "Verification that never runs", "finish = \"turn\" ends the agent before its work is verified: use finish = \"verified\".")
	case b == nil:
	case s.Workspace.Mode == session.Plain:
		d.FailAt(b.Def, "Nothing to verify", "%s works in a directory without git: only commits are verified.", s.Address)
	case s.Verify.Commit && s.Workspace.Mode == session.InPlace:
		d.Fail(b.Attr("commit"), "Commits of others' work", "%s works in a checkout that others use, too: what is not committed there may be theirs. Remove commit, or give it a workspace of its own.", s.Address)
	case s.Agent.OneShot:
		d.FailAt(b.Def, "Nothing to verify", "The agent %q is one-shot, and its work is verified while its agent runs: remove one_shot, and set finish = \"verified\".", s.Agent.Name)
	}
}

func checkVerification(d reader, b *expr.Block, v session.Verify) {
	d.Require(b, "command", "command = [\"make\", \"test\"]")
	if v.Timeout.D() > shim.VerifyLimit {
		d.Fail(b.Attr("timeout"), "Invalid duration", "\"timeout\" must be at most %s, not %s.", session.Duration(shim.VerifyLimit), v.Timeout)
	}
	for _, pattern := range v.Protect {
		_, err := path.Match(pattern, "")
		if err != nil || path.Clean(pattern) != pattern || path.IsAbs(pattern) || pattern == "." || pattern == ".." || strings.HasPrefix(pattern, "../") {
			d.Fail(b.Attr("protect"), "Invalid pattern", "%q is not a pattern of files below the workspace, such as \"tests/**\".", expr.Cut(pattern))
		}
	}
}
