// Package activity detects what agents do, and records each change once.
//
// A Reader joins what a runtime shows of a session (title, screen, exit) with the agent's session
// files and hooks, detects the activity with the adapter, and caches what it has read. Changes
// returns the events that the session's history lacks: another status, the end of the first turn, a
// pull request. Commands and the hub share it, so each change is recorded once, by the first
// observer.
//
// A missing session file is no evidence about an agent. Until it may exist, a session is
// unobserved: neither idle nor dead.
package activity
