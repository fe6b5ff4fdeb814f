// Package tmux is the runtime that runs sessions in tmux servers of the project's own.
//
// Programs use it through package agentform; New is for programs that manage runs, shims and
// sockets themselves. Server has tmux's plain operations, for panes without agents.
//
// A server is a socket in the project's socket directory: tmux-0, tmux-1, …, each with at most 128
// sessions. A session has one pane, whose process is the shim of one run, and three user options:
// its mark, the id of that pane, and the mode of a pause (see package tmuxwire).
//
// tmux is single-threaded, and every client that connects costs it time for each session. So no
// operation takes a process or a round trip for each session:
//
//   - Observe sends each server one list-panes for all panes and, for screens, one source-file for
//     all of them.
//   - Everything else is written as lines for source-file. Requests that arrive while a batch runs
//     share the next process.
//
// A session on any server that agentform did not start can be adopted: a link tmux-x-<8 hex> in the
// socket directory leads to that server's socket. On such a server, and on one named by
// Config.Server, only the project's sessions are listed or changed. A server that does not answer
// makes all of the project's sessions unknown.
//
// tmux reports the state of the pane, the shim's files that of the agent. Where one of them could
// be wrong, two must agree; see judge.
package tmux
