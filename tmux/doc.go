// Package tmux is the runtime that runs sessions in tmux servers of the project's own.
//
// Programs use it through package agentform; New is for those that keep runs, shims and
// sockets themselves. Server has tmux's plain operations, for panes that are no agents.
//
// A server is a socket in the project's socket directory: tmux-0, tmux-1, …, each with at
// most 128 sessions. A session has one pane, in which the shim of one run is the process,
// and three user options: its mark, the id of that pane, and the mode of a pause (see
// package tmuxwire).
//
// tmux is single-threaded, and every client that connects costs it time for each session.
// So no operation takes a process or a round trip for each session:
//
//   - Observe asks each server with one list-panes for all panes and, for screens, with one
//     source-file for all of them.
//   - Everything else is written as lines for source-file. Requests that arrive while a
//     batch runs share the next process.
//
// A session that somebody else started, on any server, can be adopted: a link
// tmux-x-<8 hex> in the socket directory leads to that server's socket. Of such a server,
// and of one named by Config.Server, only the project's sessions are listed or changed. A
// server that cannot be asked makes all of the project's sessions unknown.
//
// tmux reports what became of the pane, the shim's files what became of the agent. Where
// one of them could be wrong, two must agree; see judge.
package tmux
