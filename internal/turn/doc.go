// Package turn decides from several looks at an agent when its turn has ended.
//
// A turn is what an agent does with what it was last given: its prompt, or a text
// that was sent. One look cannot tell its end. An agent that rests may not have
// begun yet, and a screen that is caught between two states shows neither. So rest
// counts when it has lasted, and from when the agent was last given something.
// What hooks or a session file say of a turn's end counts at once.
//
// The package is pure and has no clock.
package turn
