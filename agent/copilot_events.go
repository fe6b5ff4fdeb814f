package agent

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// copilotFiles returns the file of a conversation, whose directory is named after its id.
func copilotFiles(of session.Lookup) []string {
	home := copilotHome(of)
	if home == "" {
		return nil
	}
	return []string{filepath.Join(globLiteral(home), "session-state", conversationPattern(of.Conversation), "events.jsonl")}
}

// copilotEvent is a line of a session file. schemas/session-events.schema.json, which comes with
// Copilot CLI, has its types.
type copilotEvent struct {
	Type  string    `json:"type"`
	At    time.Time `json:"timestamp"`
	Agent string    `json:"agentId"` // of a sub-agent
	Data  struct {
		Session string    `json:"sessionId"`
		Start   time.Time `json:"startTime"`
		Context struct {
			Dir string `json:"cwd"`
		} `json:"context"`

		Content  string `json:"content"`
		Delivery string `json:"delivery"` // of a user's message: idle, queued, steering
		Calls    []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolRequests"`

		Request    string `json:"requestId"`
		Permission struct {
			Command   string `json:"fullCommandText"`
			Path      string `json:"path"`
			File      string `json:"fileName"`
			Intention string `json:"intention"`
		} `json:"permissionRequest"`
		Tool      string `json:"toolName"`
		ToolCall  string `json:"toolCallId"`
		Arguments struct {
			Message string `json:"message"`
		} `json:"arguments"`

		Message string `json:"message"`
		Kind    string `json:"errorType"`
		Status  int    `json:"statusCode"`
		Result  struct {
			Content string `json:"content"`
		} `json:"result"`
		Reason string `json:"reason"` // of abort
	} `json:"data"`
}

// The types of events with the tokens of an answer: one for the user, and the summary of a
// compacted conversation.
const (
	copilotAnswered  = "session.usage_record"
	copilotCompacted = "session.compaction_complete"
)

// question returns the question in the form of Question.Text.
func (e copilotEvent) question() string {
	p := e.Data.Permission
	if p.Command != "" {
		return `run "` + oneLine(p.Command) + `"?`
	}
	return oneLine(cmp.Or(e.Data.Arguments.Message, p.Intention+" "+cmp.Or(p.File, p.Path)))
}

func (e copilotEvent) limited() bool {
	return e.Data.Status == 429 || strings.Contains(e.Data.Kind, "rate_limit") || strings.Contains(e.Data.Kind, "quota")
}

func (e copilotEvent) refused() bool { return e.Data.Status == 401 || e.Data.Kind == "authentication" }

// copilotSpent is the reason of an abort by autopilot when its credits are used up. Aborts by the
// user have other reasons.
const copilotSpent = "autopilot_credit_limit"

// copilotSession reads a session file. Each request to the model is a turn of the file; the user's
// turn ends with an answer without tool calls, an error or an interruption.
type copilotSession struct {
	turns
	said  bool // it has answered since the last prompt
	calls int  // tool calls of the last message
}

func (c *copilotSession) Add(line []byte) {
	var e copilotEvent
	if json.Unmarshal(line, &e) == nil && !e.At.IsZero() {
		c.add(e)
	}
}

func (c *copilotSession) add(e copilotEvent) {
	d := e.Data
	c.n.At = e.At
	switch {
	case e.Type == "session.start":
		c.n.Conversation, c.n.StartedAt, c.n.Dir = d.Session, d.Start, d.Context.Dir
	case e.Type == "permission.requested":
		c.ask(d.Request, e.question())
		c.waits()
	case e.Type == "permission.completed":
		c.answered(d.Request)
	case e.Type == "tool.execution_start" && d.Tool == "ask_user":
		c.ask(d.ToolCall, e.question())
		c.waits()
	case e.Type == "tool.execution_complete":
		c.answered(d.ToolCall)
	case e.Agent != "": // of a sub-agent, which the user's turn waits for
	case e.Type == "user.message":
		c.take(e.At, d.Content)
		c.begin()
		c.said, c.calls = false, 0
		if d.Delivery != "" && d.Delivery != "idle" {
			c.n.TakenAt = e.At
		}
	case e.Type == "assistant.turn_start":
		c.begin()
		c.said, c.calls = false, 0
	case e.Type == "assistant.message":
		c.said, c.calls = true, len(d.Calls)
		c.n.LastMessage = cmp.Or(d.Content, c.n.LastMessage)
	case e.Type == "assistant.turn_end" && c.said && c.calls == 0: // without an answer, the reason follows
		c.end(e.At, session.Idle, "", false)
	case e.Type == "abort":
		c.end(e.At, session.Idle, "", d.Reason != copilotSpent)
	case e.Type == "session.error" && e.limited():
		c.end(e.At, session.BlockedAPI, d.Message, false)
	case e.Type == "session.error":
		c.end(e.At, session.Failed, d.Message, false)
		if e.refused() {
			c.n.RefusedAt = e.At
		}
	}
}

func (c *copilotSession) answered(id string) {
	if c.answer(id); c.n.Activity == session.Blocked {
		c.waits()
	}
}

// copilotEntries returns the readable entries in a line of a session file.
func copilotEntries(line []byte) []session.Entry {
	var e copilotEvent
	if json.Unmarshal(line, &e) != nil || e.At.IsZero() {
		return nil
	}
	var all []session.Entry
	add := func(kind, text string) {
		if text = clip(strings.TrimSpace(text)); text != "" {
			all = append(all, session.Entry{At: e.At, Kind: kind, Text: text})
		}
	}
	switch e.Type {
	case "user.message":
		add("user", e.Data.Content)
	case "assistant.message":
		add("agent", e.Data.Content)
		for _, call := range e.Data.Calls {
			add("tool", toolText(call.Name, string(call.Arguments)))
		}
	case "tool.execution_complete":
		add("result", e.Data.Result.Content)
	case "session.error":
		add("error", e.Data.Message)
	case "session.info":
		add("info", e.Data.Message)
	case copilotAnswered, copilotCompacted:
		add("usage", copilotUsage.words(line))
	}
	return all
}

// copilotUsage reads the usage of Copilot CLI, which writes a record for each answer, including
// those of sub-agents. The event that ends a compaction has the summary's usage.
var copilotUsage = usageReader{read: readCopilotUsage}

var copilotTokenNames = tokenNames{
	input: "inputTokens", cacheRead: "cacheReadTokens", cacheWrite: "cacheWriteTokens",
	output: "outputTokens", reasoning: "reasoningTokens", cachesInInput: true,
}

func readCopilotUsage(line []byte, c *session.UsageContext, counted func(string) bool) []session.Usage {
	var u session.Usage
	var id string
	s := &scanner{text: line}
	record := func(key []byte) {
		switch string(key) {
		case "model":
			u.Model = s.str()
		case "apiCallId":
			u.Key = s.str()
		default:
			copilotTokenNames.take(key, s, &u.Tokens)
		}
	}
	is := false
	s.object(func(key []byte) {
		switch string(key) {
		case "type":
			if kind := s.str(); kind == copilotAnswered || kind == copilotCompacted {
				is = true
			} else {
				s.stop()
			}
		case "id":
			id = s.str()
		case "timestamp":
			u.At = s.time()
		case "data":
			s.object(func(key []byte) {
				switch string(key) {
				case "usage", "compactionTokensUsed":
					s.object(record)
				}
			})
		}
	})
	if !is || !s.whole() {
		return nil
	}
	u.Tokens = copilotTokenNames.settle(u.Tokens)
	u.Key = cmp.Or(u.Key, id)
	return next(c, u, func() bool { return counted(u.Key) })
}
