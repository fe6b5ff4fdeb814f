// Package hub is the hub: it looks at a project's sessions again and again,
// and repairs what a person applied.
//
// It is no second engine. Each round is one look, plan.Compute with what is on
// record as what is wanted, and reconcile.Repair under the state's lock: the hub
// can start again what died, and never makes, changes or takes away what a person
// wanted. Sessions live in tmux and in containers, and restarts are counted from
// their histories, so a hub may die at any time and loses nothing.
//
// When to look again is all that it decides by itself: a process ended, a hook
// told something, the state was written, a hold is over, or, as the backstop, the
// shortest interval of its sessions has passed.
package hub
