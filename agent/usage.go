package agent

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/agentform/agentform/session"
)

// usageReader is what an agent's files say about usage; its fields are the methods of
// session.UsageReader.
type usageReader struct {
	files func(path, conversation string, now time.Time) []string // nil: none
	owner func(head []byte) string                                // nil: the paths say it
	read  func(line []byte, c *session.UsageContext, counted func(key string) bool) []session.Usage
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

// claudeUsage is Claude Code's. An answer is written as several lines, one for each part
// of it, and only the last is sure to have all of its output. Older versions write what
// sub-agents do as side chains into the same file, newer ones into files of their own
// below the conversation's folder.
var claudeUsage = usageReader{files: claudeUsageFiles, read: readClaudeUsage}

func claudeUsageFiles(path, _ string, _ time.Time) []string {
	folder := globLiteral(filepath.Join(strings.TrimSuffix(path, ".jsonl"), "subagents"))
	return []string{filepath.Join(folder, "*.jsonl"), filepath.Join(folder, "*", "*.jsonl"), filepath.Join(folder, "*", "*", "*.jsonl")}
}

var claudeUsageMark = []byte(`"usage":`)

// readClaudeUsage walks through the line without decoding it: most of it is what the
// agent wrote, which may be megabytes.
func readClaudeUsage(line []byte, c *session.UsageContext, counted func(string) bool) []session.Usage {
	if !bytes.Contains(line, claudeUsageMark) {
		return nil
	}
	var kind, id, request, uuid, model, at, usage gjson.Result
	side := false
	gjson.ParseBytes(line).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "type":
			kind = value
		case "requestId":
			request = value
		case "uuid":
			uuid = value
		case "timestamp":
			at = value
		case "isSidechain":
			side = value.Bool()
		case "message":
			value.ForEach(func(key, value gjson.Result) bool {
				switch key.Str {
				case "id":
					id = value
				case "model":
					model = value
				case "usage":
					usage = value
				}
				return true
			})
		}
		return true
	})
	if kind.Str != "assistant" || !usage.IsObject() {
		return nil
	}
	t := session.Tokens{
		Input: count(usage, "input_tokens"), CacheRead: count(usage, "cache_read_input_tokens"),
		CacheWrite: count(usage, "cache_creation_input_tokens"), Output: count(usage, "output_tokens"),
	}
	if long := count(usage, "cache_creation.ephemeral_1h_input_tokens"); long <= t.CacheWrite {
		t.CacheWrite, t.CacheWrite1h = t.CacheWrite-long, long
	}
	u := session.Usage{At: gjsonTime(at), Model: model.Str, Key: id.Str + "/" + request.Str, Tokens: t}
	if id.Str == "" && request.Str == "" {
		u.Key = uuid.Str
	}
	return next(c, u, func() bool {
		// A side chain repeats messages of its parent as answers to requests of its own.
		return counted(u.Key) || side && id.Str != "" && counted(id.Str)
	})
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

// count returns a number of tokens: never less than none, and no more than anything
// could take, so that a foreign file cannot make sums overflow.
func count(r gjson.Result, path string) int64 { return bounded(r.Get(path).Int()) }

const mostTokens = 1 << 40

func bounded(n int64) int64 { return min(max(n, 0), mostTokens) }

func gjsonTime(r gjson.Result) time.Time {
	at, err := time.Parse(time.RFC3339Nano, r.Str)
	if err != nil {
		return time.Time{}
	}
	return at
}

// codexUsage is Codex's. 0.169 writes a record for each answer, and totals after it;
// older versions write only the totals. A sub-agent has a rollout of its own, which names
// the session that it belongs to.
var codexUsage = usageReader{files: codexUsageFiles, owner: codexUsageOwner, read: readCodexUsage}

// codexUsageFiles returns the rollouts of the last days on which a sub-agent may have
// begun: their folders have the dates of the beginning, in local time.
func codexUsageFiles(path, _ string, now time.Time) []string {
	days := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(path))))
	var all []string
	for _, day := range []time.Time{now.AddDate(0, 0, -1), now} {
		all = append(all, filepath.Join(globLiteral(days), day.Format("2006"), day.Format("01"), day.Format("02"), "rollout-*.jsonl"))
	}
	return all
}

func codexUsageOwner(head []byte) string {
	var l struct {
		Type    string `json:"type"`
		Payload struct {
			Session string `json:"session_id"`
			Source  string `json:"thread_source"`
		} `json:"payload"`
	}
	if json.Unmarshal(head, &l) != nil || l.Type != "session_meta" || l.Payload.Source != "subagent" {
		return "another"
	}
	return l.Payload.Session
}

type rolloutCounts struct {
	In        int64 `json:"input_tokens"` // with what is cached
	Read      int64 `json:"cached_input_tokens"`
	Write     int64 `json:"cache_write_input_tokens"`
	Out       int64 `json:"output_tokens"` // with the reasoning
	Reasoning int64 `json:"reasoning_output_tokens"`
}

func (r rolloutCounts) tokens() session.Tokens {
	in, read, write := bounded(r.In), bounded(r.Read), bounded(r.Write)
	out := bounded(r.Out)
	return session.Tokens{Input: max(in-read-write, 0), CacheRead: read, CacheWrite: write, Output: out, Reasoning: min(bounded(r.Reasoning), out)}
}

var codexUsageMarks = [][]byte{[]byte(`"token_usage_record"`), []byte(`"token_count"`), []byte(`"turn_context"`)}

func readCodexUsage(line []byte, c *session.UsageContext, counted func(string) bool) []session.Usage {
	if !containsAny(line, codexUsageMarks) {
		return nil
	}
	var l struct {
		At      time.Time `json:"timestamp"`
		Type    string    `json:"type"`
		Payload struct {
			Type     string        `json:"type"`
			Model    string        `json:"model"`
			Response string        `json:"response_id"`
			Usage    rolloutCounts `json:"usage"`
			Thread   rolloutCounts `json:"thread_token_usage"`
			Info     *struct {
				Total rolloutCounts `json:"total_token_usage"`
				Last  rolloutCounts `json:"last_token_usage"`
			} `json:"info"`
		} `json:"payload"`
	}
	if json.Unmarshal(line, &l) != nil {
		return nil
	}
	p := l.Payload
	switch {
	case l.Type == "turn_context" && p.Model != "":
		c.Model = p.Model
	case l.Type == "token_usage_record":
		c.Total = p.Thread.tokens()
		return next(c, session.Usage{At: l.At, Model: c.Model, Key: p.Response, Tokens: p.Usage.tokens()}, func() bool { return counted(p.Response) })
	case p.Type == "token_count" && p.Info != nil:
		total := p.Info.Total.tokens()
		took := total.Minus(c.Total)
		if took.Total() < 0 { // it counts from the beginning again
			took = p.Info.Last.tokens()
		}
		c.Total = total
		if took != (session.Tokens{}) {
			return []session.Usage{{At: l.At, Model: c.Model, Tokens: took, Prompt: took.Prompt()}}
		}
	}
	return nil
}

func containsAny(text []byte, marks [][]byte) bool {
	for _, m := range marks {
		if bytes.Contains(text, m) {
			return true
		}
	}
	return false
}

// geminiUsage is Gemini CLI's. An answer is written again when its tools have run, and all
// of them when a conversation is resumed.
var geminiUsage = usageReader{files: geminiUsageFiles, read: readGeminiUsage}

// geminiUsageFiles returns the chats of the conversation's sub-agents, and its second file
// if it was resumed.
func geminiUsageFiles(path, conversation string, _ time.Time) []string {
	id, _, _ := strings.Cut(conversation, "-")
	chats := globLiteral(filepath.Dir(path))
	if id == "" {
		return nil
	}
	return []string{filepath.Join(chats, "session-*-"+globLiteral(id)+".jsonl"), filepath.Join(chats, globLiteral(conversation), "*.jsonl")}
}

type chatUsage struct {
	ID     string    `json:"id"`
	At     time.Time `json:"timestamp"`
	Type   string    `json:"type"`
	Model  string    `json:"model"`
	Tokens *struct {
		In       int64 `json:"input"` // with what is cached
		Out      int64 `json:"output"`
		Cached   int64 `json:"cached"`
		Thoughts int64 `json:"thoughts"`
		Tool     int64 `json:"tool"` // the prompt of a tool that the model's provider runs
	} `json:"tokens"`
	Set struct {
		Messages []chatUsage `json:"messages"`
	} `json:"$set"`
}

var geminiUsageMark = []byte(`"tokens"`)

func readGeminiUsage(line []byte, c *session.UsageContext, counted func(string) bool) []session.Usage {
	if !bytes.Contains(line, geminiUsageMark) {
		return nil
	}
	var l chatUsage
	if json.Unmarshal(line, &l) != nil {
		return nil
	}
	var all []session.Usage
	for _, m := range append(l.Set.Messages, l) {
		if m.Type != "gemini" || m.Tokens == nil {
			continue
		}
		n := m.Tokens
		in, read := bounded(n.In), bounded(n.Cached)
		thoughts := bounded(n.Thoughts)
		t := session.Tokens{Input: max(in-read, 0) + bounded(n.Tool), CacheRead: read, Output: bounded(n.Out) + thoughts, Reasoning: thoughts}
		all = append(all, next(c, session.Usage{At: m.At, Model: m.Model, Key: m.ID, Tokens: t}, func() bool { return counted(m.ID) })...)
	}
	return all
}
