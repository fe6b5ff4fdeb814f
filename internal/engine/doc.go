// Package engine is the one path on which sessions change: observe what is live,
// compute the plan, carry it out under the lock of the state.
//
// Observer takes one snapshot of everything live: the sessions in their runtimes, the
// workspaces on disk, the repositories' worktrees, and the folders of runs. It is
// read-only and never fails: what could not be reached is part of the snapshot.
package engine
