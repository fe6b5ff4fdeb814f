// Package follow says what becomes of sessions over several looks: when a turn
// has ended, what is over, and which session needs somebody next.
//
// One look tells what an agent does now. That it rests does not tell whether it
// has done what it was given or not yet begun with it, and a screen caught
// between two states tells nothing; so a reading counts when it has held, and
// rest counts from when the agent was last given something. What an agent's hooks
// or its own session file say of a turn's end counts at once. All else follows from
// what can be seen from outside, the terminal's title and screen and the shim's
// word on how a run ended, so it holds for agents that keep no file, or not yet.
//
// It is pure but for Looks, which has a clock.
package follow
