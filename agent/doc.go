// Package agent describes the coding agents: how each is started, when it accepts a prompt, and
// what its terminal shows of its activity.
//
// The package is pure: it computes command lines and interprets evidence, without side effects.
// Each agent has its own files, by name, with every fact about it: its start, its screen, its
// hooks, its session file, its login and the variables that it reads. They were measured with
// Claude Code 2.1.197, codex-cli 0.169.0 and Gemini CLI 0.61.0, and `make check-agents` verifies
// them. The other files apply to every agent, with phrases that any of them may print. A
// session.AgentSpec has what a manifest changes.
//
// A screen is evidence and never a proof, since an agent may print anything. So the agent's own
// marks (a title, a dialog) count before phrases, and phrases only near the end of the screen.
//
// A setting that neither a flag nor the environment can pass to an agent is a DotfileFix, applied
// only on the user's request. What an agent refuses to do is a Refusal. Neither Claude Code nor
// Gemini CLI has profiles: a session's profile affects only Codex, as --profile. For the others,
// settings go into the agent's command or the session's args.
package agent
