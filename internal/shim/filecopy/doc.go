// Package filecopy copies agents' session files from containers and pods that have a home of their
// own.
//
// The init of a container reads what was added to the files since the last copy (Read), and the
// requesting machine writes it (Pull). The container's data is untrusted: no name leads out of the
// copy, and only regular files are created.
package filecopy
