package agent

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// claudeUsage reads Claude Code's usage. An answer is written as several lines, one for each part,
// and only the last is sure to have its complete output. Older versions write sub-agents as side
// chains into the same file, newer ones into files below the conversation's directory.
var claudeUsage = usageReader{files: claudeUsageFiles, read: readClaudeUsage}

var claudeTokenNames = tokenNames{
	input: "input_tokens", cacheRead: "cache_read_input_tokens", cacheWrite: "cache_creation_input_tokens",
	cacheWrite1h: "ephemeral_1h_input_tokens", output: "output_tokens",
}

func claudeUsageFiles(path, _ string, _ time.Time) []string {
	folder := globLiteral(filepath.Join(strings.TrimSuffix(path, ".jsonl"), "subagents"))
	return []string{filepath.Join(folder, "*.jsonl"), filepath.Join(folder, "*", "*.jsonl"), filepath.Join(folder, "*", "*", "*.jsonl")}
}

func readClaudeUsage(line []byte, c *session.UsageContext, counted func(string) bool) []session.Usage {
	var u session.Usage
	var id, request, uuid string
	side, answer, has := false, false, false
	s := &scanner{text: line}
	take := func(key []byte) { claudeTokenNames.take(key, s, &u.Tokens) }
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
					s.object(func(key []byte) {
						if take(key); string(key) == "cache_creation" {
							s.object(take)
						}
					})
				}
			})
		}
	})
	if !answer || !has || !s.whole() {
		return nil
	}
	u.Tokens = claudeTokenNames.settle(u.Tokens)
	if u.Key = id + "/" + request; id == "" && request == "" {
		u.Key = uuid
	}
	return next(c, u, func() bool {
		// A side chain repeats messages of its parent as answers to requests of its own.
		return counted(u.Key) || side && id != "" && counted(id)
	})
}
