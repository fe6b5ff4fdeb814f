package config

// kind is the kind of values that an attribute can have.
type kind string

const (
	aText         kind = "text"
	aFlag         kind = "true or false"
	aWhole        kind = "whole number"
	aNumber       kind = "number"
	aDuration     kind = "duration" // "90s", "15m", "30d"
	aSize         kind = "size"     // "512MiB", "4GiB"
	aRegex        kind = "regex"    // a regular expression, as text
	someTexts     kind = "texts"    // a list of them
	someRegexes   kind = "regexes"  // a list of them
	trueOrTexts   kind = "true or texts"
	aCommand      kind = "command"    // a program and its arguments, as a list of texts
	aTable        kind = "map"        // of texts
	aPath         kind = "path"       // of a file or directory, as text
	anAddress     kind = "session"    // session.NAME, session.NAME["KEY"], session.NAME[0]
	someAddresses kind = "sessions"   // a list of them
	anAgent       kind = "agent"      // agent.NAME, or its name as text
	aRuntime      kind = "runtime"    // runtime.KIND.NAME, or "tmux"
	someFields    kind = "attributes" // a list of a session's attributes and blocks, or all
	someMounts    kind = "mounts"     // a list of { source, target, read_only }
	aType         kind = "type"       // string, number, list(string), …
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
	name     string
	kind     kind
	def      string   // its default in HCL; "": none
	defWords string   // its default in words, if it has no literal
	values   []string // of a string, or of the strings in a list
	required bool
	forces   string   // what a change forces; "": it is not compared with the record
	parts    []string // fields that it is compared by
	doc      string   // one or two sentences
}

// shape describes a type of block.
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

// names returns the names of the attributes.
func (s shape) names() []string {
	list := make([]string, len(s.attrs))
	for i, a := range s.attrs {
		list[i] = a.name
	}
	return list
}

// attr returns the attribute with a name, or nil.
func (s *shape) attr(name string) *attribute {
	if s == nil {
		return nil
	}
	for i := range s.attrs {
		if s.attrs[i].name == name {
			return &s.attrs[i]
		}
	}
	return nil
}

// choices returns the words that an attribute can be; nil: any value.
func (s *shape) choices(name string) []string {
	if a := s.attr(name); a != nil {
		return a.values
	}
	return nil
}

// language returns the top-level blocks by type.
func language() map[string]shape {
	named := []string{"name"}
	all := map[string]shape{
		"agentform": {doc: "Settings of the project; at most once.", attrs: settingsAttrs()},
		"variable": {
			labels: named, doc: "A value given from [outside](#files).",
			attrs: []attribute{
				{name: "type", kind: aType, defWords: "any", doc: "The type of its values: `string`, `number`, `bool`, `list(string)`, `map(string)`, `object({ … })`."},
				{name: "default", kind: anything, doc: "The default. Without one, a value is required."},
				{name: "description", kind: aText, doc: "Description."},
				{name: "sensitive", kind: aFlag, def: "false", doc: "Hides the value in messages. It is refused wherever it would be stored."},
				{name: "nullable", kind: aFlag, def: "true", doc: "Whether it can be null. If not, null means the default."},
			},
			blocks: map[string]shape{"validation": {
				many: true, doc: "A rule for its values.",
				attrs: []attribute{
					{name: "condition", kind: aFlag, required: true, doc: "Must be true."},
					{name: "error_message", kind: aText, required: true, doc: "Error message."},
				},
			}},
		},
		"locals":  {free: true, doc: "Named values: `local.NAME`, in any order and any number of blocks."},
		"agent":   agentShape(named),
		"session": sessionShape(named),
		"runtime": runtimeShape(),
		"secret": {
			labels: named, doc: "The source of a secret: exactly one of the three. A secret without a block comes from the environment variable with its name. Nothing is read before an apply.",
			attrs: []attribute{
				{name: "env", kind: aText, doc: "A variable of agentform's own environment. No agent gets it under this name."},
				{name: "file", kind: aPath, doc: "A file, which may be outside the repository. One line break at its end is dropped."},
				{name: "command", kind: aCommand, doc: "A program that prints it, run in the project directory. One line break at the end is dropped."},
			},
		},
		"notify": {
			labels: named, doc: "Where the hub (`agentform serve`) sends events.",
			attrs: []attribute{
				{name: "on", kind: someTexts, required: true, values: []string{"escalated", "blocked", "failed", "blocked_api", "done", "exited", "stale", "turn_ended", "unhealthy", "branch_mismatch", "pr_detected"}, doc: "The events."},
				{name: "command", kind: aCommand, doc: "A program that gets the event as JSON on its standard input."},
				{name: "webhook", kind: aText, doc: "An `https://` or `http://` address that gets it as a POST instead."},
			},
		},
		"output": {
			labels: named, doc: "A value for people and programs.",
			attrs: []attribute{
				{name: "value", kind: anything, required: true, doc: "Any expression. Only here and in `check` does `session.NAME` have attributes: `address`, `name`, `key`, `role`, `agent`, `branch`, `prompt` (its sha256), `workspace`, `labels`, `desired`."},
				{name: "description", kind: aText, doc: "Description."},
				{name: "sensitive", kind: aFlag, def: "false", doc: "Allows a sensitive value, which is then shown only when requested by name."},
			},
		},
		"check": {
			labels: named, doc: "Assertions about the manifest. A false one is a warning.",
			blocks: map[string]shape{"assert": {
				many: true, doc: "An assertion; at least one is required.",
				attrs: []attribute{
					{name: "condition", kind: aFlag, required: true, doc: "Must be true."},
					{name: "error_message", kind: aText, required: true, doc: "Error message."},
				},
			}},
		},
	}
	for name, s := range addressShapes() {
		all[name] = s
	}
	return all
}

// addressShapes returns the blocks about recorded addresses.
func addressShapes() map[string]shape {
	each := attribute{name: "for_each", kind: anything, doc: "A map or a set of strings: one for each, with `each.key` and `each.value`."}
	return map[string]shape{
		"import": {
			doc: "Takes over a live session that agentform did not start.",
			attrs: []attribute{
				each,
				{name: "to", kind: anAddress, required: true, doc: "The declared session."},
				{name: "id", kind: aText, required: true, doc: "The live session: `tmux:SOCKET/SESSION`, with the socket's name or absolute path, or `docker:CONTAINER`."},
			},
		},
		"moved": {
			doc: "Renames a session, which continues to run.",
			attrs: []attribute{
				each,
				{name: "from", kind: anAddress, required: true, doc: "The old address, which must not be declared any more. Without a key it is a whole block with all its instances, as `to` then must be."},
				{name: "to", kind: anAddress, required: true, doc: "The new address."},
			},
		},
		"removed": {
			doc: "What happens to a session that is no longer declared.",
			attrs: []attribute{
				each,
				{name: "from", kind: anAddress, required: true, doc: "The address; without a key, all instances of the block."},
				{name: "destroy", kind: aFlag, def: "true", doc: "false: the session continues, and its record is removed."},
			},
		},
	}
}

func settingsAttrs() []attribute {
	return []attribute{
		{name: "required_version", kind: aText, defWords: "any", doc: "A constraint on agentform's version, like `\">= 0.1\"`."},
		{name: "project", kind: aText, defWords: "the directory's name", doc: "The project's name, which prefixes the tmux sessions."},
		{name: "data_dir", kind: aPath, def: `".agentform"`, doc: "State, worktrees and transcripts. Relative to the project directory."},
		{name: "outputs_dir", kind: aPath, defWords: "`DATA_DIR/agents`", doc: "The parent of each session's directory."},
		{name: "history_keep", kind: aDuration, def: `"30d"`, doc: "How long events are kept."},
		{name: "parallelism", kind: aWhole, def: "10", doc: "Actions at once. From 2, ten that only ask tmux count as one."},
		{name: "max_running", kind: aWhole, defWords: "min(4 × cores, memory / 400 MB)", doc: "Agents alive at once. The rest are pending (queued), by priority."},
		inheritAttr("", "Variables of your environment that all agents on this machine get: names, with `*` for any characters, or `true`. See [the environment](security.md#the-environment-of-an-agent)."),
		{name: "hub", kind: aText, def: `"manual"`, values: []string{"manual", "auto"}, doc: "`auto`: an apply starts the hub (`agentform serve --detach`) if none runs; `destroy` leaves it running. `manual`: you start it."},
	}
}

// runtimeShape returns the runtime block.
func runtimeShape() shape {
	return shape{
		labels: []string{"kind", "name"},
		doc:    "Where sessions run. tmux on this machine needs no block.",
		kinds: map[string]shape{
			"docker": {
				doc: "A container for each session that uses it. See [containers](docker.md).",
				attrs: []attribute{
					{name: "image", kind: aText, forces: toReplace, required: true, doc: "An image with a shell, git, tmux and the agent. It must exist: nothing is pulled."},
					{name: "host", kind: aText, forces: toReplace, defWords: "the environment's", doc: "A docker context or a DOCKER_HOST URL."},
					{name: "cpus", kind: aNumber, forces: toReplace, defWords: "no limit", doc: "Maximum number of processors."},
					{name: "memory", kind: aSize, forces: toReplace, defWords: "no limit", doc: "Maximum memory, like `\"4GiB\"`."},
					{name: "pids", kind: aWhole, forces: toReplace, defWords: "no limit", doc: "Maximum number of processes."},
					{name: "network", kind: aText, forces: toReplace, defWords: "docker's", doc: "The network's name; `none` for none."},
					{name: "user", kind: aText, forces: toReplace, defWords: "yours", doc: "The user in the container, in numbers: `UID` or `UID:GID`. The user owns the workspace."},
					{name: "env", kind: aTable, forces: toRestart, doc: "Added to the environment of every agent in it."},
					{name: "mounts", kind: someMounts, forces: toReplace, doc: "Paths of the host to mount: a list of `{ source, target, read_only }`. A source may begin with `~`, a target is absolute."},
					{name: "read_only", kind: aFlag, forces: toReplace, def: "false", doc: "Makes the container's file system read-only, except /tmp, the workspace and mounts."},
				},
			},
			"tmux": {
				doc: "A tmux server of your own, in which the sessions run beside yours.",
				attrs: []attribute{
					{name: "socket", kind: aPath, forces: toReplace, required: true, doc: "The name of its socket, as for `tmux -L`, or its path."},
				},
			},
		},
	}
}
