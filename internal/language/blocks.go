package language

import (
	"slices"
	"sync"
)

// Blocks returns the blocks of manifests.
var Blocks = sync.OnceValue(func() []Block {
	return slices.Concat([]Block{
		{
			Type: "agentform", Doc: "Settings of the project; at most once.", Attributes: settings(),
			Blocks: []Block{*backend(), encryption(), telemetry()},
		},
		{
			Type: "variable", Repeatable: true, Labels: []string{"name"}, Doc: "A value given from [outside](#files).",
			Attributes: []Attribute{
				{Name: "type", Kind: Type, DefaultWords: "any", Example: "string", Doc: "The type of its values: `string`, `number`, `bool`, `list(string)`, `map(string)`, `object({ … })`."},
				{Name: "default", Kind: Anything, Example: `"SHOP-1"`, Doc: "The default. Without one, a value is required."},
				{Name: "description", Kind: Text, Example: `"The ticket to work on."`, Doc: "Description."},
				{Name: "sensitive", Kind: Flag, Default: "false", Doc: "Hides the value in messages. It is refused wherever it would be stored."},
				{Name: "nullable", Kind: Flag, Default: "true", Doc: "Whether it can be null. If not, null means the default."},
			},
			Blocks: []Block{{
				Type: "validation", Repeatable: true, Doc: "A rule for its values.",
				Attributes: []Attribute{
					{Name: "condition", Kind: Flag, Required: true, Example: `startswith(var.ticket, "SHOP-")`, Doc: "Must be true."},
					{Name: "error_message", Kind: Text, Required: true, Example: `"The ticket must be one of SHOP."`, Doc: "Error message."},
				},
			}},
		},
		{Type: "locals", Repeatable: true, Free: true, Doc: "Named values: `local.NAME`, in any order and any number of blocks."},
		*AgentBlock(),
		*SessionBlock(),
		*RuntimeBlock(),
		secret(),
		{
			Type: "notify", Repeatable: true, Labels: []string{"name"}, Doc: "Where the hub (`agentform serve`) sends events.",
			Attributes: []Attribute{
				{Name: "on", Kind: Texts, Values: []string{"escalated", "blocked", "failed", "blocked_api", "done", "exited", "stale", "turn_ended", "unhealthy", "branch_mismatch", "budget_warned", "budget_exceeded", "pr_detected", "verified", "verification_failed"}, Meanings: []string{
					"you are needed", "the agent asks something", "the agent reported that it failed", "the model's provider has a limit", "the agent reported that the task is done", "the agent exited or was killed without reporting an outcome", "the same, where its tmux session or container still exists", "the agent has finished a turn and rests", "the session is unhealthy", "the workspace is on another branch", "most of a budget is used", "all of a budget is used", "the agent opened a pull request", "its work is [verified](#verify)", "its work was verified, and failed",
				}, Example: `["blocked", "done"]`, Doc: "The [events](hub.md#notifications). Required without `report`."},
				{Name: "report", Kind: Text, Example: `"08:00"`, Doc: "A time of day in local time, such as `\"08:00\"`, at which it gets the [daily report](hub.md#the-daily-report)."},
				{Name: "command", Kind: Command, Example: `["notify-send", "agentform"]`, Doc: "A program that gets the event as JSON on its standard input."},
				{Name: "webhook", Kind: Text, Example: `"https://hooks.example.com/shop"`, Doc: "An `https://` or `http://` address that gets it as a POST instead."},
				{Name: "webhook_secret", Kind: Text, Example: `"HOOK_URL"`, Doc: "The name of a [secret](#secret) that has this address. Use it for an address with a token."},
				{Name: "preset", Kind: Text, Values: []string{"desktop", "slack", "discord", "ntfy", "telegram"}, Meanings: []string{"shows the event on this machine's desktop", "writes to an incoming webhook of Slack", "writes to a webhook of Discord", "writes to a topic of ntfy", "writes to a chat by a bot of Telegram"}, Example: `"desktop"`, Doc: "How the event is shown; see [presets](hub.md#presets)."},
			},
		},
		{
			Type: "output", Repeatable: true, Labels: []string{"name"}, Doc: "A value for users and programs.",
			Attributes: []Attribute{
				{Name: "value", Kind: Anything, Required: true, Example: "session.api.branch", Doc: "Any expression. Only here and in `check` does `session.NAME` have attributes: `address`, `name`, `key`, `role`, `agent`, `branch`, `prompt` (its sha256), `workspace`, `labels`, `desired`."},
				{Name: "description", Kind: Text, Example: `"The branch of the API."`, Doc: "Description."},
				{Name: "sensitive", Kind: Flag, Default: "false", Doc: "Allows a sensitive value, which is then shown only when requested by name."},
			},
		},
		budget("For several sessions together.", "20000000", "25", `"8h"`, Attribute{Name: "sessions", Kind: Addresses, DefaultWords: "all", Example: "[session.api]", Doc: "The sessions that share it: `session.worker` is all instances of the block."}),
		price(),
		{
			Type: "check", Repeatable: true, Labels: []string{"name"}, Doc: "Assertions about the manifest. A false one is a warning.",
			Blocks: []Block{{
				Type: "assert", Repeatable: true, Doc: "An assertion; at least one is required.",
				Attributes: []Attribute{
					{Name: "condition", Kind: Flag, Required: true, Example: `session.api.branch != "main"`, Doc: "Must be true."},
					{Name: "error_message", Kind: Text, Required: true, Example: `"The API must not be on main."`, Doc: "Error message."},
				},
			}},
		},
	}, addresses())
})

// addresses returns the blocks about the addresses of sessions.
func addresses() []Block {
	each := Attribute{Name: "for_each", Kind: Anything, Example: `toset(["web", "docs"])`, Doc: "A map or a set of strings: one for each, with `each.key` and `each.value`."}
	pairs := each
	pairs.Example = `{ web = "left", docs = "right" }`
	return []Block{
		{
			Type: "import", Repeatable: true,
			Doc: "Adopts a running session that agentform did not start.",
			Attributes: []Attribute{
				pairs,
				{Name: "to", Kind: Address, Required: true, Example: "session.api", Doc: "The declared session."},
				{Name: "id", Kind: Text, Required: true, Example: `"tmux:default/work"`, Doc: "The running session: `tmux:SOCKET/SESSION`, with the socket's name or absolute path, or `docker:CONTAINER`."},
			},
		},
		{
			Type: "moved", Repeatable: true,
			Doc: "Renames a session, which continues to run.",
			Attributes: []Attribute{
				each,
				{Name: "from", Kind: Address, Required: true, Example: "session.old", Doc: "The old address, which must not be declared any more. Without a key it is a whole block with all its instances, as `to` then must be."},
				{Name: "to", Kind: Address, Required: true, Example: "session.api", Doc: "The new address."},
			},
		},
		{
			Type: "removed", Repeatable: true,
			Doc: "What happens to a session that is no longer declared.",
			Attributes: []Attribute{
				each,
				{Name: "from", Kind: Address, Required: true, Example: "session.old", Doc: "The address; without a key, all instances of the block."},
				{Name: "destroy", Kind: Flag, Default: "true", Example: "false", Doc: "false: the session continues, and its record is removed."},
			},
		},
	}
}

func settings() []Attribute {
	return []Attribute{
		{Name: "required_version", Kind: Text, DefaultWords: "any", Example: `">= 0.1"`, Doc: "A constraint on agentform's version, like `\">= 0.1\"`."},
		{Name: "project", Kind: Text, DefaultWords: "the directory's name", Example: `"shop"`, Doc: "The project's name, which prefixes the tmux sessions."},
		{Name: "data_dir", Kind: Path, Default: `".agentform"`, Doc: "State, worktrees and transcripts. Relative to the project directory."},
		{Name: "outputs_dir", Kind: Path, DefaultWords: "`DATA_DIR/agents`", Example: `"out"`, Doc: "The parent of each session's directory."},
		{Name: "history_keep", Kind: Duration, Default: `"30d"`, Doc: "How long events are kept."},
		{Name: "parallelism", Kind: Whole, Default: "10", Doc: "Actions at once. From 2, ten that only ask tmux count as one, and so do five of sessions in a cluster."},
		{Name: "max_running", Kind: Whole, DefaultWords: "min(4 × cores, memory / 400 MB)", Example: "8", Doc: "Agents alive at once, also those that have ended their turn. The rest are pending (queued), by priority; `plan` warns if some would wait behind agents that never end: see [finish](#finish). `start`, `restart` and `resume` of a session that is named are not held."},
		{Name: "inherit_env", Kind: TrueOrTexts, DefaultWords: "none", Example: `["SSH_AUTH_SOCK"]`, Doc: "Variables of your environment that all agents on this machine get: names, with `*` for any characters, or `true`. See [the environment](security.md#the-environment-of-an-agent)."},
		{Name: "price_file", Kind: Path, DefaultWords: "list prices", Example: `"prices.json"`, Doc: "A JSON file with [prices of models](usage.md#prices), in place of the list prices. `price` blocks come before it."},
		{Name: "hub", Kind: Text, Default: `"manual"`, Values: []string{"manual", "auto"}, Meanings: []string{"you start it", "an apply starts it (`agentform serve --detach`) if none runs, and `destroy` leaves it running"}, Doc: "Who starts the hub."},
	}
}
