package agent

import (
	"encoding/json"
	"path/filepath"
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

func readClaudeUsage(line []byte, c *session.UsageContext, counted func(string) bool) []session.Usage {
	var u session.Usage
	var id, request, uuid string
	var long int64
	side, answer, has := false, false, false
	usage := func(key []byte, s *scanner) {
		switch string(key) {
		case "input_tokens":
			u.Tokens.Input = s.count()
		case "cache_read_input_tokens":
			u.Tokens.CacheRead = s.count()
		case "cache_creation_input_tokens":
			u.Tokens.CacheWrite = s.count()
		case "output_tokens":
			u.Tokens.Output = s.count()
		case "cache_creation":
			s.object(func(key []byte) {
				if string(key) == "ephemeral_1h_input_tokens" {
					long = s.count()
				}
			})
		}
	}
	s := &scanner{text: line}
	s.object(func(key []byte) {
		switch string(key) {
		case "type":
			if answer = string(s.value()) == `"assistant"`; !answer {
				s.stop()
			}
		case "requestId":
			request = s.str()
		case "uuid":
			uuid = s.str()
		case "timestamp":
			u.At = s.time()
		case "isSidechain":
			side = string(s.value()) == "true"
		case "message":
			s.object(func(key []byte) {
				switch string(key) {
				case "id":
					id = s.str()
				case "model":
					u.Model = s.str()
				case "usage":
					has = s.next() == '{'
					s.object(func(key []byte) { usage(key, s) })
				}
			})
		}
	})
	if !answer || !has || !s.whole() {
		return nil
	}
	if long <= u.Tokens.CacheWrite {
		u.Tokens.CacheWrite, u.Tokens.CacheWrite1h = u.Tokens.CacheWrite-long, long
	}
	if u.Key = id + "/" + request; id == "" && request == "" {
		u.Key = uuid
	}
	return next(c, u, func() bool {
		// A side chain repeats messages of its parent as answers to requests of its own.
		return counted(u.Key) || side && id != "" && counted(id)
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

// rolloutCounts returns the tokens of counts in a rollout.
func rolloutCounts(s *scanner) session.Tokens {
	var t session.Tokens
	in := int64(0) // with what is cached
	s.object(func(key []byte) {
		switch string(key) {
		case "input_tokens":
			in = s.count()
		case "cached_input_tokens":
			t.CacheRead = s.count()
		case "cache_write_input_tokens":
			t.CacheWrite = s.count()
		case "output_tokens": // with the reasoning
			t.Output = s.count()
		case "reasoning_output_tokens":
			t.Reasoning = s.count()
		}
	})
	t.Input = max(in-t.CacheRead-t.CacheWrite, 0)
	t.Reasoning = min(t.Reasoning, t.Output)
	return t
}

func readCodexUsage(line []byte, c *session.UsageContext, counted func(string) bool) []session.Usage {
	var at time.Time
	var kind, of, model, response string // of: the type of the payload
	var used, thread, total, last session.Tokens
	info := false
	s := &scanner{text: line}
	s.object(func(key []byte) {
		switch string(key) {
		case "timestamp":
			at = s.time()
		case "type":
			if kind = s.str(); kind != "turn_context" && kind != "token_usage_record" && kind != "event_msg" {
				s.stop()
			}
		case "payload":
			s.object(func(key []byte) {
				switch string(key) {
				case "type":
					if of = s.str(); kind == "event_msg" && of != "token_count" {
						s.stop()
					}
				case "model":
					model = s.str()
				case "response_id":
					response = s.str()
				case "usage":
					used = rolloutCounts(s)
				case "thread_token_usage":
					thread = rolloutCounts(s)
				case "info":
					info = s.next() == '{'
					s.object(func(key []byte) {
						switch string(key) {
						case "total_token_usage":
							total = rolloutCounts(s)
						case "last_token_usage":
							last = rolloutCounts(s)
						}
					})
				}
			})
		}
	})
	switch {
	case !s.whole():
	case kind == "turn_context" && model != "":
		c.Model = model
	case kind == "token_usage_record":
		c.Total = thread
		return next(c, session.Usage{At: at, Model: c.Model, Key: response, Tokens: used}, func() bool { return counted(response) })
	case of == "token_count" && info:
		took := total.Minus(c.Total)
		if took.Total() < 0 { // it counts from the beginning again
			took = last
		}
		c.Total = total
		if took != (session.Tokens{}) {
			return []session.Usage{{At: at, Model: c.Model, Tokens: took, Prompt: took.Prompt()}}
		}
	}
	return nil
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

func readGeminiUsage(line []byte, c *session.UsageContext, counted func(string) bool) []session.Usage {
	s := &scanner{text: line}
	var all []session.Usage
	if u, answer := chatUsage(s, func() {
		s.object(func(key []byte) {
			if string(key) != "messages" {
				return
			}
			s.array(func() {
				if u, answer := chatUsage(s, nil); answer {
					all = append(all, u)
				}
			})
		})
	}); answer {
		all = append(all, u)
	}
	if len(all) == 0 || !s.whole() {
		return nil
	}
	var some []session.Usage
	for _, u := range all {
		some = append(some, next(c, u, func() bool { return counted(u.Key) })...)
	}
	return some
}

// chatUsage returns what a message of a chat says that its answer took. A line may be a
// change of the whole instead, which set takes: then it is not in a message.
func chatUsage(s *scanner, set func()) (u session.Usage, answer bool) {
	has := false
	var in, tool int64
	s.object(func(key []byte) {
		switch string(key) {
		case "id":
			u.Key = s.str()
		case "timestamp":
			u.At = s.time()
		case "model":
			u.Model = s.str()
		case "type":
			if answer = string(s.value()) == `"gemini"`; !answer && set != nil {
				s.stop()
			}
		case "tokens":
			has = s.next() == '{'
			s.object(func(key []byte) {
				switch string(key) {
				case "input": // with what is cached
					in = s.count()
				case "output":
					u.Tokens.Output = s.count()
				case "cached":
					u.Tokens.CacheRead = s.count()
				case "thoughts":
					u.Tokens.Reasoning = s.count()
				case "tool": // the prompt of a tool that the model's provider runs
					tool = s.count()
				}
			})
		case "$set":
			if set != nil {
				set()
			}
		}
	})
	u.Tokens.Input = max(in-u.Tokens.CacheRead, 0) + tool
	u.Tokens.Output += u.Tokens.Reasoning
	return u, answer && has
}
