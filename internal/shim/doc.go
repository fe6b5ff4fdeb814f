// Package shim is the client and the server of the protocol of shims and container inits.
//
// A shim is the parent process of one agent: it starts the agent in a terminal, once, and records
// the exit. On the host the shim is the command of a tmux pane and exits with its agent's status,
// which tmux then shows. A container init is the first process of a container. Both serve JSON
// lines on a unix socket with Server; Client and Init send requests. The program itself is in
// package program, PID 1 in package initd, and the directory of a run in package rundir.
//
// A server runs with the agent's rights, so its answers are claims, bounded in size and time.
package shim
