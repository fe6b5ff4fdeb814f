package language

func budget(of string, more ...Attribute) Block {
	return Block{
		Type: "budget", Labels: []string{"name"}, Repeatable: true,
		Doc: "How much sessions may use before the hub holds them; see [budgets](budgets.md). " + of,
		Attributes: append(more,
			Attribute{Name: "tokens", Kind: Whole, DefaultWords: "no limit", Doc: "Tokens, those of caches included."},
			Attribute{Name: "cost", Kind: Number, DefaultWords: "no limit", Doc: "List price in USD."},
			Attribute{Name: "time", Kind: Duration, DefaultWords: "no limit", Doc: "Time of work, without waiting."},
			Attribute{Name: "per", Kind: Text, Default: `"day"`, Values: []string{"run", "day", "week", "total"}, Meanings: []string{"a run of the agent", "a day", "a week from Monday", "all of the session's life"}, Doc: "What it counts for."},
			Attribute{Name: "zone", Kind: Text, DefaultWords: "the hub's", Doc: "The time zone in which days and weeks begin, like `\"Europe/Berlin\"`."},
			Attribute{Name: "warn_at", Kind: Number, Default: "0.8", Doc: "The share of a limit that is reported. 1: none."},
			Attribute{Name: "on_exceeded", Kind: Text, Default: `"pause"`, Values: []string{"notify", "pause", "stop"}, Meanings: []string{"only reports it", "suspends the agents at once", "stops them after their turn"}, Doc: "What happens when it is used up."},
		),
	}
}

// rates returns the attributes of price and long blocks.
func rates(more ...Attribute) []Attribute {
	return append([]Attribute{
		{Name: "input", Kind: Number, Required: true, Doc: "USD per million tokens that the model reads, without those of a cache."},
		{Name: "output", Kind: Number, Required: true, Doc: "USD per million tokens that it writes, reasoning included."},
		{Name: "cache_read", Kind: Number, DefaultWords: "that of `input`", Doc: "USD per million tokens read from a cache."},
		{Name: "cache_write", Kind: Number, DefaultWords: "that of `input`", Doc: "USD per million tokens written to a cache."},
		{Name: "cache_write_1h", Kind: Number, DefaultWords: "that of `cache_write`", Doc: "The same of a cache that lasts an hour."},
	}, more...)
}

func price() Block {
	return Block{
		Type: "price", Labels: []string{"model"}, Repeatable: true, Attributes: rates(),
		Doc: "What a model costs, in place of its [list price](usage.md#prices). The label is the model's name as `agentform usage --by model` shows it; without its date it means the model of every date.",
		Blocks: []Block{{Type: "long",
			Repeatable: true,
			Doc:        "The prices of an answer for which the model read more tokens than `above`.",
			Attributes: rates(Attribute{Name: "above", Kind: Whole, Required: true, Doc: "Tokens."}),
		}},
	}
}
