// Package tmux is the runtime that holds sessions in tmux servers of the
// project's own.
//
// Programs open it by package local, with all that it needs (New is for those that
// keep runs, guests and sockets themselves). Server has tmux's plain operations, for
// panes that are no agents.
//
// A server is a socket in the project's socket folder: tmux-0, tmux-1, …, each
// with at most 128 sessions. Each session has one pane with the guest of one
// run in it, and three user options: @agentform is the mark (JSON of
// session.Mark), @agentform_pane the pane that is ours, should a person split
// the window, and @agentform_pause the mode in which the session is paused.
//
// tmux does everything in one thread, and every client that connects costs it
// time for each session it holds. So nothing here takes a process or a round
// trip a session:
//
//   - Observe asks each server with one list-panes for all panes, and, when
//     screens are wanted, with one source-file that has all the captures in it.
//   - Everything else is written as lines for source-file, one line a request,
//     and the requests that come while a batch is under way go together in the
//     next. Alone a request takes one short process; the more there are, the less
//     each costs.
//
// The other way is a control-mode client, kept open. Measured, 100 new-session
// with a mark: control mode 143 to 184 ms; source-file in one batch 149 to 157
// ms, in batches of ten 178 to 223 ms. It is no faster, it has to be attached to
// a session, and tmux 3.3a falls (a segmentation fault, and all sessions with it)
// when that session goes by destroy-unattached while its client is leaving and
// another one leaves too: 10 of 40 times when agentform was killed at work.
//
// A session that somebody else started, on whatever server, can be adopted: a
// link tmux-x-<8 hex> in the socket folder leads to that server's socket, and
// what bears our mark there is ours. Nothing else on such a server is listed or
// touched, and no option of it is set but on the adopted pane and session. A
// server that cannot be asked makes all of the project's sessions unknown, like
// one of its own.
//
// Sessions can also live on a tmux server of a person's own (Config.Server), beside
// what runs there. It has to run already, and keeps its settings.
//
// tmux says what became of the pane, the guest's facts say what became of the
// agent. Where one of them could lie, two must agree; see judge.
package tmux
