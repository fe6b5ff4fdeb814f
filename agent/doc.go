// Package agent knows the coding agents: how each is started, when it can take a
// prompt, and what its terminal says it is doing.
//
// It is pure: it computes command lines and reads evidence, and touches nothing.
// Each agent has files of its own, by its name, with every fact about it: how it is
// started, what its screen shows, its hooks, its session file, its login and the
// variables that it reads; measured with Claude Code 2.1.197, codex-cli 0.169.0 and
// Gemini CLI 0.61.0, and proved against them by `make check-agents`. The other
// files have what counts for every agent, with phrases that any of them may print.
// What a manifest has a program do differently comes in as a session.AgentSpec.
//
// What is on a screen is a report and never a proof: an agent prints what it
// likes. So the agent's own marks (a title, a dialog) count before phrases, and
// phrases only near the end of the screen.
//
// What neither a flag nor the environment tells an agent is a DotfileFix, which is
// carried out only when a person says so; what it will not do at all is a Refusal.
// Neither Claude Code nor Gemini CLI has profiles: a session's profile reaches
// Codex alone, as --profile. For the others it has no effect, and settings of
// their own go into the agent's command or the session's args.
package agent
