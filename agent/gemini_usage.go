package agent

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// geminiUsage reads Gemini CLI's usage. An answer is rewritten when its tools have finished, and
// all answers are when a conversation is resumed.
var geminiUsage = usageReader{files: geminiUsageFiles, read: readGeminiUsage}

var chatTokenNames = tokenNames{
	input: "input", cacheRead: "cached", output: "output", reasoning: "thoughts", cachesInInput: true, thoughtsApart: true,
}

// geminiUsageFiles returns the chats of the conversation's sub-agents, and its second file if it
// was resumed.
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

// chatUsage returns the usage of the answer in a message of a chat. A line may instead be a change
// of the whole chat, which set takes; then answer is false.
func chatUsage(s *scanner, set func()) (u session.Usage, answer bool) {
	has := false
	var tool int64
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
				if string(key) == "tool" { // the prompt of a tool that the model's provider runs
					tool = s.count()
				} else {
					chatTokenNames.take(key, s, &u.Tokens)
				}
			})
		case "$set":
			if set != nil {
				set()
			}
		}
	})
	u.Tokens = chatTokenNames.settle(u.Tokens)
	u.Tokens.Input += tool
	return u, answer && has
}
