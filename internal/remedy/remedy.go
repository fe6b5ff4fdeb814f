package remedy

import (
	"fmt"
	"strings"

	"github.com/agentform/agentform/session"
)

// With returns the detail of a problem with the words of its remedy.
func With(detail string, r session.Remedy) string {
	if words, known := table[r.Code]; known {
		detail += words(r)
	}
	if r.Renamed != "" {
		head, rest, _ := strings.Cut(detail, "\n")
		detail = head + "\n" + ifRenamed(r.Renamed, r.Address) + "\n" + rest
	}
	return detail
}

// table has the words of each remedy. They continue the detail of the problem.
var table = map[session.RemedyCode]func(session.Remedy) string{
	session.RemedyApplyManifest:     form(": agentform apply makes what the manifest has"),
	session.RemedyDeleteCopy:        form("; to start a separate project, delete the copy: rm -r %s", plainPath),
	session.RemedyFreshConversation: form("\nagentform restart --fresh %s starts a new one, with the prompt", plainAddress),
	session.RemedyMovedOrCopied:     form("; if it was moved: agentform doctor --fix --moved; if the original was renamed, its sessions belong to it, and to start a separate project, delete the copy: rm -r %s", plainPath),
	session.RemedyRebuildAgain:      form("; run agentform state rebuild again"),
	session.RemedyRebuildBackup:     form(rebuild+"; to restore the state before the last write: cp %s %s", plainHolderPath, plainPath),
	session.RemedyRebuildCorrupt:    form(rebuild),
	session.RemedyRebuildJournal:    form(rebuild+"; to continue with the state file alone: mv %s %s.broken", plainPath, plainPath),
	session.RemedyRebuildLineage:    form("; to restore it from the copies of the sessions: agentform state rebuild"),
	session.RemedyReplaceStuck:      form(": agentform apply --replace %q makes another", plainAddress),
	session.RemedyReplaceShimless:   form("; agentform apply --replace %q makes one that has", plainAddress),
	session.RemedyAdopt:             form("; agentform adopt %s %s takes it back", holder, id),
	session.RemedyAdoptForeign:      form("; end or rename it, or take it over: agentform adopt %s %s", block, plainID),
	session.RemedyApply:             form(": agentform apply goes on with it"),
	session.RemedyDestroyHolder:     form("\n%s\nelse end it, and move its workspace away: agentform destroy --target %s", renamed, holder),
	session.RemedyDoctor:            form(": agentform doctor %s shows why and what to do", name),
	session.RemedyForgetRecord:      form("\ntake one of them off the record first: agentform state rm %s", address),
	session.RemedyFreeBranch:        form("\n" + freeBranch),
	session.RemedyHolderMoves: form("\nit is the workspace of %s, which is to be on another branch\nif it was renamed: agentform state mv %s %s\nelse "+freeBranch,
		plainHolder, holder, address),
	session.RemedyHolderRemoved: form("\n%s\nelse end it, and free the branch: agentform destroy --target %s && git -C %s worktree remove %s",
		renamed, holder, repo, holderPath),
	session.RemedyHolderStays: form("\nit is the workspace of %s; "+freeBranch, plainHolder),
	session.RemedyMoveHolder: form("\nit is the workspace of %s, which the manifest no longer has, and which stays as it is\nif it was renamed, move %s to its new address first, then: agentform state mv %s %s\nelse end it, and free the branch: agentform destroy --target %s && git -C %s worktree remove %s",
		plainHolder, plainAddress, holder, address, holder, repo, holderPath),
	session.RemedyMovePath:         form("\nmove it away, or give the session another workspace path"),
	session.RemedyMoveProject:      form("; if the project was moved: agentform doctor --fix"),
	session.RemedyOtherHost:        form("; run agentform there, or, if %s no longer exists: agentform state rm %s", host, address),
	session.RemedyOtherNamespace:   form("; run agentform there, or, if it no longer exists: agentform state rm %s", address),
	session.RemedyOtherUser:        form("; run agentform as that user"),
	session.RemedyPruneWorktree:    form("\nthat folder is gone: bring it back, or forget it, with the commits of its submodules: git -C %s worktree prune", repo),
	session.RemedyRebuildState:     form("\nto restore the state: agentform state rebuild"),
	session.RemedyReplaceContainer: form("\nto have another made in its place: agentform apply --replace %s", address),
	session.RemedyReplaceSession:   form("\nrestore it, or recreate the session: agentform apply --replace %s", address),
	session.RemedyRestart:          form("; agentform restart runs it again"),
	session.RemedyRestoreBranch:    restoreBranch,
	session.RemedyRestoreCheckout:  form("\nbring the checkout back and plan again"),
	session.RemedyResume:           form(": agentform resume %s continues it", name),
	session.RemedySearchFile:       form("\nagentform doctor %s shows where the file was looked for, agentform capture %s shows the screen", name, name),
	session.RemedySwapBranches: form("\nit is the workspace of %s: the two sessions swap their branches, and agentform switches none by itself\nto swap them: git -C %s switch --detach && git -C %s switch %s && git -C %s switch %s",
		plainHolder, path, holderPath, holderBranch, path, branch),
	session.RemedySwitch:         switchBranch("to mend it: "),
	session.RemedySwitchDeclared: switchBranch("agentform never switches branches by itself: "),
	session.RemedySwitchDetached: switchBranch("to mend it, keeping the commits there: "),
	session.RemedySwitchMissing:  switchBranch("to fix it: "),
}

const rebuild = "; to rebuild the state from the copies of the sessions: agentform state rebuild"

const freeBranch = "free it there (another branch, or git worktree remove), or declare another branch"

// form returns a function that formats facts of a remedy.
func form(words string, facts ...func(session.Remedy) string) func(session.Remedy) string {
	return func(r session.Remedy) string {
		all := make([]any, len(facts))
		for i, fact := range facts {
			all[i] = fact(r)
		}
		return fmt.Sprintf(words, all...)
	}
}

// The facts as words of a command line; plain ones stand in prose.
func address(r session.Remedy) string         { return shell(string(r.Address)) }
func name(r session.Remedy) string            { return shell(r.Address.Short()) }
func block(r session.Remedy) string           { return r.Address.Block() }
func holder(r session.Remedy) string          { return shell(string(r.Holder)) }
func id(r session.Remedy) string              { return shell(r.ID) }
func repo(r session.Remedy) string            { return shell(r.Repo) }
func path(r session.Remedy) string            { return shell(r.Path) }
func branch(r session.Remedy) string          { return shell(r.Branch) }
func holderPath(r session.Remedy) string      { return shell(r.HolderPath) }
func holderBranch(r session.Remedy) string    { return shell(r.HolderBranch) }
func host(r session.Remedy) string            { return r.Host }
func plainAddress(r session.Remedy) string    { return string(r.Address) }
func plainHolder(r session.Remedy) string     { return string(r.Holder) }
func plainHolderPath(r session.Remedy) string { return r.HolderPath }
func plainPath(r session.Remedy) string       { return r.Path }
func plainID(r session.Remedy) string         { return r.ID }
func renamed(r session.Remedy) string         { return ifRenamed(r.Holder, r.Address) }

func ifRenamed(from, to session.Address) string {
	return fmt.Sprintf("it is the workspace of %s, which the manifest no longer has, and which stays as it is\nif it was renamed, write in the manifest:\nmoved {\n  from = %[1]s\n  to   = %s\n}", from, to)
}

// switchBranch says how to bring a workspace to its branch.
func switchBranch(lead string) func(session.Remedy) string {
	return func(r session.Remedy) string {
		switch command := fmt.Sprintf("git -C %s switch %s", path(r), branch(r)); {
		case r.InContainer:
			return fmt.Sprintf("\n%sin its container, agentform attach %s: git switch %s", lead, address(r), branch(r))
		case r.HolderPath != "":
			return fmt.Sprintf("\n%s%q is held by %s; free it there first, then %s", lead, r.Branch, r.HolderPath, command)
		default:
			return "\n" + lead + command
		}
	}
}

// restoreBranch says how to recreate the missing branch of a workspace.
func restoreBranch(r session.Remedy) string {
	commit := r.Commit
	if commit == "" {
		commit = "COMMIT"
	}
	command := fmt.Sprintf("branch %s %s", branch(r), commit)
	if r.InContainer {
		return fmt.Sprintf("\nto restore it: in its container, agentform attach %s: git %s", address(r), command)
	}
	return fmt.Sprintf("\nto restore it: git -C %s %s", path(r), command)
}

// shell quotes a string as one word of a command line.
func shell(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:,@%", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
