package language

import (
	"math"
	"sync"

	"github.com/agentform/agentform/session"
)

// SessionBlock returns the session block.
var SessionBlock = sync.OnceValue(func() *Block {
	return &Block{
		Type: "session", Labels: []string{"name"}, Repeatable: true,
		Doc: "A session, or one for each element of `for_each`, or `count` of them.",
		Attributes: []Attribute{
			{Name: "for_each", Kind: Anything, Example: `toset(["web", "docs"])`, Doc: "A map or a set of strings: one session for each, with `each.key` and `each.value`. Its address is `session.NAME[\"KEY\"]`."},
			{Name: "count", Kind: Whole, Example: "2", Doc: "How many sessions, with `count.index`. The address is `session.NAME[0]`."},
			{Name: "enabled", Kind: Flag, Default: "true", Doc: "false: as if the block did not exist."},
			{Name: "role", Kind: Text, Forces: InPlace, Default: `"default"`, Apart: true, Field: func(s *session.Spec) any { return &s.Role }, Example: `"builder"`, Doc: "A word for filters, directories and labels."},
			{Name: "priority", Kind: Whole, Forces: InPlace, Default: "0", Least: math.MinInt32, Field: func(s *session.Spec) any { return &s.Priority }, Example: "10", Doc: "The order when `parallelism` or `max_running` is reached: the highest first."},
			{Name: "agent", Kind: Agent, Forces: Restarts, Required: true, Apart: true, Field: func(s *session.Spec) any { return &s.Agent.Name }, Example: `"claude"`, Doc: "The agent."},
			{Name: "profile", Kind: Text, Forces: Restarts, Empty: true, Field: func(s *session.Spec) any { return &s.Profile }, Example: `"review"`, Doc: "The agent's own profile, if it has any."},
			{Name: "branch", Kind: Text, Forces: Replaces, DefaultWords: "required, but in mode `plain`", Apart: true, Field: func(s *session.Spec) any { return &s.Branch }, Example: `"agents/api"`, Doc: "The branch to work on, which no other session of the repository has."},
			{Name: "prompt", Kind: Text, Forces: Restarts, Apart: true, Field: func(s *session.Spec) any { return &s.Prompt }, Example: `"Fix the failing tests."`, Doc: "The first prompt. A change restarts the agent with a new conversation, unless `on_prompt_change` says otherwise."},
			{Name: "on_prompt_change", Kind: Text, Forces: InPlace, Default: `"restart"`, Values: []string{"restart", "send", "keep"}, Meanings: []string{"starts a new conversation", "is typed into the conversation", "is recorded for the next conversation"}, Field: func(s *session.Spec) any { return &s.OnPromptChange }, Doc: "What another prompt does to a running agent."},
			{Name: "args", Kind: Texts, Forces: Restarts, Field: func(s *session.Spec) any { return &s.Args }, Example: `["--verbose"]`, Doc: "Added to the agent's command."},
			{Name: "runtime", Kind: Runtime, Forces: Replaces, Default: `"tmux"`, Parts: []Part{{"kind", func(s *session.Spec) any { return &s.Runtime.Kind }}, {"name", func(s *session.Spec) any { return &s.Runtime.Name }}, {"socket", func(s *session.Spec) any { return &s.Runtime.Socket }}}, Doc: "Where it runs: tmux on this machine, or a [`runtime`](#runtime) block."},
			{Name: "env", Kind: Table, Forces: Restarts, Field: func(s *session.Spec) any { return &s.Env }, Example: `{ LOG = "debug" }`, Doc: "Added to its environment."},
			{Name: "secrets", Kind: Texts, Forces: Restarts, Apart: true, Field: func(s *session.Spec) any { return &s.Secrets }, Example: `["GH_TOKEN"]`, Doc: "Environment variables to pass as secrets, from [`secret`](#secret) blocks or agentform's own environment. They are never stored and never in a command line."},
			{Name: "inherit_env", Kind: TrueOrTexts, Forces: Restarts, DefaultWords: "none", Apart: true, Field: func(s *session.Spec) any { return &s.InheritEnv }, Example: `["SSH_AUTH_SOCK"]`, Doc: "Variables of your environment that it gets in addition to those of the project and its agent: names, with `*` for any characters, or `true`. Not in docker and kubernetes."},
			{Name: "desired", Kind: Text, Forces: InPlace, Default: `"running"`, Values: []string{"running", "paused", "stopped"}, Meanings: []string{"the agent runs", "it is [paused](#pause-stop)", "it does not run, and its workspace stays"}, Field: func(s *session.Spec) any { return (*string)(&s.Desired) }, Doc: "The desired state."},
			{Name: "timeout", Kind: Duration, Forces: InPlace, DefaultWords: "none", Field: func(s *session.Spec) any { return &s.Timeout }, Example: `"2h"`, Doc: "The longest run. Then the session is stopped, reason `timeout`."},
			{Name: "finish", Kind: Text, Forces: InPlace, Default: `"never"`, Values: []string{"never", "turn", "verified", "landed"}, Meanings: []string{"it is only stopped by you", "the turn of its prompt, or of what it was last sent, has ended without a question, a limit or a failure", "the same, and its work is [verified](#verify)", "`agentform land` or a merged [pull request](#pr) has brought its work to its base"}, Field: func(s *session.Spec) any { return &s.Finish }, Doc: "When the session is [finished](#finish)."},
			{Name: "labels", Kind: Table, Forces: InPlace, Field: func(s *session.Spec) any { return &s.Labels }, Example: `{ team = "shop" }`, Doc: "Labels for filters."},
			{Name: "depends_on", Kind: Addresses, Forces: InPlace, Apart: true, Field: func(s *session.Spec) any { return &s.DependsOn }, Parts: []Part{{"until", func(s *session.Spec) any { return &s.Until }}}, Example: "[session.db]", Doc: "Sessions to wait for: one that ends must be finished, another one must be ready. `{ session = session.api, until = \"turn\" }` waits for something else; see [order](#order). The session is skipped if one fails."},
		},
		Blocks: []Block{
			{
				Type: "workspace",
				Doc:  "The directory that the session works in.",
				Attributes: []Attribute{
					{Name: "mode", Kind: Text, Forces: Replaces, DefaultWords: "`\"worktree\"`, in docker and kubernetes `\"clone\"`", Values: []string{"worktree", "clone", "in_place", "plain"}, Meanings: []string{"a git worktree", "a clone of its own, with this one branch", "the repository's own checkout", "a directory without git, and so without a branch"}, Field: func(s *session.Spec) any { return &s.Workspace.Mode }, Doc: "What the directory is. In docker `worktree` and `in_place` need `trust_git`; kubernetes has neither."},
					{Name: "repo", Kind: Path, Forces: Replaces, DefaultWords: "the repository that holds the manifest", Apart: true, Field: func(s *session.Spec) any { return &s.Workspace.Repo }, Example: `"."`, Doc: "The git repository. Relative to the directory of the manifests. Where the workspace is on a volume, as in kubernetes, it may also be an `https://` URL: the clone is made there."},
					{Name: "repo_secret", Kind: Text, Forces: Replaces, Apart: true, Field: func(s *session.Spec) any { return &s.Workspace.RepoSecret }, Example: `"GIT_TOKEN"`, Doc: "The name of the secret with the password or token for a `repo` that is a URL. The URL has the user, like `https://USER@HOST/…`; without one it is `x-access-token`."},
					{Name: "path", Kind: Path, Forces: Replaces, DefaultWords: "`DATA_DIR/workspaces/NAME/BRANCH`", Apart: true, Field: func(s *session.Spec) any { return &s.Workspace.Path }, Example: `"work/api"`, Doc: "The directory, relative to the project directory. By default a new branch gets a new one, and the old one stays. On a volume, as in kubernetes, it is below `/agentform`, and cannot be set."},
					{Name: "base", Kind: Text, Forces: InPlace, DefaultWords: "`HEAD`", Field: func(s *session.Spec) any { return &s.Workspace.Base }, Example: `"main"`, Doc: "Where a new branch starts."},
					{Name: "setup", Kind: Command, Forces: InPlace, Field: func(s *session.Spec) any { return &s.Workspace.Setup }, Example: `["npm", "ci"]`, Doc: "A command to run once after creation. If it fails, the session is in error, with its output."},
					{Name: "on_destroy", Kind: Text, Forces: InPlace, Default: `"keep"`, Values: []string{"keep", "remove_clean"}, Meanings: []string{"it stays", "it is removed with the session and the ignored files in it, if nothing else would be lost"}, Field: func(s *session.Spec) any { return &s.Workspace.OnDestroy }, Doc: "What happens to the directory."},
					{Name: "trust_git", Kind: Flag, Forces: Replaces, Default: "false", Field: func(s *session.Spec) any { return &s.Workspace.TrustGit }, Doc: "Allows mounting the repository's .git into a container, where an agent can make git run programs on this machine."},
				},
			},
			{
				Type: "conversation", Present: func(s, defaults *session.Spec) { s.Conversation = defaults.Conversation }, Forces: Restarts, Field: func(s *session.Spec) any { return &s.Conversation },
				Doc: "Resumes an earlier conversation. The agent must be a built-in one or have one as its base.",
				Attributes: []Attribute{
					{Name: "resume", Kind: Flag, Default: "true", Field: func(s *session.Spec) any { return &s.Conversation.Resume }, Doc: "Whether to resume."},
					{Name: "id", Kind: Text, Field: func(s *session.Spec) any { return &s.Conversation.ID }, Example: `"8f14e45f-ceea-467f-a0e6-1d2c6a7b9e11"`, Doc: "The agent's own id of the conversation. Default: the latest in the workspace."},
				},
			},
			restart(),
			health(),
			{
				Type: "pause",
				Doc:  "What pausing does.",
				Attributes: []Attribute{
					{Name: "mode", Kind: Text, Forces: InPlace, Default: `"detach"`, Values: []string{"detach", "freeze"}, Meanings: []string{"detaches clients and refuses input, while the agent continues", "suspends its processes"}, Field: func(s *session.Spec) any { return &s.Pause.Mode }, Doc: "How a session is paused."},
				},
			},
			{
				Type: "limits", Present: func(s, defaults *session.Spec) { s.Limits = defaults.Limits },
				Doc: "What happens at a [limit](hub.md#limits) of the model's provider, and when it has ended.",
				Attributes: []Attribute{
					{Name: "on_quota", Kind: Text, Forces: InPlace, Default: `"wait"`, Values: []string{"wait", "fallback"}, Meanings: []string{"the session waits until the quota resets", "the hub ends the agent, and starts the first one of `fallback` whose own login or key is not at a limit"}, Field: func(s *session.Spec) any { return (*string)(&s.Limits.OnQuota) }, Doc: "What happens when a quota is used up that resets in more than ten minutes; see [another agent](hub.md#another-agent)."},
					{Name: "fallback", Kind: Agents, Forces: InPlace, Apart: true, Field: func(s *session.Spec) any { return &s.Limits.Fallback }, Example: "[agent.codex]", Doc: "The agents that may continue the work, the first choice first. The runtime must have their programs."},
					{Name: "resume", Kind: Text, Forces: InPlace, Default: `"never"`, Values: []string{"never", "staggered"}, Meanings: []string{"the agent stays at the limit until you send it something", "the hub sends the agent `continue`, one session of a login or key after the other"}, Field: func(s *session.Spec) any { return (*string)(&s.Limits.Resume) }, Doc: "How its work is resumed when a quota has reset."},
				},
			},
			{
				Type: "refresh", Present: func(s, defaults *session.Spec) { s.Refresh = defaults.Refresh },
				Doc: "How [`agentform refresh`](commands.md#agentform-refresh) brings the base into the branch.",
				Attributes: []Attribute{
					{Name: "method", Kind: Text, Forces: InPlace, Default: `"merge"`, Values: []string{"merge", "rebase"}, Meanings: []string{"the base is merged into the branch", "the commits of the branch are put on top of the base"}, Field: func(s *session.Spec) any { return &s.Refresh.Method }, Doc: "How they come together."},
					{Name: "on_conflict", Kind: Text, Forces: InPlace, Default: `"hold"`, Values: []string{"send", "hold"}, Meanings: []string{"asks the agent to merge the base", "only names the files"}, Field: func(s *session.Spec) any { return (*string)(&s.Refresh.OnConflict) }, Doc: "What files that conflict lead to. The branch is not changed."},
				},
			},
			{
				Type: "verify", Present: func(s, defaults *session.Spec) { s.Verify = defaults.Verify },
				Doc: "The command that has to succeed before its work counts.",
				Attributes: []Attribute{
					{Name: "command", Kind: Command, Forces: InPlace, Required: true, Field: func(s *session.Spec) any { return &s.Verify.Command }, Example: `["make", "test"]`, Doc: "Runs in the workspace with the agent's environment when a turn has ended with commits that the base lacks. It must change no file that git does not ignore."},
					{Name: "timeout", Kind: Duration, Forces: InPlace, Default: `"20m"`, Least: 1, Field: func(s *session.Spec) any { return &s.Verify.Timeout }, Doc: "Ends the command with everything that it started, which counts as a failure. At most `24h`."},
					{Name: "on_failure", Kind: Text, Forces: InPlace, Default: `"send"`, Values: []string{"send", "hold", "ignore"}, Meanings: []string{"sends the agent the end of the output, and verifies its next commit", "needs you at once", "only records it"}, Field: func(s *session.Spec) any { return (*string)(&s.Verify.OnFailure) }, Doc: "What a failure leads to."},
					{Name: "rounds", Kind: Whole, Forces: InPlace, Default: "3", Least: 1, Field: func(s *session.Spec) any { return &s.Verify.Rounds }, Doc: "After this many failures in a row, or a turn that committed nothing, the session needs you and the agent is sent nothing more."},
					{Name: "commit", Kind: Flag, Forces: InPlace, Default: "false", Field: func(s *session.Spec) any { return &s.Verify.Commit }, Doc: "Commits what a turn leaves uncommitted, as the agent would, before its work is verified. Not with `mode = \"in_place\"`."},
					{Name: "clean", Kind: Flag, Forces: InPlace, Default: "false", Field: func(s *session.Spec) any { return &s.Verify.Clean }, Doc: "Runs `setup` of the workspace and the command in a fresh checkout of the commit, below `$TMPDIR`: nothing that git ignores is there. Needs `git` and `sh` where the agent runs. As with `git bisect`, exit status 125 says that the commit cannot be tested."},
					{Name: "protect", Kind: Texts, Forces: InPlace, Field: func(s *session.Spec) any { return &s.Verify.Protect }, Example: `["tests/**", "Makefile"]`, Doc: "Patterns of files, like `tests/**`: work that changes one fails, whatever the command says."},
				},
			},
			{
				Type: "pr", Present: func(s, defaults *session.Spec) { s.PR = defaults.PR },
				Doc: "What the hub does about the pull request of its branch on GitHub, or about its merge request on GitLab.",
				Attributes: []Attribute{
					{Name: "checks", Kind: Text, Forces: InPlace, Default: `"send"`, Values: []string{"send", "ignore"}, Meanings: []string{"sends the agent which checks or jobs of the last commit failed, with the end of their logs", "only counts them"}, Field: func(s *session.Spec) any { return (*string)(&s.PR.Checks) }, Doc: "What failed checks lead to."},
					{Name: "reviews", Kind: Text, Forces: InPlace, Default: `"send"`, Values: []string{"send", "ignore"}, Meanings: []string{"sends the agent comments that are not resolved, and reviews that request changes", "only counts them"}, Field: func(s *session.Spec) any { return (*string)(&s.PR.Reviews) }, Doc: "What reviews lead to."},
					{Name: "rounds", Kind: Whole, Forces: InPlace, Default: "3", Least: 1, Field: func(s *session.Spec) any { return &s.PR.Rounds }, Doc: "After this many texts in a row, or a turn that pushed nothing, the session needs you and the agent is sent nothing more."},
					{Name: "from", Kind: Texts, Forces: InPlace, Default: `["COLLABORATOR", "MEMBER", "OWNER"]`, Values: []string{"OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR", "NONE"}, Meanings: []string{"who owns the repository", "members of the organization that owns it", "who was invited to it", "whose commits are in it", "everyone else"}, Field: func(s *session.Spec) any { return &s.PR.From }, Doc: "Whose reviews the agent is sent, by [association](https://docs.github.com/en/graphql/reference/enums#commentauthorassociation). On GitLab the owners of a project are `OWNER`, its maintainers and developers `MEMBER`, and all others `NONE`."},
				},
			},
			stop(),
			{
				Type: "lifecycle",
				Doc:  "What a plan may do to the session.",
				Attributes: []Attribute{
					{Name: "prevent_destroy", Kind: Flag, Forces: InPlace, Default: "false", Field: func(s *session.Spec) any { return &s.Lifecycle.PreventDestroy }, Doc: "Makes a plan that would destroy or replace it an error."},
					{Name: "ignore_changes", Kind: Paths, Forces: InPlace, Apart: true, Field: func(s *session.Spec) any { return &s.Lifecycle.IgnoreChanges }, Example: "[prompt]", Doc: "Attributes and blocks whose changes are ignored; `all` for every one. In Kubernetes also [fields below `statefulset.spec`](kubernetes.md#changes-by-others)."},
					{Name: "replace_triggered_by", Kind: Anything, Forces: Replaces, Apart: true, Field: func(s *session.Spec) any { return &s.Lifecycle.ReplaceTrigger }, Example: "[var.release]", Doc: "A list of values; a change of one replaces the session."},
				},
			},
			budget("For the session, or for each of its instances by itself. It takes the place of one of its agent with the same name.", "1000000", "5", `"2h"`),
		},
	}
})

// The policies are blocks that a session has, and an agent for its sessions.
func restart() Block {
	return Block{
		Type: "restart",
		Doc:  "What the hub does when an agent exits. An apply starts whatever is not finished.",
		Attributes: []Attribute{
			{Name: "policy", Kind: Text, Forces: InPlace, Default: `"on-failure"`, Values: []string{"never", "on-failure", "always"}, Meanings: []string{"the hub leaves it, however it ended", "the hub restarts it, unless it exited with 0", "the hub restarts it, unless it is a one-shot agent that is done"}, Field: func(s *session.Spec) any { return &s.Restart.Policy }, Doc: "When the agent is restarted."},
			{Name: "attempts", Kind: Whole, Forces: InPlace, Default: "5", Field: func(s *session.Spec) any { return &s.Restart.Attempts }, Doc: "Maximum restarts within the window; then an error, which is escalated."},
			{Name: "window", Kind: Duration, Forces: InPlace, Default: `"15m"`, Least: 1, Field: func(s *session.Spec) any { return &s.Restart.Window }, Doc: "The time in which attempts count."},
			{Name: "escalate_after", Kind: Whole, Forces: InPlace, Default: "3", Field: func(s *session.Spec) any { return &s.Restart.EscalateAfter }, Doc: "Escalates after this many attempts."},
			{Name: "resume", Kind: Flag, Forces: InPlace, Default: "true", Field: func(s *session.Spec) any { return &s.Restart.Resume }, Doc: "Resumes the conversation after a restart, if the agent can. An apply does the same."},
		},
		Blocks: []Block{{
			Type: "backoff", Forces: InPlace, Field: func(s *session.Spec) any { return &s.Restart.Backoff },
			Doc: "The wait between two attempts.",
			Attributes: []Attribute{
				{Name: "initial", Kind: Duration, Default: `"5s"`, Field: func(s *session.Spec) any { return &s.Restart.Backoff.Initial }, Doc: "The first wait."},
				{Name: "factor", Kind: Number, Default: "2", Least: 1, Field: func(s *session.Spec) any { return &s.Restart.Backoff.Factor }, Doc: "Backoff multiplier."},
				{Name: "max", Kind: Duration, Default: `"5m"`, Field: func(s *session.Spec) any { return &s.Restart.Backoff.Max }, Doc: "The maximum wait."},
				{Name: "jitter", Kind: Number, Default: "0.25", Most: 1, Field: func(s *session.Spec) any { return &s.Restart.Backoff.Jitter }, Doc: "Jitter, 0 to 1."},
				{Name: "reset_after", Kind: Duration, Default: `"10m"`, Field: func(s *session.Spec) any { return &s.Restart.Backoff.ResetAfter }, Doc: "Resets the backoff after this long without a failure."},
			},
		}},
	}
}

func health() Block {
	return Block{
		Type: "health",
		Doc:  "How the hub checks a session.",
		Attributes: []Attribute{
			{Name: "interval", Kind: Duration, Forces: InPlace, Default: `"10s"`, Least: 1, Field: func(s *session.Spec) any { return &s.Health.Interval }, Doc: "Time between two checks."},
			{Name: "timeout", Kind: Duration, Forces: InPlace, Default: `"5s"`, Least: 1, Field: func(s *session.Spec) any { return &s.Health.Timeout }, Doc: "Timeout of a probe."},
			{Name: "start_period", Kind: Duration, Forces: InPlace, Default: `"30s"`, Field: func(s *session.Spec) any { return &s.Health.StartPeriod }, Doc: "Time after a start in which failures do not count."},
			{Name: "failures", Kind: Whole, Forces: InPlace, Default: "3", Least: 1, Field: func(s *session.Spec) any { return &s.Health.Failures }, Doc: "Consecutive failures until the session is unhealthy."},
			{Name: "hung_after", Kind: Duration, Forces: InPlace, Default: `"15m"`, Field: func(s *session.Spec) any { return &s.Health.HungAfter }, Doc: "No progress for this long while working, on the screen or in its session file."},
			{Name: "on_unhealthy", Kind: Text, Forces: InPlace, Default: `"restart"`, Values: []string{"restart", "escalate", "ignore"}, Meanings: []string{"restarts the agent", "only sends the event `escalated`", "only records it"}, Field: func(s *session.Spec) any { return &s.Health.OnUnhealthy }, Doc: "What to do then; never more than the restart policy allows."},
		},
		Blocks: []Block{{
			Type: "heartbeat", Forces: InPlace, Field: func(s *session.Spec) any { return &s.Health.Heartbeat },
			Doc: "A probe that the hub runs next to the agent: one of the two.",
			Attributes: []Attribute{
				{Name: "command", Kind: Command, Example: `["curl", "-fsS", "http://localhost:8080/health"]`, Doc: "Fails if the session is unhealthy."},
				{Name: "key", Kind: Text, Example: `"F12"`, Doc: "A key without effect, by its tmux name (`F12`), to see whether the agent accepts it."},
			},
		}},
	}
}

func stop() Block {
	return Block{
		Type: "stop",
		Doc:  "How an agent is stopped.",
		Attributes: []Attribute{
			{Name: "signal", Kind: Text, Forces: InPlace, Default: `"SIGTERM"`, Values: []string{"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGABRT", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGKILL"}, Field: func(s *session.Spec) any { return &s.Stop.Signal }, Doc: "The first signal, to the agent and its descendants."},
			{Name: "grace", Kind: Duration, Forces: InPlace, Default: `"10s"`, Field: func(s *session.Spec) any { return &s.Stop.Grace }, Doc: "Time until SIGKILL."},
			{Name: "after_turn", Kind: Duration, Forces: InPlace, Default: `"0s"`, Field: func(s *session.Spec) any { return &s.Stop.AfterTurn }, Example: `"5m"`, Doc: "Time for the current turn to end first."},
		},
	}
}
