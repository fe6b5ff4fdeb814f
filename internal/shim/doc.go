// Package shim is the parent process of every agent: a thin program that
// starts one agent in a terminal, once, and writes down how it ended.
//
// It makes one truth out of two places. On the host it is the command of a tmux
// pane and leaves with its agent, so that tmux shows the same exit; what it
// knows lies in the run's folder, so the exit is known even when tmux died.
//
// A run's folder holds launch.json (what to start, written by Prepare), claim
// (made with O_EXCL: a run starts at most once), run (who runs) and exit (how it
// ended). All but launch.json are fsynced. signals.jsonl, beside them, is what the
// agent's hooks told, which call this program in its mode notify. A small protocol over a unix socket,
// one JSON line each way, asks the guest for the status and tells it to pause,
// to resume, to stop, and to run a probe beside the agent; see Client.
//
// Signals. The guest survives what an agent may send to its own process group:
// only SIGHUP, the end of the terminal, means something to it, and ends the
// agent. SIGTERM too is the agent's alone; to end an agent, ask over the socket.
// When the guest itself is killed, the kernel kills the agent with it, and Sweep
// finds whatever that agent has left behind.
//
// On Linux the guest is a subreaper: a process that the agent detached, even
// with a double fork and a session of its own, becomes the guest's child, and
// "nothing is left" means that the kernel says the guest has no child any more.
// macOS has neither subreapers nor a signal at the parent's death. There only
// descendants that still hang together are found, the rest by Sweep, and an
// agent outlives a guest that was killed with SIGKILL.
//
// What stands in a run's folder and what answers on its socket was written by
// something with the agent's rights: it is a claim and not a proof. It is read
// with size limits, never through a link, and never makes the reader signal a
// process whose start time does not match.
//
// It uses the standard library only, so that it stays small: there is one guest
// for each live agent. Measured on Linux amd64, two cores, ext4, the static
// program, 20 guests at once: 1.1 MB each (PSS; 4.3 MB RSS, nearly all of it
// shared program text), 0.9 ms more than /bin/true to start, and 5.6 ms more for
// a whole run of it, most of which is fsync.
package shim
