package agent

import (
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/agentform/agentform/session"
)

// codexUsage reads Codex's usage. 0.169 writes a record for each answer, followed by totals; older
// versions write only the totals. A sub-agent has its own rollout, which names its session.
var codexUsage = usageReader{files: codexUsageFiles, owner: codexUsageOwner, read: readCodexUsage, totals: true}

// codexUsageFiles returns the rollouts of the last days in which a sub-agent may have started.
// Their directories are named after the local start date.
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

var rolloutTokenNames = tokenNames{
	input: "input_tokens", cacheRead: "cached_input_tokens", cacheWrite: "cache_write_input_tokens",
	output: "output_tokens", reasoning: "reasoning_output_tokens", cachesInInput: true,
}

// rolloutCounts returns the tokens counted in a rollout.
func rolloutCounts(s *scanner) session.Tokens {
	var t session.Tokens
	s.object(func(key []byte) { rolloutTokenNames.take(key, s, &t) })
	return rolloutTokenNames.settle(t)
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
		if took.Total() < 0 { // the count has restarted
			took = last
		}
		c.Total = total
		if took != (session.Tokens{}) {
			return []session.Usage{{At: at, Model: c.Model, Tokens: took, Prompt: took.Prompt()}}
		}
	}
	return nil
}
