package remedy

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// With returns the detail of a problem with the words of its remedy.
func With(detail string, r session.Remedy) string {
	if words := table[r.Code]; words != "" {
		detail += facts(r).Replace(words)
	}
	if r.Renamed != "" {
		head, rest, _ := strings.Cut(detail, "\n")
		detail = head + "\n" + ifRenamed(r.Renamed, r.Address) + "\n" + rest
	}
	return detail
}

// table has the words of each remedy, which continue the detail of the problem, with the
// facts in braces: quoted for a shell, or plain in capitals.
var table = map[session.RemedyCode]string{
	session.RemedyApplyManifest:     ": agentform apply creates what the manifest declares",
	session.RemedyDeleteCopy:        "\nto start a separate project, " + moveCopy,
	session.RemedyFreshConversation: "\nagentform restart --fresh {ADDRESS} starts a new one, with the prompt",
	session.RemedyMovedOrCopied: "\nif it was moved: agentform doctor --fix --moved\nif the original was renamed, " +
		"its sessions belong to it; to start a separate project, " + moveCopy,
	session.RemedyRebuildAgain:    "; run agentform state rebuild again",
	session.RemedyRebuildBackup:   rebuild + "\nto restore the state before the last write: cp {HOLDERPATH} {PATH}",
	session.RemedyRebuildCorrupt:  rebuild,
	session.RemedyRebuildJournal:  rebuild + "\nto continue with the state file alone: mv {PATH} {PATH}.broken",
	session.RemedyRebuildLineage:  "\nto restore it from the copies of the sessions: agentform state rebuild",
	session.RemedyReplaceStuck:    ": agentform apply --replace {address} creates another",
	session.RemedyReplaceShimless: "; agentform apply --replace {address} creates one that has",
	session.RemedyAdopt:           "; agentform adopt {holder} {id} takes it back",
	session.RemedyAdoptForeign:    "; stop or rename it, or adopt it: agentform adopt {BLOCK} {ID}",
	session.RemedyAnswer:          "\nto answer it: agentform answer {name} ANSWER",
	session.RemedyAttach:          "\nto see what it asks: agentform attach {name}",
	session.RemedyContinue:        "\nto tell its agent how to continue: agentform send {name} TEXT",
	session.RemedyRestartSession:  "\nto restart it: agentform restart {name}",
	session.RemedyApply:           ": agentform apply continues",
	session.RemedyDestroyHolder:   "\n{renamed}\nelse stop it, and move its workspace away: agentform destroy --target {holder}",
	session.RemedyDoctor:          ": agentform doctor {name} shows why and what to do",
	session.RemedyForgetRecord:    "\nremove one of them from the state first: agentform state rm {address}",
	session.RemedyEndAgent:        "\n" + endAgent,
	session.RemedyStopOther:       "\nits own project stops it: agentform -C {holderPath} stop {holder}\nif that no longer exists: {END}",
	session.RemedyFetchWork:       "\nto save the commits: agentform fetch {name}",
	session.RemedyFreeBranch:      "\n" + freeBranch,
	session.RemedyHolderMoves: "\nit is the workspace of {HOLDER}, which is declared on another branch\n" +
		"if it was renamed: agentform state mv {holder} {address}\nelse " + freeBranch,
	session.RemedyHolderRemoved: "\n{renamed}\n" + endHolder,
	session.RemedyHolderStays:   "\nit is the workspace of {HOLDER}; " + freeBranch,
	session.RemedyMoveHolder: "\n" + removed + "\n" +
		"if it was renamed, move {ADDRESS} to its new address first, then: agentform state mv {holder} {address}\n" + endHolder,
	session.RemedyIgnoreBudget: "\nto let it go on, and spend as much again: agentform start --ignore-budget {name}",
	session.RemedyMoveWorktree: "\nits worktree was moved to {HOLDERPATH}; to move it back: mv {holderPath} {path} && git -C {path} worktree repair",
	session.RemedyMovePath:     "\nmove it away, or give the session another workspace path",
	session.RemedyMoveProject:  "; if the project was moved: agentform doctor --fix",
	session.RemedyOtherHost:    "; run agentform there, or, if {HOST} no longer exists: agentform state rm {address}",
	session.RemedyOtherMachine: "; run agentform there, or, if that no longer exists: agentform state rm --force {address}",
	session.RemedyTakeOver: "\nif its agent and its work were in this checkout, whose data directory was lost: agentform doctor --fix --moved\n" +
		"if they are gone: agentform state rm --force {address}",
	session.RemedyOtherNamespace: "; run agentform there, or, if it no longer exists: agentform state rm {address}",
	session.RemedyOtherUser:      "; run agentform as that user",
	session.RemedyPruneWorktree: "\nthat directory is gone: restore it, or remove its entry, with the commits of its submodules: " +
		"git -C {repo} worktree prune",
	session.RemedyShareAgain: "\nwrite the backend block in the manifest again, and then: agentform init --reconfigure",
	session.RemedyNewVolume: "\nset it back; or, for a new volume: agentform fetch {name} && agentform destroy --target {address} && " +
		"agentform prune && agentform apply",
	session.RemedyRebuildOrEnd:     "\nto restore the state: agentform state rebuild\n" + endAgent,
	session.RemedyRebuildState:     "\nto restore the state: agentform state rebuild",
	session.RemedyReplaceContainer: "\nto create another in its place: agentform apply --replace {address}",
	session.RemedyReplaceSession:   "\nrestore it, or recreate the session: agentform apply --replace {address}",
	session.RemedyRestart:          "; agentform restart runs it again",
	session.RemedyRestoreBranch:    "\nto restore it: {git}branch {branch} {commit}",
	session.RemedyRestoreCheckout:  "\nrestore the checkout and plan again",
	session.RemedyResume:           ": agentform resume {name} resumes it",
	session.RemedySearchFile: "\nagentform doctor {name} shows where the file was looked for, " +
		"agentform capture {name} shows the screen",
	session.RemedySwapBranches: "\nit is the workspace of {HOLDER}: the two sessions swap their branches, " +
		"and agentform never switches branches\nto swap them: git -C {path} switch --detach && " +
		"git -C {holderPath} switch {holderBranch} && git -C {path} switch {branch}",
	session.RemedySwitch:         "\nto fix it: " + switchBranch,
	session.RemedySwitchDeclared: "\nagentform never switches branches: " + switchBranch,
	session.RemedySwitchDetached: "\nto fix it, keeping the commits there: " + switchBranch,
}

const (
	rebuild      = "\nto rebuild the state from the copies of the sessions: agentform state rebuild"
	freeBranch   = "switch that checkout to another branch (or git worktree remove), or declare another branch"
	moveCopy     = "move the copy away: mv {path} {path}.copy"
	endAgent     = "to stop it: {END}"
	endHolder    = "else stop it, and free the branch: agentform destroy --target {holder} && git -C {repo} worktree remove {holderPath}"
	removed      = "it is the workspace of {HOLDER}, which is no longer in the manifest, and is not changed"
	switchBranch = "{freed}{git}switch {branch}"
)

// facts returns what replaces the braces.
func facts(r session.Remedy) *strings.Replacer {
	word, address := plaintext.ShellWord, string(r.Address)
	git, freed := "git -C "+word(r.Path)+" ", ""
	switch {
	case r.InContainer:
		git = "agentform exec " + word(r.Address.Short()) + " -- git "
	case r.HolderPath != "":
		freed = fmt.Sprintf("%q is checked out by %s; switch that checkout to another branch first, then ", r.Branch, r.HolderPath)
	}
	return strings.NewReplacer(
		"{address}", word(address), "{ADDRESS}", address,
		"{name}", word(r.Address.Short()), "{BLOCK}", r.Address.Block(),
		"{holder}", word(string(r.Holder)), "{HOLDER}", string(r.Holder),
		"{id}", word(r.ID), "{ID}", r.ID, "{HOST}", r.Host, "{END}", r.End, "{git}", git, "{freed}", freed,
		"{repo}", word(r.Repo), "{path}", word(r.Path), "{PATH}", r.Path,
		"{branch}", word(r.Branch), "{commit}", cmp.Or(r.Commit, "COMMIT"),
		"{holderPath}", word(r.HolderPath), "{HOLDERPATH}", r.HolderPath,
		"{holderBranch}", word(r.HolderBranch), "{renamed}", ifRenamed(r.Holder, r.Address),
	)
}

func ifRenamed(from, to session.Address) string {
	return strings.ReplaceAll(removed, "{HOLDER}", string(from)) + fmt.Sprintf(
		"\nif it was renamed, write in the manifest:\nmoved {\n  from = %s\n  to   = %s\n}", from, to)
}
