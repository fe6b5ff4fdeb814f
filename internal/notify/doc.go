// Package notify tells people, by a command or a webhook, what the hub thinks they
// should hear of.
//
// Telling blocks nobody: each target has a queue and a goroutine of its own, every
// attempt has a time limit, and a target that takes nothing loses what does not fit
// into its queue, which is logged. The same thing about the same session is told
// once within a while.
package notify
