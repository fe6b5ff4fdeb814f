// Package stamp tells whether a file or folder has changed since somebody read it, so
// that who looks again and again reads only what is new.
//
// The time of the last change of an inode is set by the kernel, and not even its owner
// can set it back. But it is a rough one: what is written within the same tick, or on
// some file systems the same second or two, in which it was read keeps the time that it
// had. So a stamp is trusted only if it was Settled when the reading began.
package stamp
