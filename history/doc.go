// Package history records what happens to each session: append-only events, one JSON line
// each, in the session's directory. Restart counts are computed from it.
//
// Callers decide when events are too old and call Trim.
package history
