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
// A control-mode client that is kept open is no faster: 100 new sessions with a mark took
// 143 to 184 ms by one, 149 to 157 ms in one batch, and 178 to 223 ms in batches of ten.
// And tmux 3.3a can crash, with all its sessions, when such a client is killed: it did in
// 10 of 40 cases.
//
// A session that somebody else started, on any server, can be adopted: a link
// tmux-x-<8 hex> in the socket directory leads to that server's socket, and sessions there
// with the project's mark are the project's. Nothing else on such a server is listed or
// changed. A server that cannot be asked makes all of the project's sessions unknown, like
// one of the project's own. With Config.Server all sessions run on a server of the user's
// own, which has to run and keeps its options.
//
// tmux reports what became of the pane, the shim's files what became of the agent. Where
// one of them could be wrong, two must agree; see judge.
package tmux
