package config

func agentShape(named []string) shape {
	blocks := policyShapes()
	blocks["budget"] = budgetShape("For each session of the agent by itself.")
	blocks["patterns"] = shape{
		forces: toNothing, doc: "Case-insensitive regular expressions over the screen, added to the built-in ones.",
		attrs: []attribute{
			{Name: "done", Kind: someRegexes, Doc: "The task is done."},
			{Name: "blocked", Kind: someRegexes, Doc: "The agent waits for you."},
			{Name: "blocked_api", Kind: someRegexes, Doc: "The agent waits for its provider: a limit, an overload."},
			{Name: "failed", Kind: someRegexes, Doc: "The agent has failed."},
			{Name: "working", Kind: someRegexes, Doc: "The agent is working."},
			{Name: "ui", Kind: someRegexes, Doc: "The user interface is shown."},
			{Name: "shell_prompt", Kind: someRegexes, Doc: "A shell is shown instead of the agent."},
		},
	}
	return shape{
		labels: named, blocks: blocks,
		doc: "A custom agent, or a change to a built-in one: `claude`, `codex`, `copilot`, `gemini`, `opencode` and `qwen` need no block. Its `restart`, `health` and `stop` blocks are the defaults of its sessions.",
		attrs: []attribute{
			{Name: "base", Kind: aText, Forces: toRestart, Doc: "A built-in agent to inherit everything from."},
			{Name: "command", Kind: aCommand, Forces: toRestart, DefaultWords: "its base's", Doc: "The program and its first arguments. Required without a base."},
			{Name: "permissions", Kind: aText, Forces: toRestart, Values: []string{"ask", "edits", "all"}, Meanings: []string{"it reads, and asks for the rest", "it writes in the workspace, and asks for the rest", "it asks nothing"}, DefaultWords: "the agent's own", Doc: "What the agent does without asking, by a built-in agent's [own flags](agents/README.md)."},
			{Name: "trust", Kind: aFlag, Forces: toRestart, Default: "false", Doc: "Trusts the workspace, without a dialog at the start."},
			{Name: "prompt_via", Kind: aText, Forces: toNothing, Values: []string{"argument", "paste", "none"}, Meanings: []string{"the last argument of its command", "typed once the agent is ready", "not at all"}, DefaultWords: "its base's; else `argument`", Doc: "How the first prompt is delivered."},
			{Name: "ready", Kind: aRegex, Forces: toNothing, DefaultWords: "its base's", Doc: "Matches the screen once a prompt can be typed."},
			{Name: "ready_timeout", Kind: aDuration, Forces: toNothing, DefaultWords: "its base's; else `30s`", Doc: "Timeout for that; the error shows the screen."},
			{Name: "status_bar_lines", Kind: aWhole, Forces: toNothing, DefaultWords: "its base's; else 0", Doc: "Lines at the bottom of the screen to ignore."},
			{Name: "observable", Kind: aText, Forces: toNothing, Values: []string{"at_start", "at_first_prompt", "after_first_turn"}, Meanings: []string{"as soon as it runs", "once it was given a prompt", "once its first turn has ended"}, DefaultWords: "its base's; else `at_start`", Doc: "When its own session file must exist."},
			{Name: "unobserved_for", Kind: aDuration, Forces: toNothing, DefaultWords: "its base's; else `24h`", Doc: "Reports a session that has none for longer; never kills it."},
			{Name: "one_shot", Kind: aFlag, Forces: toNothing, Default: "false", Doc: "Exit status 0 means *done*, and the agent is not restarted. Otherwise it means *exited*."},
			{Name: "env", Kind: aTable, Forces: toRestart, Doc: "Added to the environment of its sessions."},
			inheritAttr(toRestart, "Variables of your environment that it gets on this machine: names, with `*` for any characters, or `true`."),
		},
	}
}

// policyShapes are the blocks that a session has, and an agent for its sessions.
func policyShapes() map[string]shape {
	return map[string]shape{
		"restart": {
			doc: "What the hub does when an agent exits. An apply starts whatever is not finished.",
			attrs: []attribute{
				{Name: "policy", Kind: aText, Forces: toNothing, Default: `"on-failure"`, Values: []string{"never", "on-failure", "always"}, Meanings: []string{"the hub leaves it, however it ended", "the hub restarts it, unless it exited with 0", "the hub restarts it, unless it is a one-shot agent that is done"}, Doc: "When the agent is restarted."},
				{Name: "attempts", Kind: aWhole, Forces: toNothing, Default: "5", Doc: "Maximum restarts within the window; then an error, which is escalated."},
				{Name: "window", Kind: aDuration, Forces: toNothing, Default: `"15m"`, Doc: "The time in which attempts count."},
				{Name: "escalate_after", Kind: aWhole, Forces: toNothing, Default: "3", Doc: "Escalates after this many attempts."},
				{Name: "resume", Kind: aFlag, Forces: toNothing, Default: "true", Doc: "Resumes the conversation after a restart, if the agent can. An apply does the same."},
			},
			blocks: map[string]shape{"backoff": {
				forces: toNothing, doc: "The wait between two attempts.",
				attrs: []attribute{
					{Name: "initial", Kind: aDuration, Default: `"5s"`, Doc: "The first wait."},
					{Name: "factor", Kind: aNumber, Default: "2", Doc: "Backoff multiplier."},
					{Name: "max", Kind: aDuration, Default: `"5m"`, Doc: "The maximum wait."},
					{Name: "jitter", Kind: aNumber, Default: "0.25", Doc: "Jitter, 0 to 1."},
					{Name: "reset_after", Kind: aDuration, Default: `"10m"`, Doc: "Resets the backoff after this long without a failure."},
				},
			}},
		},
		"health": {
			doc: "How the hub checks a session.",
			attrs: []attribute{
				{Name: "interval", Kind: aDuration, Forces: toNothing, Default: `"10s"`, Doc: "Time between two checks."},
				{Name: "timeout", Kind: aDuration, Forces: toNothing, Default: `"5s"`, Doc: "Timeout of a probe."},
				{Name: "start_period", Kind: aDuration, Forces: toNothing, Default: `"30s"`, Doc: "Time after a start in which failures do not count."},
				{Name: "failures", Kind: aWhole, Forces: toNothing, Default: "3", Doc: "Consecutive failures until the session is unhealthy."},
				{Name: "hung_after", Kind: aDuration, Forces: toNothing, Default: `"15m"`, Doc: "No progress for this long while working, on the screen or in its session file."},
				{Name: "on_unhealthy", Kind: aText, Forces: toNothing, Default: `"restart"`, Values: []string{"restart", "escalate", "ignore"}, Meanings: []string{"restarts the agent", "only sends the event `escalated`", "only records it"}, Doc: "What to do then; never more than the restart policy allows."},
			},
			blocks: map[string]shape{"heartbeat": {
				forces: toNothing, doc: "A probe that the hub runs next to the agent: one of the two.",
				attrs: []attribute{
					{Name: "command", Kind: aCommand, Doc: "Fails if the session is unhealthy."},
					{Name: "key", Kind: aText, Doc: "A key without effect, by its tmux name (`F12`), to see whether the agent accepts it."},
				},
			}},
		},
		"stop": {
			doc: "How an agent is stopped.",
			attrs: []attribute{
				{Name: "signal", Kind: aText, Forces: toNothing, Default: `"SIGTERM"`, Values: []string{"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGABRT", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGKILL"}, Doc: "The first signal, to the agent and its descendants."},
				{Name: "grace", Kind: aDuration, Forces: toNothing, Default: `"10s"`, Doc: "Time until SIGKILL."},
				{Name: "after_turn", Kind: aDuration, Forces: toNothing, Default: `"0s"`, Doc: "Time for the current turn to end first."},
			},
		},
	}
}

func sessionShape(named []string) shape {
	blocks := policyShapes()
	blocks["budget"] = budgetShape("For the session, or for each of its instances by itself. It takes the place of one of its agent with the same name.")
	blocks["workspace"] = shape{
		doc: "The directory that the session works in.",
		attrs: []attribute{
			{Name: "mode", Kind: aText, Forces: toReplace, DefaultWords: "`\"worktree\"`, in docker and kubernetes `\"clone\"`", Values: []string{"worktree", "clone", "in_place", "plain"}, Meanings: []string{"a git worktree", "a clone of its own, with this one branch", "the repository's own checkout", "a directory without git, and so without a branch"}, Doc: "What the directory is. In docker `worktree` and `in_place` need `trust_git`; kubernetes has neither."},
			{Name: "repo", Kind: aPath, Forces: toReplace, DefaultWords: "the repository that holds the manifest", Doc: "The git repository. Relative to the directory of the manifests. Where the workspace is on a volume, as in kubernetes, it may also be an `https://` URL: the clone is made there."},
			{Name: "repo_secret", Kind: aText, Forces: toReplace, Doc: "The name of the secret with the password or token for a `repo` that is a URL. The URL has the user, like `https://USER@HOST/…`; without one it is `x-access-token`."},
			{Name: "path", Kind: aPath, Forces: toReplace, DefaultWords: "`DATA_DIR/workspaces/NAME/BRANCH`", Doc: "The directory, relative to the project directory. By default a new branch gets a new one, and the old one stays."},
			{Name: "base", Kind: aText, Forces: toNothing, DefaultWords: "`HEAD`", Doc: "Where a new branch starts."},
			{Name: "setup", Kind: aCommand, Forces: toNothing, Doc: "A command to run once after creation. If it fails, the session is in error, with its output."},
			{Name: "on_destroy", Kind: aText, Forces: toNothing, Default: `"keep"`, Values: []string{"keep", "remove_clean"}, Meanings: []string{"it stays", "it is removed with the session and the ignored files in it, if nothing else would be lost"}, Doc: "What happens to the directory."},
			{Name: "trust_git", Kind: aFlag, Forces: toReplace, Default: "false", Doc: "Allows mounting the repository's .git into a container, where an agent can make git run programs on this machine."},
		},
	}
	blocks["conversation"] = shape{
		forces: toRestart, doc: "Resumes an earlier conversation. The agent must be a built-in one or have one as its base.",
		attrs: []attribute{
			{Name: "resume", Kind: aFlag, Default: "true", Doc: "Whether to resume."},
			{Name: "id", Kind: aText, Doc: "The agent's own id of the conversation. Default: the latest in the workspace."},
		},
	}
	blocks["pause"] = shape{
		doc: "What pausing does.",
		attrs: []attribute{
			{Name: "mode", Kind: aText, Forces: toNothing, Default: `"detach"`, Values: []string{"detach", "freeze"}, Meanings: []string{"detaches clients and refuses input, while the agent continues", "suspends its processes"}, Doc: "How a session is paused."},
		},
	}
	blocks["limits"] = shape{
		doc: "What happens when a [limit](hub.md#limits) of the model's provider has ended.",
		attrs: []attribute{
			{Name: "resume", Kind: aText, Forces: toNothing, Default: `"never"`, Values: []string{"never", "staggered"}, Meanings: []string{"the agent stays at the limit until you send it something", "the hub sends the agent `continue`, one session of a login or key after the other"}, Doc: "How its work is resumed when a quota has reset."},
		},
	}
	blocks["refresh"] = shape{
		doc: "How [`agentform refresh`](commands.md#agentform-refresh) brings the base into the branch.",
		attrs: []attribute{
			{Name: "method", Kind: aText, Forces: toNothing, Default: `"merge"`, Values: []string{"merge", "rebase"}, Meanings: []string{"the base is merged into the branch", "the commits of the branch are put on top of the base"}, Doc: "How they come together."},
			{Name: "on_conflict", Kind: aText, Forces: toNothing, Default: `"hold"`, Values: []string{"send", "hold"}, Meanings: []string{"asks the agent to merge the base", "only names the files"}, Doc: "What files that conflict lead to. The branch is not changed."},
		},
	}
	blocks["pr"] = shape{
		doc: "What the hub does about the pull request of its branch on GitHub.",
		attrs: []attribute{
			{Name: "checks", Kind: aText, Forces: toNothing, Default: `"send"`, Values: []string{"send", "ignore"}, Meanings: []string{"sends the agent which checks of the last commit failed, with the end of their logs", "only counts them"}, Doc: "What failed checks lead to."},
			{Name: "reviews", Kind: aText, Forces: toNothing, Default: `"send"`, Values: []string{"send", "ignore"}, Meanings: []string{"sends the agent comments that are not resolved, and reviews that request changes", "only counts them"}, Doc: "What reviews lead to."},
			{Name: "rounds", Kind: aWhole, Forces: toNothing, Default: "3", Doc: "After this many texts in a row, or a turn that pushed nothing, the session needs you and the agent is sent nothing more."},
			{Name: "from", Kind: someTexts, Forces: toNothing, Default: `["COLLABORATOR", "MEMBER", "OWNER"]`, Values: []string{"OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR", "NONE"}, Meanings: []string{"who owns the repository", "members of the organization that owns it", "who was invited to it", "whose commits are in it", "everyone else"}, Doc: "Whose reviews the agent is sent, by [association](https://docs.github.com/en/graphql/reference/enums#commentauthorassociation)."},
		},
	}
	blocks["verify"] = shape{
		doc: "The command that has to succeed before its work counts.",
		attrs: []attribute{
			{Name: "command", Kind: aCommand, Forces: toNothing, Required: true, Doc: "Runs in the workspace with the agent's environment when a turn has ended with commits that the base lacks. It must change no file that git does not ignore."},
			{Name: "timeout", Kind: aDuration, Forces: toNothing, Default: `"20m"`, Doc: "Ends the command with everything that it started, which counts as a failure. At most `24h`."},
			{Name: "on_failure", Kind: aText, Forces: toNothing, Default: `"send"`, Values: []string{"send", "hold", "ignore"}, Meanings: []string{"sends the agent the end of the output, and verifies its next commit", "needs you at once", "only records it"}, Doc: "What a failure leads to."},
			{Name: "rounds", Kind: aWhole, Forces: toNothing, Default: "3", Doc: "After this many failures in a row, or a turn that committed nothing, the session needs you and the agent is sent nothing more."},
			{Name: "commit", Kind: aFlag, Forces: toNothing, Default: "false", Doc: "Commits what a turn leaves uncommitted, as the agent would, before its work is verified. Not with `mode = \"in_place\"`."},
			{Name: "clean", Kind: aFlag, Forces: toNothing, Default: "false", Doc: "Runs `setup` of the workspace and the command in a fresh checkout of the commit, below `$TMPDIR`: nothing that git ignores is there. Needs `git` and `sh` where the agent runs. As with `git bisect`, exit status 125 says that the commit cannot be tested."},
			{Name: "protect", Kind: someTexts, Forces: toNothing, Doc: "Patterns of files, like `tests/**`: work that changes one fails, whatever the command says."},
		},
	}
	blocks["lifecycle"] = shape{
		doc: "What a plan may do to the session.",
		attrs: []attribute{
			{Name: "prevent_destroy", Kind: aFlag, Forces: toNothing, Default: "false", Doc: "Makes a plan that would destroy or replace it an error."},
			{Name: "ignore_changes", Kind: someFields, Forces: toNothing, Doc: "Attributes and blocks whose changes are ignored; `all` for every one."},
			{Name: "replace_triggered_by", Kind: anything, Forces: toReplace, Doc: "A list of values; a change of one replaces the session."},
		},
	}
	return shape{
		labels: named, blocks: blocks,
		doc: "A session, or one for each element of `for_each`, or `count` of them.",
		attrs: []attribute{
			{Name: "for_each", Kind: anything, Doc: "A map or a set of strings: one session for each, with `each.key` and `each.value`. Its address is `session.NAME[\"KEY\"]`."},
			{Name: "count", Kind: aWhole, Doc: "How many sessions, with `count.index`. The address is `session.NAME[0]`."},
			{Name: "enabled", Kind: aFlag, Default: "true", Doc: "false: as if the block did not exist."},
			{Name: "role", Kind: aText, Forces: toNothing, Default: `"default"`, Doc: "A word for filters, directories and labels."},
			{Name: "priority", Kind: aWhole, Forces: toNothing, Default: "0", Doc: "The order when `parallelism` or `max_running` is reached: the highest first."},
			{Name: "agent", Kind: anAgent, Forces: toRestart, Required: true, Doc: "The agent."},
			{Name: "profile", Kind: aText, Forces: toRestart, Doc: "The agent's own profile, if it has any."},
			{Name: "branch", Kind: aText, Forces: toReplace, DefaultWords: "required, but in mode `plain`", Doc: "The branch to work on, which no other session of the repository has."},
			{Name: "prompt", Kind: aText, Forces: toRestart, Doc: "The first prompt. A change restarts the agent with a new conversation, unless `on_prompt_change` says otherwise."},
			{Name: "on_prompt_change", Kind: aText, Forces: toNothing, Default: `"restart"`, Values: []string{"restart", "send", "keep"}, Meanings: []string{"starts a new conversation", "is typed into the conversation", "is recorded for the next conversation"}, Doc: "What another prompt does to a running agent."},
			{Name: "args", Kind: someTexts, Forces: toRestart, Doc: "Added to the agent's command."},
			{Name: "runtime", Kind: aRuntime, Forces: toReplace, Default: `"tmux"`, parts: []string{"kind", "name", "socket", "docker", "docker.image", "docker.host", "docker.cert_path", "docker.cpus", "docker.memory", "docker.pids", "docker.network", "docker.user", "docker.env", "docker.mounts", "docker.read_only", "kubernetes", "kubernetes.context", "kubernetes.namespace", "kubernetes.image", "kubernetes.image_pull_secrets", "kubernetes.cpus", "kubernetes.memory", "kubernetes.resources", "kubernetes.resources.requests", "kubernetes.resources.limits", "kubernetes.storage", "kubernetes.storage.class", "kubernetes.storage.size", "kubernetes.node_selector", "kubernetes.tolerations", "kubernetes.affinity", "kubernetes.runtime_class", "kubernetes.service_account", "kubernetes.labels", "kubernetes.annotations", "kubernetes.env", "kubernetes.user", "kubernetes.read_only", "kubernetes.network", "kubernetes.volumes", "kubernetes.schedule_timeout"}, Doc: "Where it runs: tmux on this machine, or a [`runtime`](#runtime) block."},
			{Name: "env", Kind: aTable, Forces: toRestart, Doc: "Added to its environment."},
			{Name: "secrets", Kind: someTexts, Forces: toRestart, Doc: "Environment variables to pass as secrets, from [`secret`](#secret) blocks or agentform's own environment. They are never stored and never in a command line."},
			inheritAttr(toRestart, "Variables of your environment that it gets in addition to those of the project and its agent: names, with `*` for any characters, or `true`. Not in docker and kubernetes."),
			{Name: "desired", Kind: aText, Forces: toNothing, Default: `"running"`, Values: []string{"running", "paused", "stopped"}, Meanings: []string{"the agent runs", "it is [paused](#pause)", "it does not run, and its workspace stays"}, Doc: "The desired state."},
			{Name: "timeout", Kind: aDuration, Forces: toNothing, DefaultWords: "none", Doc: "The longest run. Then the session is stopped, reason `timeout`."},
			{Name: "finish", Kind: aText, Forces: toNothing, Default: `"never"`, Values: []string{"never", "turn", "verified", "landed"}, Meanings: []string{"it is only stopped by you", "the turn of its prompt, or of what it was last sent, has ended without a question, a limit or a failure", "the same, and its work is [verified](#verify)", "`agentform land` or a merged [pull request](#pr) has brought its work to its base"}, Doc: "When the session is [finished](#finish)."},
			{Name: "labels", Kind: aTable, Forces: toNothing, Doc: "Labels for filters."},
			{Name: "depends_on", Kind: someAddresses, Forces: toNothing, parts: []string{"until"}, Doc: "Sessions to wait for: one that ends must be finished, another one must be ready. `{ session = session.api, until = \"turn\" }` waits for something else; see [order](#order). The session is skipped if one fails."},
		},
	}
}
