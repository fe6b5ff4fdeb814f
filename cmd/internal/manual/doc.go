// Manual writes the man pages and the reference in docs/commands.md from the commands.
//
//	go run ./cmd/internal/manual man DIR
//	go run ./cmd/internal/manual reference docs/commands.md
//
// It is a program of its own because agentform would have to load its libraries at every
// start.
package main
