// Package state keeps the state file: what agentform has on record about every
// session of a project.
//
// Anyone may Read it at any time. Whoever changes it must Open it, which takes
// a lock that the operating system gives up when its holder dies. A change is
// durable when Put or Delete returns; changes that happen at the same time
// share one write. The file is replaced whole and never truncated, so that a
// kill at any moment leaves the old or the new one. What agentform cannot read
// it does not overwrite.
//
// Beside the state file lie its lock (.lock, never deleted), the state as it
// was before its last writer's first change (.backup), a folder for each
// session (Folder), and the prompts (Blobs).
package state
