// Package program is agentform-shim, the parent process of every agent.
//
// Signals. The shim survives the signals that an agent may send to its own process group. It acts
// only on the hangup of the terminal, which ends the agent. SIGTERM too is left to the agent; a
// stop is requested over the socket. If the shim itself is killed, the kernel kills the agent with
// it, and proc.Sweep finds the agent's remaining processes.
//
// On Linux the shim is a subreaper: a process that the agent detached, even with a double fork and
// its own session, becomes the shim's child, and the tree is gone when the kernel reports that the
// shim has no children. macOS has neither subreapers nor a parent-death signal. There the shim
// finds only connected descendants, proc.Sweep finds the rest, and an agent outlives a shim killed
// with SIGKILL.
//
// It uses the standard library only, to stay small: each running agent has a shim.
package program
