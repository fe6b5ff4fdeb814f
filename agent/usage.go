package agent

import (
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// usageReader is what an agent's files say about usage; its fields are the methods of
// session.UsageReader.
type usageReader struct {
	files func(path, conversation string, now time.Time) []string // nil: none
	owner func(head []byte) string                                // nil: the paths say it
	read  func(line []byte, c *session.UsageContext, counted func(key string) bool) []session.Usage
	// totals says that transcript reads what the conversation took in all, which the session
	// file says, also of lines that are missing. Without it the answers are added up.
	totals bool
}

// UsageFiles implements session.UsageReader.
func (p *program) UsageFiles(path, conversation string, now time.Time) []string {
	if p.usage.files == nil {
		return nil
	}
	return p.usage.files(path, conversation, now)
}

// UsageOwner implements session.UsageReader.
func (p *program) UsageOwner(head []byte) string {
	if p.usage.owner == nil {
		return ""
	}
	return p.usage.owner(head)
}

// Usage implements session.UsageReader.
func (p *program) Usage(line []byte, c *session.UsageContext, counted func(key string) bool) []session.Usage {
	if p.usage.read == nil {
		return nil
	}
	return p.usage.read(line, c, counted)
}

// tokenNames are the names of the members that count tokens in an agent's session files; empty:
// it has none.
type tokenNames struct {
	input, cacheRead, cacheWrite, output, reasoning string
	cacheWrite1h                                    string // of what cacheWrite counts
	cachesInInput                                   bool   // the input contains what is read from a cache or written to one
	thoughtsApart                                   bool   // the output does not contain the reasoning
}

// take takes the value of a member, if that counts tokens.
func (n tokenNames) take(key []byte, s *scanner, t *session.Tokens) {
	switch string(key) {
	case n.input:
		t.Input = s.count()
	case n.cacheRead:
		t.CacheRead = s.count()
	case n.cacheWrite:
		t.CacheWrite = s.count()
	case n.cacheWrite1h:
		t.CacheWrite1h = s.count()
	case n.output:
		t.Output = s.count()
	case n.reasoning:
		t.Reasoning = s.count()
	}
}

// settle returns the tokens that take took, each counted once.
func (n tokenNames) settle(t session.Tokens) session.Tokens {
	if n.cachesInInput {
		t.Input = max(t.Input-t.CacheRead-t.CacheWrite, 0)
	}
	if t.CacheWrite1h > t.CacheWrite {
		t.CacheWrite1h = 0
	}
	t.CacheWrite -= t.CacheWrite1h
	if n.thoughtsApart {
		t.Output += t.Reasoning
	}
	t.Reasoning = min(t.Reasoning, t.Output)
	return t
}

// next returns the usage of an answer that may be the last one again.
func next(c *session.UsageContext, u session.Usage, counted func() bool) []session.Usage {
	u.Prompt = u.Tokens.Prompt()
	switch {
	case u.Key != "" && u.Key == c.Key:
		added := u.Tokens.Minus(c.Last)
		if added == (session.Tokens{}) {
			return nil
		}
		c.Last = u.Tokens
		u.Tokens, u.More = added, true
	case u.Key != "" && counted():
		c.Key, c.Last = "", session.Tokens{}
		return nil
	default:
		c.Key, c.Last = u.Key, u.Tokens
		if u.Tokens == (session.Tokens{}) {
			return nil // a message that the agent made up
		}
	}
	return []session.Usage{u}
}

// words returns what the answer in a line of a session file took, for people.
func (r usageReader) words(line []byte) string {
	for _, u := range r.read(line, &session.UsageContext{}, func(string) bool { return false }) {
		return tokens(u.Tokens.Prompt(), u.Tokens.Output, u.Tokens.Total())
	}
	return ""
}

// counter adds up in a Transcript what the answers in a session file took.
type counter struct {
	session.TranscriptReader
	usage   usageReader
	context session.UsageContext
	counted map[string]bool
	tokens  int64
}

func (c *counter) Add(line []byte) {
	c.TranscriptReader.Add(line)
	for _, u := range c.usage.read(line, &c.context, func(key string) bool { return c.counted[key] }) {
		c.tokens += u.Tokens.Total()
		if u.Key != "" {
			id, _, _ := strings.Cut(u.Key, "/") // a side chain may repeat it in another request
			c.counted[u.Key], c.counted[id] = true, true
		}
	}
}

func (c *counter) Transcript() session.Transcript {
	n := c.TranscriptReader.Transcript()
	n.Tokens = c.tokens
	return n
}
