// Package shim speaks to shims and container inits.
//
// A shim is the parent process of one agent: it starts the agent in a terminal, once, and
// writes down how it ended. On the host it is the command of a tmux pane and exits with
// its agent, so that tmux shows the same exit. A container init is the first process of a
// container. Both serve JSON lines on a unix socket: Client and Init ask, and Server
// answers. The program itself is in package program, PID 1 in package initd, and the
// directory of a run in package rundir.
//
// What answers on a socket has the agent's rights: an answer is a claim, bounded in size
// and time.
package shim
