// Package turn decides from several looks at an agent when its turn has ended.
//
// A turn is an agent's work on its last input: its prompt, or a text that was sent. One look cannot
// show its end. An agent that rests may not have started yet, and a screen between two states shows
// neither. So rest counts once it has lasted, from the last input on. The end of a turn in hooks or
// a session file counts at once.
//
// The package is pure and has no clock.
package turn
