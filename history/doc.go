// Package history keeps what happened to each session: append-only events, one
// JSON line each, in the session's own folder. The log keeps an event, the view
// prints it as progress, and programs read it; restart counts are a fold over
// it.
package history
