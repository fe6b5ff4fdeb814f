// Package history keeps what happened to each session: append-only events, one
// JSON line each, in the session's own folder. The log keeps an event, the view
// prints it as progress, and programs read it; restart counts are a fold over
// it.
//
// The log knows no retention: whoever calls it decides what is old and may cut
// the file; Read and Follow bear that.
package history
