// Package socketdir decides where the unix sockets of a data directory are.
package socketdir
