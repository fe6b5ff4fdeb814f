// Package filecopy keeps copies of agents' session files that this machine does not see: those
// in containers and pods with a home of their own.
//
// The init of a container reads what was added to the files since the last copy (Read), and
// the machine that asked writes it (Pull). What comes from a container is a claim: no name
// leads out of the copy, and only regular files are made.
package filecopy
