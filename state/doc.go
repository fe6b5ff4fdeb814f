// Package state stores the state file: the records of a project's sessions.
//
// Anyone can Read it at any time. To change it, Open it, which takes a lock that the operating
// system releases when its holder dies. A change is durable when Put or Delete returns.
// Changes at the same time share one write: a line of the journal beside the state file, or
// the whole file, which is replaced and never truncated. A kill at any moment leaves the state
// from before or after a write. A file that cannot be read is never overwritten.
package state
