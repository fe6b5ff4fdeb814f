package config

// agentShape is the agent block.
func agentShape(named []string) shape {
	blocks := policyShapes()
	blocks["patterns"] = shape{
		forces: toNothing, doc: "Regular expressions over the screen, whatever the case, added to the built-in ones.",
		attrs: []attribute{
			{name: "done", kind: someRegexes, doc: "It has done what it was asked for."},
			{name: "blocked", kind: someRegexes, doc: "It waits for a person."},
			{name: "blocked_api", kind: someRegexes, doc: "It waits for its provider: a limit, an overload."},
			{name: "failed", kind: someRegexes, doc: "It has given up."},
			{name: "working", kind: someRegexes, doc: "It is at work."},
			{name: "ui", kind: someRegexes, doc: "Its user interface is there."},
			{name: "shell_prompt", kind: someRegexes, doc: "A shell is there, and the agent is not."},
		},
	}
	return shape{
		labels: named, blocks: blocks,
		doc: "A custom agent, or a change to a built-in one: `claude`, `codex` and `gemini` need no block. Its `restart`, `health` and `stop` blocks are the defaults of its sessions.",
		attrs: []attribute{
			{name: "base", kind: aText, forces: toRestart, doc: "A built-in agent to inherit everything from."},
			{name: "command", kind: aCommand, forces: toRestart, defWords: "its base's", doc: "The program and its first arguments. Required without a base."},
			{name: "permissions", kind: aText, forces: toRestart, values: []string{"ask", "edits", "all"}, defWords: "the agent's own", doc: "Mapped to a built-in agent's own flags."},
			{name: "trust", kind: aFlag, forces: toRestart, def: "false", doc: "The workspace is trusted: no dialog at the start."},
			{name: "prompt_via", kind: aText, forces: toNothing, values: []string{"argument", "paste", "none"}, defWords: "its base's; else `argument`", doc: "How the first prompt reaches it."},
			{name: "ready", kind: aRegex, forces: toNothing, defWords: "its base's", doc: "When the screen shows it, a prompt can be typed."},
			{name: "ready_timeout", kind: aDuration, forces: toNothing, defWords: "its base's; else `30s`", doc: "Until then; past it an error that shows the screen."},
			{name: "status_bar_lines", kind: aWhole, forces: toNothing, defWords: "its base's; else 0", doc: "Lines at the bottom of the screen that say nothing about its work."},
			{name: "observable", kind: aText, forces: toNothing, values: []string{"at_start", "at_first_prompt", "after_first_turn"}, defWords: "its base's; else `at_start`", doc: "From when on its own session file has to be there; before, that it is missing says nothing."},
			{name: "unobserved_for", kind: aDuration, forces: toNothing, defWords: "its base's; else `24h`", doc: "Longer than that without one is told to a person; never a kill."},
			{name: "one_shot", kind: aFlag, forces: toNothing, def: "false", doc: "Leaving with 0 means *done*, and it is not started again. Otherwise leaving is *exited*."},
			{name: "env", kind: aTable, forces: toRestart, doc: "Added to the environment of each of its sessions."},
			inheritAttr(toRestart, "Which variables of your environment it gets also, on this machine: names, with `*` for any characters, or `true`."),
		},
	}
}

// policyShapes are the blocks that a session has, and an agent for its sessions.
func policyShapes() map[string]shape {
	return map[string]shape{
		"restart": {
			doc: "What the supervisor does about an agent that ends; a person's apply starts whatever is not finished.",
			attrs: []attribute{
				{name: "policy", kind: aText, forces: toNothing, def: `"on-failure"`, values: []string{"never", "on-failure", "always"}, doc: "When it is started again."},
				{name: "attempts", kind: aWhole, forces: toNothing, def: "5", doc: "How often within the window; then it is an error, and a person is told."},
				{name: "window", kind: aDuration, forces: toNothing, def: `"15m"`, doc: "The time in which attempts count."},
				{name: "escalate_after", kind: aWhole, forces: toNothing, def: "3", doc: "A person is told already after so many."},
				{name: "resume", kind: aFlag, forces: toNothing, def: "true", doc: "It goes on with its own conversation after a restart, where it can. This holds for an apply as well."},
			},
			blocks: map[string]shape{"backoff": {
				forces: toNothing, doc: "How long to wait between two attempts.",
				attrs: []attribute{
					{name: "initial", kind: aDuration, def: `"5s"`, doc: "Before the first."},
					{name: "factor", kind: aNumber, def: "2", doc: "By which each wait is longer than the one before."},
					{name: "max", kind: aDuration, def: `"5m"`, doc: "The longest."},
					{name: "jitter", kind: aNumber, def: "0.25", doc: "The share of the wait, 0 to 1, that is left to chance."},
					{name: "reset_after", kind: aDuration, def: `"10m"`, doc: "After so long without trouble the first wait is the shortest again."},
				},
			}},
		},
		"health": {
			doc: "How the supervisor judges a session.",
			attrs: []attribute{
				{name: "interval", kind: aDuration, forces: toNothing, def: `"10s"`, doc: "Between two looks."},
				{name: "timeout", kind: aDuration, forces: toNothing, def: `"5s"`, doc: "How long a probe may take."},
				{name: "start_period", kind: aDuration, forces: toNothing, def: `"30s"`, doc: "Failures do not count yet."},
				{name: "failures", kind: aWhole, forces: toNothing, def: "3", doc: "In a row, until it is unhealthy."},
				{name: "hung_after", kind: aDuration, forces: toNothing, def: `"15m"`, doc: "It says that it works, and for so long nothing has changed, on the screen or in its session file."},
				{name: "on_unhealthy", kind: aText, forces: toNothing, def: `"restart"`, values: []string{"restart", "escalate", "ignore"}, doc: "What is done then; never more than the restart policy allows."},
			},
			blocks: map[string]shape{"heartbeat": {
				forces: toNothing, doc: "A probe of one's own, run beside the agent: one of the two. The hub runs it.",
				attrs: []attribute{
					{name: "command", kind: aCommand, doc: "It fails when the session is not well."},
					{name: "key", kind: aText, doc: "A key that does nothing, in tmux's words (`F12`), sent to see whether the agent takes it."},
				},
			}},
		},
		"stop": {
			doc: "How an agent is ended.",
			attrs: []attribute{
				{name: "signal", kind: aText, forces: toNothing, def: `"SIGTERM"`, values: []string{"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGABRT", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGKILL"}, doc: "What it and everything below it gets first."},
				{name: "grace", kind: aDuration, forces: toNothing, def: `"10s"`, doc: "How long to wait before SIGKILL."},
				{name: "after_turn", kind: aDuration, forces: toNothing, def: `"0s"`, doc: "How long to let the running turn end first."},
			},
		},
	}
}

// sessionShape is the session block.
func sessionShape(named []string) shape {
	blocks := policyShapes()
	blocks["workspace"] = shape{
		doc: "Where it works.",
		attrs: []attribute{
			{name: "mode", kind: aText, forces: toReplace, defWords: "`\"worktree\"`, in docker `\"clone\"`", values: []string{"worktree", "clone", "in_place", "plain"}, doc: "`worktree`: a git worktree; `in_place`: the repository's own checkout; `plain`: a folder without git, and so without a branch; `clone`: a clone of its own, with this one branch. In docker `worktree` and `in_place` need `trust_git`."},
			{name: "repo", kind: aPath, forces: toReplace, defWords: "the repository that holds the manifest", doc: "The git repository. Relative to the folder of the manifests."},
			{name: "path", kind: aPath, forces: toReplace, defWords: "`DATA_DIR/workspaces/NAME/BRANCH`", doc: "Its folder, relative to the project folder. By default a new branch is a new folder, and the old one stays."},
			{name: "base", kind: aText, forces: toNothing, defWords: "`HEAD`", doc: "Where a branch that does not exist yet starts."},
			{name: "setup", kind: aCommand, forces: toNothing, doc: "A command, run once after creation; when it fails the session is in error, with its output."},
			{name: "on_destroy", kind: aText, forces: toNothing, def: `"keep"`, values: []string{"keep", "remove_clean"}, doc: "`remove_clean`: removed with the session, if nothing would be lost. Ignored plain files are lost."},
			{name: "trust_git", kind: aFlag, forces: toReplace, def: "false", doc: "The repository's .git may be mounted into a container, though what is written there can make git run programs on this machine."},
		},
	}
	blocks["conversation"] = shape{
		forces: toRestart, doc: "It goes on with an earlier conversation of its agent, which must be a built-in one or have one as its base.",
		attrs: []attribute{
			{name: "resume", kind: aFlag, def: "true", doc: "Whether it does."},
			{name: "id", kind: aText, doc: "The conversation, by the agent's own id. Without one, the latest that it had in the workspace."},
		},
	}
	blocks["pause"] = shape{
		doc: "What pausing does.",
		attrs: []attribute{
			{name: "mode", kind: aText, forces: toNothing, def: `"detach"`, values: []string{"detach", "freeze"}, doc: "`detach`: clients off and input refused, while the agent works on; `freeze`: its processes stand still."},
		},
	}
	blocks["lifecycle"] = shape{
		doc: "What a plan may do to it.",
		attrs: []attribute{
			{name: "prevent_destroy", kind: aFlag, forces: toNothing, def: "false", doc: "A plan that would destroy or replace it is an error."},
			{name: "ignore_changes", kind: someFields, forces: toNothing, doc: "Attributes and blocks whose changes are left alone; `all` for every one."},
			{name: "replace_triggered_by", kind: anything, forces: toReplace, doc: "A list of values; when one changes, the session is made anew."},
		},
	}
	return shape{
		labels: named, blocks: blocks,
		doc: "A session, or one for each element of `for_each`, or `count` of them.",
		attrs: []attribute{
			{name: "for_each", kind: anything, doc: "A map or a set of texts: one session for each, with `each.key` and `each.value`. Its address is `session.NAME[\"KEY\"]`."},
			{name: "count", kind: aWhole, doc: "How many, told apart by `count.index`. The address is `session.NAME[0]`."},
			{name: "enabled", kind: aFlag, def: "true", doc: "false: as if it were not there."},
			{name: "role", kind: aText, forces: toNothing, def: `"default"`, doc: "A word for filters, folders, labels."},
			{name: "priority", kind: aWhole, forces: toNothing, def: "0", doc: "Who goes first when `parallelism` or `max_running` is short: the higher."},
			{name: "agent", kind: anAgent, forces: toRestart, required: true, doc: "The agent."},
			{name: "profile", kind: aText, forces: toRestart, doc: "The agent's own profile, where it has such a thing."},
			{name: "branch", kind: aText, forces: toReplace, defWords: "required, but in mode `plain`", doc: "The branch that it works on, its own in its repository."},
			{name: "prompt", kind: aText, forces: toRestart, doc: "What it begins with. A change restarts it with a fresh conversation."},
			{name: "args", kind: someTexts, forces: toRestart, doc: "Added to the agent's command."},
			{name: "runtime", kind: aRuntime, forces: toReplace, def: `"tmux"`, parts: []string{"kind", "name", "socket", "docker", "docker.image", "docker.host", "docker.cpus", "docker.memory", "docker.pids", "docker.network", "docker.user", "docker.env", "docker.mounts", "docker.read_only"}, doc: "Where it runs: tmux on this machine, or a [`runtime`](#runtime) block."},
			{name: "env", kind: aTable, forces: toRestart, doc: "Added to its environment."},
			{name: "secrets", kind: someTexts, forces: toRestart, doc: "Names of environment variables whose values it gets, from [`secret`](#secret) blocks or agentform's own environment. They are never stored and never in a command line."},
			inheritAttr(toRestart, "Which variables of your environment it gets also, with those of the project and its agent: names, with `*` for any characters, or `true`. Not in docker."),
			{name: "desired", kind: aText, forces: toNothing, def: `"running"`, values: []string{"running", "paused", "stopped"}, doc: "What it is wanted to be doing."},
			{name: "timeout", kind: aDuration, forces: toNothing, defWords: "none", doc: "The longest run; past it the session is stopped, reason `timeout`."},
			{name: "labels", kind: aTable, forces: toNothing, doc: "For filters, by anyone."},
			{name: "depends_on", kind: someAddresses, forces: toNothing, parts: []string{"until"}, doc: "Sessions that it waits for: a one-shot one has to have exited with 0, an interactive one to be ready. `{ session = session.api, until = \"turn\" }` waits for something else; see [order](#order). It is skipped, by name, when one fails."},
		},
	}
}
