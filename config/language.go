package config

type kind string

const (
	aText         kind = "string"
	aFlag         kind = "true or false"
	aWhole        kind = "whole number"
	aNumber       kind = "number"
	aDuration     kind = "duration" // "90s", "15m", "30d"
	aSize         kind = "size"     // "512MiB", "4GiB"
	aRegex        kind = "regex"    // a regular expression, as text
	someTexts     kind = "list of strings"
	someRegexes   kind = "list of regexes"
	trueOrTexts   kind = "true or list of strings"
	aCommand      kind = "command"    // a program and its arguments, as a list of texts
	aTable        kind = "map"        // of texts
	aPath         kind = "path"       // of a file or directory, as text
	anAddress     kind = "session"    // session.NAME, session.NAME["KEY"], session.NAME[0]
	someAddresses kind = "sessions"   // a list of them
	anAgent       kind = "agent"      // agent.NAME, or its name as text
	aRuntime      kind = "runtime"    // runtime.KIND.NAME, or "tmux"
	someFields    kind = "attributes" // a list of a session's attributes and blocks, or all
	someMounts    kind = "mounts"     // a list of { source, target, read_only }
	someVolumes   kind = "volumes"    // a list of { target, claim or secret or config_map, read_only }
	someTaints    kind = "tolerations"
	aType         kind = "type" // string, number, list(string), …
	anything      kind = "any"
)

// What a change of an attribute forces.
const (
	toNothing = "none"    // it is updated in place
	toRestart = "restart" // the agent is started again
	toReplace = "replace" // the session is made anew
)

// attribute describes an attribute, for decoding, editors and documentation.
type attribute struct {
	Name         string   `json:"name"`
	Kind         kind     `json:"type"`
	Required     bool     `json:"required"`
	Default      string   `json:"default,omitempty"`       // in HCL
	DefaultWords string   `json:"default_words,omitempty"` // if it has no literal
	Values       []string `json:"values,omitempty"`        // of it, or of its elements
	Meanings     []string `json:"meanings,omitempty"`      // of Values, in their order
	Forces       string   `json:"forces,omitempty"`        // by a change; "": it is not compared with the record
	Doc          string   `json:"description"`
	parts        []string // fields that it is compared by
}

type shape struct {
	labels []string // names of the labels
	attrs  []attribute
	blocks map[string]shape
	kinds  map[string]shape // by the first label
	many   bool             // the parent can have several
	free   bool             // any attributes: locals
	forces string           // what a change of anything in it forces
	doc    string
}

func (s shape) names() []string {
	list := make([]string, len(s.attrs))
	for i, a := range s.attrs {
		list[i] = a.Name
	}
	return list
}

func (s *shape) attr(name string) *attribute {
	if s == nil {
		return nil
	}
	for i := range s.attrs {
		if s.attrs[i].Name == name {
			return &s.attrs[i]
		}
	}
	return nil
}

func language() map[string]shape {
	named := []string{"name"}
	all := map[string]shape{
		"agentform": {
			doc: "Settings of the project; at most once.", attrs: settingsAttrs(),
			blocks: map[string]shape{"backend": backendShape(), "encryption": encryptionShape(), "telemetry": telemetryShape()},
		},
		"variable": {
			labels: named, doc: "A value given from [outside](#files).",
			attrs: []attribute{
				{Name: "type", Kind: aType, DefaultWords: "any", Doc: "The type of its values: `string`, `number`, `bool`, `list(string)`, `map(string)`, `object({ … })`."},
				{Name: "default", Kind: anything, Doc: "The default. Without one, a value is required."},
				{Name: "description", Kind: aText, Doc: "Description."},
				{Name: "sensitive", Kind: aFlag, Default: "false", Doc: "Hides the value in messages. It is refused wherever it would be stored."},
				{Name: "nullable", Kind: aFlag, Default: "true", Doc: "Whether it can be null. If not, null means the default."},
			},
			blocks: map[string]shape{"validation": {
				many: true, doc: "A rule for its values.",
				attrs: []attribute{
					{Name: "condition", Kind: aFlag, Required: true, Doc: "Must be true."},
					{Name: "error_message", Kind: aText, Required: true, Doc: "Error message."},
				},
			}},
		},
		"locals":  {free: true, doc: "Named values: `local.NAME`, in any order and any number of blocks."},
		"agent":   agentShape(named),
		"session": sessionShape(named),
		"runtime": runtimeShape(),
		"secret": {
			labels: named, doc: "The source of a secret: exactly one of the four. A secret without a block comes from the environment variable with its name. Nothing is read before an apply.",
			attrs: []attribute{
				{Name: "env", Kind: aText, Doc: "A variable of agentform's own environment. No agent gets it under this name."},
				{Name: "file", Kind: aPath, Doc: "A file, which may be outside the repository. One line break at its end is dropped."},
				{Name: "command", Kind: aCommand, Doc: "A program that prints it, run in the project directory. One line break at the end is dropped."},
			},
			blocks: map[string]shape{"kubernetes": {
				forces: toReplace, doc: "A Secret in the namespace of the sessions that get it, which all run in Kubernetes. agentform never has its value.",
				attrs: []attribute{
					{Name: "name", Kind: aText, Required: true, Doc: "The Secret's name."},
					{Name: "key", Kind: aText, Required: true, Doc: "The key in it."},
				},
			}},
		},
		"notify": {
			labels: named, doc: "Where the hub (`agentform serve`) sends events.",
			attrs: []attribute{
				{Name: "on", Kind: someTexts, Values: []string{"escalated", "blocked", "failed", "blocked_api", "done", "exited", "stale", "turn_ended", "unhealthy", "branch_mismatch", "budget_warned", "budget_exceeded", "pr_detected", "verified", "verification_failed"}, Meanings: []string{
					"you are needed", "the agent asks something", "the agent reported that it failed", "the model's provider has a limit", "the agent reported that the task is done", "the agent exited or was killed without reporting an outcome", "the same, where its tmux session or container still exists", "the agent has finished a turn and rests", "the session is unhealthy", "the workspace is on another branch", "most of a budget is used", "all of a budget is used", "the agent opened a pull request", "its work is [verified](#verify)", "its work was verified, and failed",
				}, Doc: "The [events](hub.md#notifications). Required without `report`."},
				{Name: "report", Kind: aText, Doc: "A time of day in local time, such as `\"08:00\"`, at which it gets the [daily report](hub.md#the-daily-report)."},
				{Name: "command", Kind: aCommand, Doc: "A program that gets the event as JSON on its standard input."},
				{Name: "webhook", Kind: aText, Doc: "An `https://` or `http://` address that gets it as a POST instead."},
				{Name: "webhook_secret", Kind: aText, Doc: "The name of a [secret](#secret) that has this address. Use it for an address with a token."},
				{Name: "preset", Kind: aText, Values: []string{"desktop", "slack", "discord", "ntfy", "telegram"}, Meanings: []string{"shows the event on this machine's desktop", "writes to an incoming webhook of Slack", "writes to a webhook of Discord", "writes to a topic of ntfy", "writes to a chat by a bot of Telegram"}, Doc: "How the event is shown; see [presets](hub.md#presets)."},
			},
		},
		"output": {
			labels: named, doc: "A value for users and programs.",
			attrs: []attribute{
				{Name: "value", Kind: anything, Required: true, Doc: "Any expression. Only here and in `check` does `session.NAME` have attributes: `address`, `name`, `key`, `role`, `agent`, `branch`, `prompt` (its sha256), `workspace`, `labels`, `desired`."},
				{Name: "description", Kind: aText, Doc: "Description."},
				{Name: "sensitive", Kind: aFlag, Default: "false", Doc: "Allows a sensitive value, which is then shown only when requested by name."},
			},
		},
		"budget": budgetShape("For several sessions together.", attribute{Name: "sessions", Kind: someAddresses, DefaultWords: "all", Doc: "The sessions that share it: `session.worker` is all instances of the block."}),
		"price":  priceShape(),
		"check": {
			labels: named, doc: "Assertions about the manifest. A false one is a warning.",
			blocks: map[string]shape{"assert": {
				many: true, doc: "An assertion; at least one is required.",
				attrs: []attribute{
					{Name: "condition", Kind: aFlag, Required: true, Doc: "Must be true."},
					{Name: "error_message", Kind: aText, Required: true, Doc: "Error message."},
				},
			}},
		},
	}
	for name, s := range addressShapes() {
		all[name] = s
	}
	return all
}

func addressShapes() map[string]shape {
	each := attribute{Name: "for_each", Kind: anything, Doc: "A map or a set of strings: one for each, with `each.key` and `each.value`."}
	return map[string]shape{
		"import": {
			doc: "Adopts a running session that agentform did not start.",
			attrs: []attribute{
				each,
				{Name: "to", Kind: anAddress, Required: true, Doc: "The declared session."},
				{Name: "id", Kind: aText, Required: true, Doc: "The running session: `tmux:SOCKET/SESSION`, with the socket's name or absolute path, or `docker:CONTAINER`."},
			},
		},
		"moved": {
			doc: "Renames a session, which continues to run.",
			attrs: []attribute{
				each,
				{Name: "from", Kind: anAddress, Required: true, Doc: "The old address, which must not be declared any more. Without a key it is a whole block with all its instances, as `to` then must be."},
				{Name: "to", Kind: anAddress, Required: true, Doc: "The new address."},
			},
		},
		"removed": {
			doc: "What happens to a session that is no longer declared.",
			attrs: []attribute{
				each,
				{Name: "from", Kind: anAddress, Required: true, Doc: "The address; without a key, all instances of the block."},
				{Name: "destroy", Kind: aFlag, Default: "true", Doc: "false: the session continues, and its record is removed."},
			},
		},
	}
}

func settingsAttrs() []attribute {
	return []attribute{
		{Name: "required_version", Kind: aText, DefaultWords: "any", Doc: "A constraint on agentform's version, like `\">= 0.1\"`."},
		{Name: "project", Kind: aText, DefaultWords: "the directory's name", Doc: "The project's name, which prefixes the tmux sessions."},
		{Name: "data_dir", Kind: aPath, Default: `".agentform"`, Doc: "State, worktrees and transcripts. Relative to the project directory."},
		{Name: "outputs_dir", Kind: aPath, DefaultWords: "`DATA_DIR/agents`", Doc: "The parent of each session's directory."},
		{Name: "history_keep", Kind: aDuration, Default: `"30d"`, Doc: "How long events are kept."},
		{Name: "parallelism", Kind: aWhole, Default: "10", Doc: "Actions at once. From 2, ten that only ask tmux count as one, and so do five of sessions in a cluster."},
		{Name: "max_running", Kind: aWhole, DefaultWords: "min(4 × cores, memory / 400 MB)", Doc: "Agents alive at once, also those that have ended their turn. The rest are pending (queued), by priority; `plan` warns if some would wait behind agents that never end: see [finish](#finish). `start`, `restart` and `resume` of a session that is named are not held."},
		inheritAttr("", "Variables of your environment that all agents on this machine get: names, with `*` for any characters, or `true`. See [the environment](security.md#the-environment-of-an-agent)."),
		{Name: "price_file", Kind: aPath, DefaultWords: "list prices", Doc: "A JSON file with [prices of models](usage.md#prices), in place of the list prices. `price` blocks come before it."},
		{Name: "hub", Kind: aText, Default: `"manual"`, Values: []string{"manual", "auto"}, Meanings: []string{"you start it", "an apply starts it (`agentform serve --detach`) if none runs, and `destroy` leaves it running"}, Doc: "Who starts the hub."},
	}
}

func runtimeShape() shape {
	return shape{
		labels: []string{"kind", "name"},
		doc:    "Where sessions run. tmux on this machine needs no block.",
		kinds: map[string]shape{
			"docker": {
				doc: "A container for each session that uses it. See [containers](docker.md).",
				attrs: []attribute{
					{Name: "image", Kind: aText, Forces: toReplace, Required: true, Doc: "An image with a shell, git, tmux and the agent. It must exist: nothing is pulled."},
					{Name: "host", Kind: aText, Forces: toReplace, DefaultWords: "the environment's", Doc: "A docker context or a DOCKER_HOST URL. With `ssh://` or `tcp://` the engine is [on another machine](docker.md#engines-on-other-machines)."},
					{Name: "cert_path", Kind: aPath, Forces: toNothing, DefaultWords: "`DOCKER_CERT_PATH`", Doc: "A directory with `ca.pem`, `cert.pem` and `key.pem`, for a host `tcp://`."},
					{Name: "cpus", Kind: aNumber, Forces: toReplace, DefaultWords: "no limit", Doc: "Maximum number of processors."},
					{Name: "memory", Kind: aSize, Forces: toReplace, DefaultWords: "no limit", Doc: "Maximum memory, like `\"4GiB\"`."},
					{Name: "pids", Kind: aWhole, Forces: toReplace, DefaultWords: "no limit", Doc: "Maximum number of processes."},
					{Name: "network", Kind: aText, Forces: toReplace, DefaultWords: "docker's", Doc: "The network's name; `none` for none."},
					{Name: "user", Kind: aText, Forces: toReplace, DefaultWords: "yours", Doc: "The user in the container, in numbers: `UID` or `UID:GID`. The user owns the workspace."},
					{Name: "env", Kind: aTable, Forces: toRestart, Doc: "Added to the environment of every agent in it."},
					{Name: "mounts", Kind: someMounts, Forces: toReplace, Doc: "Paths of the host to mount: a list of `{ source, target, read_only }`. A source can start with `~`, a target is absolute."},
					{Name: "read_only", Kind: aFlag, Forces: toReplace, Default: "false", Doc: "Makes the container's file system read-only, except /tmp, the workspace and mounts."},
				},
			},
			"kubernetes": kubernetesShape(),
			"tmux": {
				doc: "A tmux server of your own, in which the sessions run next to yours.",
				attrs: []attribute{
					{Name: "socket", Kind: aPath, Forces: toReplace, Required: true, Doc: "The name of its socket, as for `tmux -L`, or its path."},
				},
			},
		},
	}
}
