package config

// agentShape is the agent block.
func agentShape(named []string) shape {
	blocks := policyShapes()
	blocks["patterns"] = shape{
		forces: toNothing, doc: "Case-insensitive regular expressions over the screen, added to the built-in ones.",
		attrs: []attribute{
			{name: "done", kind: someRegexes, doc: "The task is done."},
			{name: "blocked", kind: someRegexes, doc: "The agent waits for a person."},
			{name: "blocked_api", kind: someRegexes, doc: "The agent waits for its provider: a limit, an overload."},
			{name: "failed", kind: someRegexes, doc: "The agent has failed."},
			{name: "working", kind: someRegexes, doc: "The agent is working."},
			{name: "ui", kind: someRegexes, doc: "The user interface is shown."},
			{name: "shell_prompt", kind: someRegexes, doc: "A shell is shown instead of the agent."},
		},
	}
	return shape{
		labels: named, blocks: blocks,
		doc: "A custom agent, or a change to a built-in one: `claude`, `codex` and `gemini` need no block. Its `restart`, `health` and `stop` blocks are the defaults of its sessions.",
		attrs: []attribute{
			{name: "base", kind: aText, forces: toRestart, doc: "A built-in agent to inherit everything from."},
			{name: "command", kind: aCommand, forces: toRestart, defWords: "its base's", doc: "The program and its first arguments. Required without a base."},
			{name: "permissions", kind: aText, forces: toRestart, values: []string{"ask", "edits", "all"}, defWords: "the agent's own", doc: "Sets a built-in agent's own flags."},
			{name: "trust", kind: aFlag, forces: toRestart, def: "false", doc: "Trusts the workspace, without a dialog at the start."},
			{name: "prompt_via", kind: aText, forces: toNothing, values: []string{"argument", "paste", "none"}, defWords: "its base's; else `argument`", doc: "How the first prompt is delivered."},
			{name: "ready", kind: aRegex, forces: toNothing, defWords: "its base's", doc: "Matches the screen once a prompt can be typed."},
			{name: "ready_timeout", kind: aDuration, forces: toNothing, defWords: "its base's; else `30s`", doc: "Timeout for that; the error shows the screen."},
			{name: "status_bar_lines", kind: aWhole, forces: toNothing, defWords: "its base's; else 0", doc: "Lines at the bottom of the screen to ignore."},
			{name: "observable", kind: aText, forces: toNothing, values: []string{"at_start", "at_first_prompt", "after_first_turn"}, defWords: "its base's; else `at_start`", doc: "When its own session file must exist."},
			{name: "unobserved_for", kind: aDuration, forces: toNothing, defWords: "its base's; else `24h`", doc: "Reports a session that has none for longer; never kills it."},
			{name: "one_shot", kind: aFlag, forces: toNothing, def: "false", doc: "Exit status 0 means *done*, and the agent is not restarted. Otherwise it means *exited*."},
			{name: "env", kind: aTable, forces: toRestart, doc: "Added to the environment of its sessions."},
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
				{name: "policy", kind: aText, forces: toNothing, def: `"on-failure"`, values: []string{"never", "on-failure", "always"}, doc: "When the agent is restarted."},
				{name: "attempts", kind: aWhole, forces: toNothing, def: "5", doc: "Maximum restarts within the window; then an error, which is escalated."},
				{name: "window", kind: aDuration, forces: toNothing, def: `"15m"`, doc: "The time in which attempts count."},
				{name: "escalate_after", kind: aWhole, forces: toNothing, def: "3", doc: "Escalates after this many attempts."},
				{name: "resume", kind: aFlag, forces: toNothing, def: "true", doc: "Resumes the conversation after a restart, if the agent can. An apply does the same."},
			},
			blocks: map[string]shape{"backoff": {
				forces: toNothing, doc: "The wait between two attempts.",
				attrs: []attribute{
					{name: "initial", kind: aDuration, def: `"5s"`, doc: "The first wait."},
					{name: "factor", kind: aNumber, def: "2", doc: "Backoff multiplier."},
					{name: "max", kind: aDuration, def: `"5m"`, doc: "The maximum wait."},
					{name: "jitter", kind: aNumber, def: "0.25", doc: "Jitter, 0 to 1."},
					{name: "reset_after", kind: aDuration, def: `"10m"`, doc: "Resets the backoff after this long without a failure."},
				},
			}},
		},
		"health": {
			doc: "How the hub checks a session.",
			attrs: []attribute{
				{name: "interval", kind: aDuration, forces: toNothing, def: `"10s"`, doc: "Time between two checks."},
				{name: "timeout", kind: aDuration, forces: toNothing, def: `"5s"`, doc: "Timeout of a probe."},
				{name: "start_period", kind: aDuration, forces: toNothing, def: `"30s"`, doc: "Time after a start in which failures do not count."},
				{name: "failures", kind: aWhole, forces: toNothing, def: "3", doc: "Consecutive failures until the session is unhealthy."},
				{name: "hung_after", kind: aDuration, forces: toNothing, def: `"15m"`, doc: "No progress for this long while working, on the screen or in its session file."},
				{name: "on_unhealthy", kind: aText, forces: toNothing, def: `"restart"`, values: []string{"restart", "escalate", "ignore"}, doc: "What to do then; never more than the restart policy allows."},
			},
			blocks: map[string]shape{"heartbeat": {
				forces: toNothing, doc: "A probe that the hub runs beside the agent: one of the two.",
				attrs: []attribute{
					{name: "command", kind: aCommand, doc: "Fails if the session is unhealthy."},
					{name: "key", kind: aText, doc: "A key without effect, by its tmux name (`F12`), to see whether the agent accepts it."},
				},
			}},
		},
		"stop": {
			doc: "How an agent is stopped.",
			attrs: []attribute{
				{name: "signal", kind: aText, forces: toNothing, def: `"SIGTERM"`, values: []string{"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGABRT", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGKILL"}, doc: "The first signal, to the agent and its descendants."},
				{name: "grace", kind: aDuration, forces: toNothing, def: `"10s"`, doc: "Time until SIGKILL."},
				{name: "after_turn", kind: aDuration, forces: toNothing, def: `"0s"`, doc: "Time for the current turn to end first."},
			},
		},
	}
}

// sessionShape is the session block.
func sessionShape(named []string) shape {
	blocks := policyShapes()
	blocks["workspace"] = shape{
		doc: "The directory that the session works in.",
		attrs: []attribute{
			{name: "mode", kind: aText, forces: toReplace, defWords: "`\"worktree\"`, in docker `\"clone\"`", values: []string{"worktree", "clone", "in_place", "plain"}, doc: "`worktree`: a git worktree; `in_place`: the repository's own checkout; `plain`: a folder without git, and so without a branch; `clone`: a clone of its own, with this one branch. In docker `worktree` and `in_place` need `trust_git`."},
			{name: "repo", kind: aPath, forces: toReplace, defWords: "the repository that holds the manifest", doc: "The git repository. Relative to the directory of the manifests."},
			{name: "path", kind: aPath, forces: toReplace, defWords: "`DATA_DIR/workspaces/NAME/BRANCH`", doc: "The directory, relative to the project directory. By default a new branch gets a new one, and the old one stays."},
			{name: "base", kind: aText, forces: toNothing, defWords: "`HEAD`", doc: "Where a new branch starts."},
			{name: "setup", kind: aCommand, forces: toNothing, doc: "A command to run once after creation. If it fails, the session is in error, with its output."},
			{name: "on_destroy", kind: aText, forces: toNothing, def: `"keep"`, values: []string{"keep", "remove_clean"}, doc: "`remove_clean`: removed with the session, if nothing would be lost. Ignored files are lost."},
			{name: "trust_git", kind: aFlag, forces: toReplace, def: "false", doc: "Allows mounting the repository's .git into a container, where an agent can make git run programs on this machine."},
		},
	}
	blocks["conversation"] = shape{
		forces: toRestart, doc: "Resumes an earlier conversation. The agent must be a built-in one or have one as its base.",
		attrs: []attribute{
			{name: "resume", kind: aFlag, def: "true", doc: "Whether to resume."},
			{name: "id", kind: aText, doc: "The agent's own id of the conversation. Default: the latest in the workspace."},
		},
	}
	blocks["pause"] = shape{
		doc: "What pausing does.",
		attrs: []attribute{
			{name: "mode", kind: aText, forces: toNothing, def: `"detach"`, values: []string{"detach", "freeze"}, doc: "`detach`: detaches clients and refuses input while the agent continues; `freeze`: suspends its processes."},
		},
	}
	blocks["lifecycle"] = shape{
		doc: "What a plan may do to the session.",
		attrs: []attribute{
			{name: "prevent_destroy", kind: aFlag, forces: toNothing, def: "false", doc: "Makes a plan that would destroy or replace it an error."},
			{name: "ignore_changes", kind: someFields, forces: toNothing, doc: "Attributes and blocks whose changes are ignored; `all` for every one."},
			{name: "replace_triggered_by", kind: anything, forces: toReplace, doc: "A list of values; a change of one replaces the session."},
		},
	}
	return shape{
		labels: named, blocks: blocks,
		doc: "A session, or one for each element of `for_each`, or `count` of them.",
		attrs: []attribute{
			{name: "for_each", kind: anything, doc: "A map or a set of strings: one session for each, with `each.key` and `each.value`. Its address is `session.NAME[\"KEY\"]`."},
			{name: "count", kind: aWhole, doc: "How many sessions, with `count.index`. The address is `session.NAME[0]`."},
			{name: "enabled", kind: aFlag, def: "true", doc: "false: as if the block did not exist."},
			{name: "role", kind: aText, forces: toNothing, def: `"default"`, doc: "A word for filters, directories and labels."},
			{name: "priority", kind: aWhole, forces: toNothing, def: "0", doc: "The order when `parallelism` or `max_running` is reached: the highest first."},
			{name: "agent", kind: anAgent, forces: toRestart, required: true, doc: "The agent."},
			{name: "profile", kind: aText, forces: toRestart, doc: "The agent's own profile, if it has any."},
			{name: "branch", kind: aText, forces: toReplace, defWords: "required, but in mode `plain`", doc: "The branch to work on, which no other session of the repository has."},
			{name: "prompt", kind: aText, forces: toRestart, doc: "The first prompt. A change restarts the agent with a new conversation."},
			{name: "args", kind: someTexts, forces: toRestart, doc: "Added to the agent's command."},
			{name: "runtime", kind: aRuntime, forces: toReplace, def: `"tmux"`, parts: []string{"kind", "name", "socket", "docker", "docker.image", "docker.host", "docker.cpus", "docker.memory", "docker.pids", "docker.network", "docker.user", "docker.env", "docker.mounts", "docker.read_only"}, doc: "Where it runs: tmux on this machine, or a [`runtime`](#runtime) block."},
			{name: "env", kind: aTable, forces: toRestart, doc: "Added to its environment."},
			{name: "secrets", kind: someTexts, forces: toRestart, doc: "Environment variables to pass as secrets, from [`secret`](#secret) blocks or agentform's own environment. They are never stored and never in a command line."},
			inheritAttr(toRestart, "Variables of your environment that it gets, besides those of the project and its agent: names, with `*` for any characters, or `true`. Not in docker."),
			{name: "desired", kind: aText, forces: toNothing, def: `"running"`, values: []string{"running", "paused", "stopped"}, doc: "The desired state."},
			{name: "timeout", kind: aDuration, forces: toNothing, defWords: "none", doc: "The longest run. Then the session is stopped, reason `timeout`."},
			{name: "labels", kind: aTable, forces: toNothing, doc: "Labels for filters."},
			{name: "depends_on", kind: someAddresses, forces: toNothing, parts: []string{"until"}, doc: "Sessions to wait for: a one-shot one must have exited with 0, an interactive one must be ready. `{ session = session.api, until = \"turn\" }` waits for something else; see [order](#order). The session is skipped if one fails."},
		},
	}
}
