// Package view writes the output for users: plans, progress, status, problems; and the documents of
// commands with --json.
//
// Every function takes plain values and an io.Writer, writes once, and returns the writer's error.
// A Style formats text; docs/json.md describes the documents. Text from an agent, a file or another
// program passes through plaintext.Safe before it reaches a terminal.
package view
