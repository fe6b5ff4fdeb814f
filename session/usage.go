package session

import "time"

// Tokens are numbers of a model's tokens. Each token is in one field, except for those of
// Reasoning, which are in Output too.
type Tokens struct {
	Input      int64 `json:"input"`       // neither read from a cache nor written to one
	CacheRead  int64 `json:"cache_read"`  // read from a cache
	CacheWrite int64 `json:"cache_write"` // written to a cache: for 5 minutes, if the model tells
	// CacheWrite1h are written to a cache for an hour, which Anthropic prices apart.
	CacheWrite1h int64 `json:"cache_write_1h"`
	Output       int64 `json:"output"`
	Reasoning    int64 `json:"reasoning"` // the part of Output that is reasoning
}

// Plus returns the sum of both.
func (t Tokens) Plus(u Tokens) Tokens {
	t.Input += u.Input
	t.CacheRead += u.CacheRead
	t.CacheWrite += u.CacheWrite
	t.CacheWrite1h += u.CacheWrite1h
	t.Output += u.Output
	t.Reasoning += u.Reasoning
	return t
}

// Minus returns the difference.
func (t Tokens) Minus(u Tokens) Tokens {
	return t.Plus(Tokens{-u.Input, -u.CacheRead, -u.CacheWrite, -u.CacheWrite1h, -u.Output, -u.Reasoning})
}

// Prompt returns how many tokens the model read.
func (t Tokens) Prompt() int64 { return t.Input + t.CacheRead + t.CacheWrite + t.CacheWrite1h }

// Total returns the number of all tokens.
func (t Tokens) Total() int64 { return t.Prompt() + t.Output }

// Usage is what one answer of a model took.
type Usage struct {
	At     time.Time
	Model  string // as the agent names it
	Key    string // names the answer in all files of the session; empty: there is no name
	Tokens Tokens
	Prompt int64 // how many tokens the model read for the whole answer
	// More means that Tokens are an addition to an earlier line about the same answer, which was
	// incomplete then.
	More bool
}

// UsageContext is the state of reading usage after the earlier lines of a session file. The zero
// value is the state at a file's beginning.
type UsageContext struct {
	Model string `json:"model,omitempty"`
	// Total is the conversation's usage according to the file. Only some agents write one.
	Total Tokens `json:"total,omitzero"`
	// Key and Last are the last answer, to which later lines may add.
	Key  string `json:"key,omitempty"`
	Last Tokens `json:"last,omitzero"`
}

// UsageReader is an Agent whose session files have token counts.
type UsageReader interface {
	// UsageFiles returns the patterns of further files with usage of the conversation in the
	// session file at path: those of sub-agents.
	UsageFiles(path, conversation string, now time.Time) []string
	// UsageOwner returns the conversation that a file of UsageFiles belongs to, from its first
	// line. Empty: the path shows it.
	UsageOwner(head []byte) string
	// Usage returns the usage of answers in a line of a session file, and updates the context. It
	// omits answers that counted reports as counted, except for an addition by a later line of the
	// same file to the last one.
	Usage(line []byte, c *UsageContext, counted func(key string) bool) []Usage
}
