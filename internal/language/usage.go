package language

// budget returns the budget block with examples of its limits.
func budget(of, tokens, cost, time string, more ...Attribute) Block {
	return Block{
		Type: "budget", Labels: []string{"name"}, Repeatable: true,
		Doc: "How much sessions may use before the hub holds them; see [budgets](budgets.md). " + of,
		Attributes: append(more,
			Attribute{Name: "tokens", Kind: Whole, DefaultWords: "no limit", Example: tokens, Doc: "Tokens, those of caches included."},
			Attribute{Name: "cost", Kind: Number, DefaultWords: "no limit", Example: cost, Doc: "List price in USD."},
			Attribute{Name: "time", Kind: Duration, DefaultWords: "no limit", Example: time, Doc: "Time of work, without waiting."},
			Attribute{Name: "per", Kind: Text, Default: `"day"`, Values: []string{"run", "day", "week", "total"}, Meanings: []string{"a run of the agent", "a day", "a week from Monday", "all of the session's life"}, Doc: "What it counts for."},
			Attribute{Name: "zone", Kind: Text, DefaultWords: "the hub's", Example: `"Europe/Berlin"`, Doc: "The time zone in which days and weeks begin, like `\"Europe/Berlin\"`."},
			Attribute{Name: "warn_at", Kind: Number, Default: "0.8", Doc: "The share of a limit that is reported. 1: none."},
			Attribute{Name: "on_exceeded", Kind: Text, Default: `"pause"`, Values: []string{"notify", "pause", "stop"}, Meanings: []string{"only reports it", "suspends the agents at once", "stops them after their turn"}, Doc: "What happens when it is used up."},
		),
	}
}

// rates returns the attributes of price and long blocks, with an example of each.
func rates(examples [5]string, more ...Attribute) []Attribute {
	return append([]Attribute{
		{Name: "input", Kind: Number, Required: true, Example: examples[0], Doc: "USD per million tokens that the model reads, without those of a cache."},
		{Name: "output", Kind: Number, Required: true, Example: examples[1], Doc: "USD per million tokens that it writes, reasoning included."},
		{Name: "cache_read", Kind: Number, DefaultWords: "that of `input`", Example: examples[2], Doc: "USD per million tokens read from a cache."},
		{Name: "cache_write", Kind: Number, DefaultWords: "that of `input`", Example: examples[3], Doc: "USD per million tokens written to a cache."},
		{Name: "cache_write_1h", Kind: Number, DefaultWords: "that of `cache_write`", Example: examples[4], Doc: "The same of a cache that lasts an hour."},
	}, more...)
}

func price() Block {
	return Block{
		Type: "price", Labels: []string{"model"}, Repeatable: true, Attributes: rates([5]string{"5", "25", "0.5", "6.25", "10"}),
		Doc: "What a model costs, in place of its [list price](usage.md#prices). The label is the model's name as `agentform usage --by model` shows it; without its date it means the model of every date.",
		Blocks: []Block{{Type: "long",
			Repeatable: true,
			Doc:        "The prices of an answer for which the model read more tokens than `above`.",
			Attributes: rates([5]string{"6", "22.5", "0.6", "7.5", "12"}, Attribute{Name: "above", Kind: Whole, Required: true, Example: "200000", Doc: "Tokens."}),
		}},
	}
}
