// Package tmux is the runtime that holds sessions in tmux servers of the
// project's own.
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
//     screens are wanted, one source-file with all captures in it.
//   - Everything else goes through one control-mode client a server, opened when
//     first needed and closed by Close. Commands of many goroutines are written
//     one behind the other, and replies are matched as they come. Measured, 100
//     new-session with a mark: control mode 143 to 184 ms; source-file in one
//     batch 149 to 157 ms, in batches of ten 178 to 223 ms. As fast, and control
//     mode says which command an error belongs to, which source-file does not.
//
// The control client attaches to a keeper session of its own,
// _agentform-<pid>-<random>, with destroy-unattached on: it goes when the client
// goes, and the client goes when its standard input ends, even by kill -9 of
// agentform. Keepers are never listed.
//
// tmux says what became of the pane, the guest's facts say what became of the
// agent. Where one of them could lie, two must agree; see judge.
package tmux
