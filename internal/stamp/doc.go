// Package stamp detects whether a file or directory has changed since it was read.
//
// The kernel sets the time of an inode's last change, and nobody can set it back. But a write
// within the same tick as the read, or on some file systems the same two seconds, keeps the time.
// So a stamp is trusted only if it was Settled when the reading began.
package stamp
