// Package hub observes the sessions of a project in a loop, and repairs what a person
// applied.
//
// It is not a second engine. Each round observes, plans with what is recorded as what is
// wanted, and calls engine.Repair under the state's lock. The hub restarts agents that
// have died, and never creates, changes or destroys what a person wanted, except for
// starts that were approved and had to wait. Sessions live in tmux and in containers, and
// restarts are counted from their histories, so a hub may die at any time and loses
// nothing.
//
// The hub only decides when to look again: when a process has ended, a hook has reported
// something, the state was written, a hold is over, or the shortest interval of the
// sessions has passed.
package hub
