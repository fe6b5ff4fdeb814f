// Package engine is the one path on which sessions change: observe what is live,
// compute the plan, apply it under the lock of the state.
//
// An Observer takes one snapshot of everything live: the sessions in their runtimes,
// the workspaces on disk, the worktrees of repositories, and the directories of runs. It is
// read-only and never fails: what could not be reached is part of the snapshot.
//
// An Engine plans from that snapshot and applies plans: for a person (Plan, Apply,
// Override) and for the hub (Observe, Repair), which may only repair what is on record.
package engine
