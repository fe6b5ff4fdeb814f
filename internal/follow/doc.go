// Package follow decides what a session has reached, whether it is over, and which session needs a
// person next, by what the looks so far show of it.
//
// A screen may be between two states, so a reading counts when it has lasted. Package turn decides
// that from title, screen and exit, so it holds for agents without a session file, too.
//
// It is pure except for Looks, which has a clock.
package follow
