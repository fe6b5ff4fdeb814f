package agent

import (
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// usageReader reads usage from an agent's files; its fields are the methods of session.UsageReader.
type usageReader struct {
	files func(path, conversation string, now time.Time) []string // nil: none
	owner func(head []byte) string                                // nil: the paths name the owner
	read  func(line []byte, c *session.UsageContext, counted func(key string) bool) []session.Usage
	// totals marks session files with the conversation's totals, including missing lines, which
	// transcript reads. Otherwise the answers are added up.
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
// there is no such member.
type tokenNames struct {
	input, cacheRead, cacheWrite, output, reasoning string
	cacheWrite1h                                    string // part of cacheWrite
	cachesInInput                                   bool   // the input includes cache reads and writes
	thoughtsApart                                   bool   // the output excludes the reasoning
}

// take reads the value of a member if it counts tokens.
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

// settle returns the tokens that take read, each counted once.
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

// next returns the usage of an answer, which may repeat the last one.
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

// words returns the usage of the answer in a line of a session file, as readable text.
func (r usageReader) words(line []byte) string {
	for _, u := range r.read(line, &session.UsageContext{}, func(string) bool { return false }) {
		return tokens(u.Tokens.Prompt(), u.Tokens.Output, u.Tokens.Total())
	}
	return ""
}

// counter adds up the usage of a session file's answers in a Transcript.
type counter struct {
	session.TranscriptReader
	usage   usageReader
	context session.UsageContext
	counted map[string]bool
	tokens  int64
	last    time.Time // of an answer
}

func (c *counter) Add(line []byte) {
	c.TranscriptReader.Add(line)
	for _, u := range c.usage.read(line, &c.context, func(key string) bool { return c.counted[key] }) {
		c.tokens += u.Tokens.Total()
		if u.At.After(c.last) {
			c.last = u.At
		}
		if u.Key != "" {
			id, _, _ := strings.Cut(u.Key, "/") // a side chain may repeat it in another request
			c.counted[u.Key], c.counted[id] = true, true
		}
	}
}

func (c *counter) Transcript() session.Transcript {
	n := c.TranscriptReader.Transcript()
	n.Tokens, n.AnsweredAt = c.tokens, c.last
	return n
}
