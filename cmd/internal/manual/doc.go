// Manual writes what the commands say of themselves: the man pages, and the
// reference in docs/commands.md.
//
//	go run ./cmd/internal/manual man FOLDER
//	go run ./cmd/internal/manual reference docs/commands.md
//
// It is a program of its own so that agentform does not carry, and load at each
// start, what makes pages.
package main
