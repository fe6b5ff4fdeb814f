// Package state keeps the state file: what agentform has on record about every
// session of a project.
//
// Anyone may Read it at any time. Whoever changes it must Open it, which takes
// a lock that the operating system gives up when its holder dies. A change is
// durable when Put or Delete returns; changes that happen at the same time
// share one write. A write is a line of the journal beside the state file, or the
// whole file, which is replaced and never truncated: a kill at any moment leaves
// the state of before or after it. What agentform cannot read it does not
// overwrite.
//
// Beside the state file lie its lock (.lock, never deleted), what has changed since
// it was written (.journal), the file as it was before (.backup), a folder for
// each session (Folder), and the prompts (Blobs).
package state
