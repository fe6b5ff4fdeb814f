// Package program is agentform-shim, the parent process of every agent.
//
// Signals. The shim survives what an agent may send to its own process group: only the
// end of the terminal means something to it, and ends the agent. SIGTERM too is the
// agent's alone; to end an agent, ask over the socket. When the shim itself is
// killed, the kernel kills the agent with it, and proc.Sweep finds whatever that agent has
// left behind.
//
// On Linux the shim is a subreaper: a process that the agent detached, even with a double
// fork and a session of its own, becomes the shim's child, and "nothing is left" means
// that the kernel says the shim has no child any more. macOS has neither subreapers nor a
// signal at the parent's death. There only descendants that still hang together are found,
// the rest by proc.Sweep, and an agent outlives a shim that was killed with SIGKILL.
//
// It uses the standard library only, so that it stays small: there is one shim for each
// live agent.
package program
