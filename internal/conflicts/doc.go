// Package conflicts finds work of sessions that git cannot merge with other sessions' work or
// with its base. It merges without a checkout, and writes nothing to the repository.
package conflicts
