// Package view writes what people read: plans, progress, status, problems; and the
// documents of commands with --json.
//
// Every function takes plain values and an io.Writer, writes once, and returns the
// writer's error. A Style formats text for people; docs/json.md describes the documents.
// What comes from an agent, a file or another program goes through plaintext.Safe
// before it reaches a terminal.
package view
