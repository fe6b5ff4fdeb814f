package session

// A Remedy is what would fix a problem, as facts. The zero Remedy is none.
type Remedy struct {
	Code    RemedyCode
	Address Address // of the session with the problem
	Holder  Address // of the session in the way
	Renamed Address // a removed session that may be this one under its old name
	ID      string  // of a live session
	Host    string

	Repo, Path, Branch       string // of the session with the problem
	HolderPath, HolderBranch string // of the session in the way
	Commit                   string
	InContainer              bool   // git has to run in the session's container
	End                      string // the command line that ends what is in the way
}

// RemedyCode is a kind of remedy.
type RemedyCode string

// The remedies.
const (
	RemedyAdopt             RemedyCode = "adopt"              // the managed session ID is not recorded
	RemedyAdoptForeign      RemedyCode = "adopt_foreign"      // the foreign session ID has the name
	RemedyApplyManifest     RemedyCode = "apply_manifest"     // the session is not recorded
	RemedyDeleteCopy        RemedyCode = "delete_copy"        // the state is a copy
	RemedyFreshConversation RemedyCode = "fresh_conversation" // the conversation is gone
	RemedyMovedOrCopied     RemedyCode = "moved_or_copied"    // the state was moved, or its original was
	RemedyRebuildAgain      RemedyCode = "rebuild_again"      // the state changed during a rebuild
	RemedyRebuildBackup     RemedyCode = "rebuild_backup"     // the state is corrupt; HolderPath is its backup
	RemedyRebuildCorrupt    RemedyCode = "rebuild_corrupt"    // the state is corrupt
	RemedyRebuildJournal    RemedyCode = "rebuild_journal"    // the journal is corrupt
	RemedyRebuildLineage    RemedyCode = "rebuild_lineage"    // the lineage file is corrupt
	RemedyReplaceStuck      RemedyCode = "replace_stuck"      // the container can never start
	RemedyReplaceShimless   RemedyCode = "replace_shimless"   // the container has no shim
	RemedyAnswer            RemedyCode = "answer"             // the agent asks a question
	RemedyAttach            RemedyCode = "attach"             // the agent asks, and how it is answered is not known
	RemedyContinue          RemedyCode = "continue"           // the agent is sent nothing more by itself
	RemedyRestartSession    RemedyCode = "restart_session"    // the agent has ended
	RemedyApply             RemedyCode = "apply"              // an interrupted removal continues with it
	RemedyDestroyHolder     RemedyCode = "destroy_holder"     // Holder has the path
	RemedyDoctor            RemedyCode = "doctor"             // the agent runs out of reach
	RemedyEndAgent          RemedyCode = "end_agent"          // an agent that is not in the state is in the way
	RemedyStopOther         RemedyCode = "stop_other"         // Holder of the project in HolderPath is in the way
	RemedyFetchWork         RemedyCode = "fetch_work"         // the workspace is lost when the place ends
	RemedyFreeBranch        RemedyCode = "free_branch"        // another worktree has the branch
	RemedyForgetRecord      RemedyCode = "forget_record"      // two records have the address
	RemedyHolderMoves       RemedyCode = "holder_moves"       // Holder is to leave the branch
	RemedyHolderStays       RemedyCode = "holder_stays"       // Holder is to keep the branch
	RemedyHolderRemoved     RemedyCode = "holder_removed"     // Holder is no longer wanted
	RemedyIgnoreBudget      RemedyCode = "ignore_budget"      // a budget is used up
	RemedyMoveHolder        RemedyCode = "move_holder"        // the same, and the session has a workspace
	RemedyMoveProject       RemedyCode = "move_project"       // the data directory was moved
	RemedyMovePath          RemedyCode = "move_path"          // the path is occupied
	RemedyNewVolume         RemedyCode = "new_volume"         // its volume cannot become what is declared
	RemedyOtherHost         RemedyCode = "other_host"         // Host has the session
	RemedyOtherMachine      RemedyCode = "other_machine"      // another machine or checkout has the session
	RemedyOtherNamespace    RemedyCode = "other_namespace"    // another container has the session
	RemedyOtherUser         RemedyCode = "other_user"         // another user has the session
	RemedyPruneWorktree     RemedyCode = "prune_worktree"     // the worktree with the branch is gone
	RemedyRebuildOrEnd      RemedyCode = "rebuild_or_end"     // the same, and the state is lost
	RemedyRebuildState      RemedyCode = "rebuild_state"      // the state is lost
	RemedyReplaceContainer  RemedyCode = "replace_container"  // nothing can be started in it
	RemedyMoveWorktree      RemedyCode = "move_worktree"      // the workspace is gone, and git has its worktree elsewhere
	RemedyReplaceSession    RemedyCode = "replace_session"    // the workspace is gone
	RemedyRestart           RemedyCode = "restart"            // the timeout has passed
	RemedyRestoreBranch     RemedyCode = "restore_branch"     // the branch is gone
	RemedyRestoreCheckout   RemedyCode = "restore_checkout"   // the workspace is not a checkout
	RemedyResume            RemedyCode = "resume"             // the process is suspended
	RemedySearchFile        RemedyCode = "search_file"        // the session file is missing
	RemedyShareAgain        RemedyCode = "share_again"        // the state has sessions of other checkouts
	RemedyTakeOver          RemedyCode = "take_over"          // the data directory was replaced
	RemedySwapBranches      RemedyCode = "swap_branches"      // two sessions have each other's branch
	RemedySwitch            RemedyCode = "switch"             // the workspace is on another branch
	RemedySwitchDeclared    RemedyCode = "switch_declared"    // the same, since the manifest changed
	RemedySwitchDetached    RemedyCode = "switch_detached"    // the workspace is on no branch
)
