// Package follow decides from several looks at sessions when a turn has ended, what is
// over, and which session needs a person next.
//
// One look tells what an agent does now. An idle agent may not have begun yet, and a
// screen may be between two states, so a reading counts when it has lasted, and idleness
// from when the agent was last given something. What an agent's hooks or session file
// say of a turn's end counts at once. All else follows from title, screen and exit, so
// it holds for agents without a session file, too.
//
// It is pure except for Looks, which has a clock.
package follow
