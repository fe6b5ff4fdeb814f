// Package view writes what people and machines read: plans, progress, status,
// problems. It is the only place that formats.
//
// Every function takes plain values and an io.Writer, writes once, and returns
// the writer's error. Text that people read goes by a Style; JSON documents are
// described in docs/json.md. What comes from an agent, a file or an outside
// program goes through Safe before it reaches a terminal.
package view
