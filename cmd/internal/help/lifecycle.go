package help

import "github.com/spf13/cobra"

// Lifecycle returns the topic about what sessions are and become.
func Lifecycle() *cobra.Command {
	return &cobra.Command{
		Use:   "lifecycle",
		Short: "The session lifecycle",
		Long: `A session is declared in a manifest, created by apply, and runs in tmux, here or in a
container, until its agent exits, it is stopped, or it is destroyed. agentform need not run
meanwhile.

Session states:

  pending    not started yet, or queued (max_running)
  starting   being started
  running    the agent runs
  paused     clients are off and input is blocked, or the agent is suspended (also by a
             signal)
  stale      the tmux session or container exists but the agent has exited
  error      the tmux session or container is gone, or the last operation failed
  stopped    stopped on request, or finished
  unknown    tmux or the container engine cannot be reached: no action is taken

The activity is what the agent does: booting, working, idle, blocked (it waits for you),
blocked_api (a limit), done, failed, exited, unobserved, unknown. It is detected from the
agent's own session file, its hooks, its terminal's title and its screen; two that
contradict each other for long make it unknown, and nothing is ended for that.

A missing session file says nothing about its agent: Claude Code and Codex create theirs with
the first prompt, Codex before 0.169 after the first turn, Gemini CLI at start. Until then
a session is unobserved: listed, neither idle nor dead, and never cleaned up. Follow it
with wait, not by looking for its file.

To end an agent safely: check which it is (status), let its turn end (stop --after-turn),
and stop it. stop verifies that it is gone before it returns.

A restart resumes the conversation and does not send the prompt again; if the conversation
is gone, that is an error, and restart --fresh starts a new one.

plan compares the manifest, the state and the running sessions, and decides for each session:

  +  create
  ~  update in place
  ↻  restart
  ±  replace
  -  destroy
  >  adopt
  .  forget
  ‖  pause, resume or stop
  …  held
  !  error

apply restarts a session that is stale or gone. One that finished (a one-shot command that
exited with 0) is done and never runs again unasked. A workspace on another branch than
declared is an error: agentform never switches branches by itself, and never removes work
that would be lost.

start, stop, pause and resume are manual overrides: the next apply removes them and names
who made them.`,
	}
}
