package config

// The kinds of values that an attribute can take.
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
	aPath         kind = "path"       // of a file or folder, as text
	anAddress     kind = "session"    // session.NAME, session.NAME["KEY"], session.NAME[0]
	someAddresses kind = "sessions"   // a list of them
	anAgent       kind = "agent"      // agent.NAME, or its name as text
	aRuntime      kind = "runtime"    // runtime.KIND.NAME, or "tmux"
	someFields    kind = "attributes" // a list of a session's attributes and blocks, or all
	someMounts    kind = "mounts"     // a list of { source, target, read_only }
	aType         kind = "type"       // string, number, list(string), …
	anything      kind = "any"
)

// The reaches of a change: what plan makes of it.
const (
	toNothing = "none"    // it is updated in place
	toRestart = "restart" // the agent is started again
	toReplace = "replace" // the session is made anew
)

// attribute is what is known of one attribute: how it is decoded, told to
// editors and documented.
type attribute struct {
	name     string
	kind     kind
	def      string   // its default as it would be written; "": none
	defWords string   // its default in words, where it is no value that could be written
	values   []string // of a text, or of the texts in a list: what it can be
	required bool
	forces   string   // how far a change reaches; "": it is not compared with what is on record
	parts    []string // what it is compared by, where that is more than itself
	doc      string   // one sentence or two
}

// shape is what may stand in a block.
type shape struct {
	labels []string // what each label is
	attrs  []attribute
	blocks map[string]shape
	kinds  map[string]shape // by the first label: what may stand in it then
	many   bool             // the block may stand in its parent more than once
	free   bool             // any attribute: locals
	forces string           // it is compared with what is on record as a whole
	doc    string
}

// names lists the attributes.
func (s shape) names() []string {
	list := make([]string, len(s.attrs))
	for i, a := range s.attrs {
		list[i] = a.name
	}
	return list
}

// attr is the attribute of that name, or nil.
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

// choices are the words that an attribute can take; nil: any.
func (s *shape) choices(name string) []string {
	if a := s.attr(name); a != nil {
		return a.values
	}
	return nil
}

// language is every top-level block.
func language() map[string]shape {
	named := []string{"name"}
	all := map[string]shape{
		"agentform": {doc: "Settings of the project; at most once.", attrs: settingsAttrs()},
		"variable": {
			labels: named, doc: "A value that is given from outside: [where from](#files).",
			attrs: []attribute{
				{name: "type", kind: aType, defWords: "any", doc: "What its values must be: `string`, `number`, `bool`, `list(string)`, `map(string)`, `object({ … })`."},
				{name: "default", kind: anything, doc: "Its value when none is given. Without a default, one must be given."},
				{name: "description", kind: aText, doc: "What it is for."},
				{name: "sensitive", kind: aFlag, def: "false", doc: "Keeps the value out of every message; where it would be stored it is refused."},
				{name: "nullable", kind: aFlag, def: "true", doc: "Whether it can be null. If not, null stands for the default."},
			},
			blocks: map[string]shape{"validation": {
				many: true, doc: "A rule for its values.",
				attrs: []attribute{
					{name: "condition", kind: aFlag, required: true, doc: "Must come out true."},
					{name: "error_message", kind: aText, required: true, doc: "What is told otherwise."},
				},
			}},
		},
		"locals":  {free: true, doc: "Values under names: `local.NAME`. In any order, in as many blocks as wanted."},
		"agent":   agentShape(named),
		"session": sessionShape(named),
		"runtime": runtimeShape(),
		"secret": {
			labels: named, doc: "Where the value of a secret comes from: exactly one of the three. A secret without a block comes from the environment variable of its own name. Nothing is read before an apply.",
			attrs: []attribute{
				{name: "env", kind: aText, doc: "An environment variable of agentform's own. No agent gets it under this name."},
				{name: "file", kind: aPath, doc: "A file, which may lie outside of the repository; one line break at its end is left out."},
				{name: "command", kind: aCommand, doc: "A program that prints it, run in the project folder; one line break at the end is left out."},
			},
		},
		"notify": {
			labels: named, doc: "Where the hub (`agentform serve`) sends chosen events.",
			attrs: []attribute{
				{name: "on", kind: someTexts, required: true, values: []string{"escalated", "blocked", "failed", "blocked_api", "done", "exited", "stale", "turn_ended", "unhealthy", "branch_mismatch", "pr_detected"}, doc: "Which events."},
				{name: "command", kind: aCommand, doc: "A program that gets the event as JSON on its standard input."},
				{name: "webhook", kind: aText, doc: "An `https://` or `http://` address that gets it as a POST instead."},
			},
		},
		"output": {
			labels: named, doc: "A value for people and programs.",
			attrs: []attribute{
				{name: "value", kind: anything, required: true, doc: "Any expression. Only here and in `check` does `session.NAME` have attributes: `address`, `name`, `key`, `role`, `agent`, `branch`, `prompt` (its sha256), `workspace`, `labels`, `desired`."},
				{name: "description", kind: aText, doc: "What it is for."},
				{name: "sensitive", kind: aFlag, def: "false", doc: "Allows a sensitive value, which is then shown only when asked for by name."},
			},
		},
		"check": {
			labels: named, doc: "Assertions about the manifest. What does not hold is a warning.",
			blocks: map[string]shape{"assert": {
				many: true, doc: "One assertion; at least one is needed.",
				attrs: []attribute{
					{name: "condition", kind: aFlag, required: true, doc: "Must come out true."},
					{name: "error_message", kind: aText, required: true, doc: "What is told otherwise."},
				},
			}},
		},
	}
	for name, s := range addressShapes() {
		all[name] = s
	}
	return all
}

// addressShapes are the blocks about what is on record under an address.
func addressShapes() map[string]shape {
	each := attribute{name: "for_each", kind: anything, doc: "A map or a set of texts: one for each, with `each.key` and `each.value`."}
	return map[string]shape{
		"import": {
			doc: "A live session that agentform did not start is taken over, as it runs.",
			attrs: []attribute{
				each,
				{name: "to", kind: anAddress, required: true, doc: "The session that is declared for it."},
				{name: "id", kind: aText, required: true, doc: "What is taken over: `tmux:SOCKET/SESSION`, with the socket's name or absolute path, or `docker:CONTAINER`."},
			},
		},
		"moved": {
			doc: "What is on record under one address is the session that is now declared under another, and runs on.",
			attrs: []attribute{
				each,
				{name: "from", kind: anAddress, required: true, doc: "The address until now. It may be declared no longer. Without a key it is a whole block, with all its instances, if `to` is one too."},
				{name: "to", kind: anAddress, required: true, doc: "The address from now on."},
			},
		},
		"removed": {
			doc: "What becomes of a session that is declared no longer.",
			attrs: []attribute{
				each,
				{name: "from", kind: anAddress, required: true, doc: "Its address; without a key, all instances of that block."},
				{name: "destroy", kind: aFlag, def: "true", doc: "false: it is left alive and taken off the record."},
			},
		},
	}
}

func settingsAttrs() []attribute {
	return []attribute{
		{name: "required_version", kind: aText, defWords: "any", doc: "A constraint on agentform's version, like `\">= 0.1\"`."},
		{name: "project", kind: aText, defWords: "the folder's name", doc: "Names the project; prefixes the tmux sessions."},
		{name: "data_dir", kind: aPath, def: `".agentform"`, doc: "State, worktrees, transcripts. Relative to the project folder."},
		{name: "outputs_dir", kind: aPath, defWords: "`DATA_DIR/agents`", doc: "Where each session's folder lies."},
		{name: "history_keep", kind: aDuration, def: `"30d"`, doc: "How long events are kept."},
		{name: "parallelism", kind: aWhole, def: "10", doc: "Actions at once. From 2 on, ten that only ask tmux count as one."},
		{name: "max_running", kind: aWhole, defWords: "min(4 × cores, memory / 400 MB)", doc: "Agents alive at once; the rest waits as pending (queued), by priority."},
		inheritAttr("", "Which variables of your environment all agents on this machine get also: names, with `*` for any characters, or `true`. See [the environment](security.md#the-environment-of-an-agent)."),
		{name: "hub", kind: aText, def: `"manual"`, values: []string{"manual", "auto"}, doc: "`auto`: an apply starts the hub (`agentform serve --detach`) if none runs; `destroy` leaves it running. `manual`: you start it."},
	}
}

// runtimeShape is the runtime block, whose first label says what may stand in it.
func runtimeShape() shape {
	return shape{
		labels: []string{"kind", "name"},
		doc:    "Where sessions run. tmux on this machine needs no block.",
		kinds: map[string]shape{
			"docker": {
				doc: "Containers, one for each session that names it. See [containers](docker.md).",
				attrs: []attribute{
					{name: "image", kind: aText, forces: toReplace, required: true, doc: "Needs a shell, git, tmux and the agent. It has to be there: nothing is pulled."},
					{name: "host", kind: aText, forces: toReplace, defWords: "the environment's", doc: "A docker context or a DOCKER_HOST URL."},
					{name: "cpus", kind: aNumber, forces: toReplace, defWords: "no limit", doc: "How many processors it may use."},
					{name: "memory", kind: aSize, forces: toReplace, defWords: "no limit", doc: "How much memory it may use, like `\"4GiB\"`."},
					{name: "pids", kind: aWhole, forces: toReplace, defWords: "no limit", doc: "How many processes it may have."},
					{name: "network", kind: aText, forces: toReplace, defWords: "docker's", doc: "The network's name; `none` for none."},
					{name: "user", kind: aText, forces: toReplace, defWords: "yours", doc: "Who the agent is in there, in numbers: `UID` or `UID:GID`. The workspace belongs to it."},
					{name: "env", kind: aTable, forces: toRestart, doc: "Added to the environment of every agent in it."},
					{name: "mounts", kind: someMounts, forces: toReplace, doc: "Paths of the host that are seen inside: a list of `{ source, target, read_only }`. A source may begin with `~`, a target is absolute."},
					{name: "read_only", kind: aFlag, forces: toReplace, def: "false", doc: "The container's own files cannot be changed: only /tmp, the workspace and what is mounted."},
				},
			},
			"tmux": {
				doc: "A tmux server of your own: the sessions live in it, beside yours.",
				attrs: []attribute{
					{name: "socket", kind: aPath, forces: toReplace, required: true, doc: "The name of its socket, as for `tmux -L`, or its path."},
				},
			},
		},
	}
}
