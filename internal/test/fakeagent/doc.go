// Package fakeagent is a coding agent without a model, for tests: it shows a
// prompt, answers what is typed into it, and misbehaves on request in every way
// that an agent can (it ignores SIGTERM, leaves a daemon behind, kills the tmux
// server it finds, dies at once). With -as-claude it is a program with a composer,
// dialogs, a transcript, a state file and hooks, as Claude Code has them.
package fakeagent
