package cli

import "github.com/spf13/cobra"

// lifecycleTopic is a help topic.
func lifecycleTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "lifecycle",
		Short: "How a session lives",
		Long: `A session is declared in a manifest, created by apply, and lives in tmux, here
or in a container, until its agent ends, it is stopped, or it is destroyed. agentform need
not run meanwhile.

What agentform knows of a session is its state:

  pending    wanted, and not begun, or waiting for a place (max_running)
  starting   being started
  running    its agent lives
  paused     its clients are off and input is refused, or its agent stands still
             (also if its process was stopped by a signal)
  stale      its place (tmux session or container) stands, its agent is dead
  error      its place is gone, or the last action failed
  stopped    ended on request, or finished
  unknown    tmux or the engine could not be asked: nothing is done on a guess

What the agent does is its activity: booting, working, idle, blocked (it waits for
you), blocked_api (a limit), done, failed, exited, unobserved, unknown. It is known by the
agent's own session file, its hooks, its terminal's title and its screen; two that
contradict each other for long make it unknown, and nothing is ended for that.

An agent's session file that is not there says nothing about its life: Claude Code and
Codex make theirs with the first prompt, Codex before 0.169 after the first turn, Gemini
CLI at start. Until then a session is unobserved: listed, neither idle nor dead, and never
cleaned up. Follow it with wait, not by looking for its file.

To end an agent safely: see which it is (status), let its turn end (stop --after-turn),
stop it, and see that it is gone, which stop does before it returns.

A restart goes on with the conversation and does not give the prompt again; if the
conversation is gone, that is an error, and restart --fresh begins a new one.

plan compares manifest, record and world, and says for each session what to do:

  +  create     ~  update in place     ↻  restart      ±  replace     -  destroy
  >  adopt      .  forget              ‖  pause/stop   …  held        !  error

A session that is stale or gone is restarted by apply. One that finished (a one-shot
command that left with 0) is done and never runs again unasked. A workspace on another
branch than declared is an error: agentform never switches branches by itself, and
never removes work that would be lost.

start, stop, pause and resume are a person's hand: the next apply lifts what they did
and names who did it.`,
	}
}
