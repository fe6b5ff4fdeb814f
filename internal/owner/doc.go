// Package owner tells whose the sessions of a state are: of which host, user,
// project and data directory. It only reads.
package owner
