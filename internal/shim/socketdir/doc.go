// Package socketdir decides where the unix sockets of a data folder are.
package socketdir
