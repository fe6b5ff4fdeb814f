package agent

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// qwenFiles returns the file of a conversation, which is named after its id.
func qwenFiles(of session.Lookup) []string {
	base := cmp.Or(of.Env["QWEN_RUNTIME_DIR"], qwenHome(of))
	if base == "" {
		return nil
	}
	return []string{filepath.Join(globLiteral(base), "projects", "*", "chats", conversationPattern(of.Conversation)+".jsonl")}
}

// qwenRecord is a line of a session file.
type qwenRecord struct {
	Conversation string    `json:"sessionId"`
	At           time.Time `json:"timestamp"`
	Type         string    `json:"type"`    // user, assistant, tool_result, system
	Subtype      string    `json:"subtype"` // of system
	Dir          string    `json:"cwd"`
	Message      struct {
		Parts []qwenPart `json:"parts"`
	} `json:"message"`
	Usage struct {
		In    int64 `json:"promptTokenCount"`
		Out   int64 `json:"candidatesTokenCount"`
		Total int64 `json:"totalTokenCount"`
	} `json:"usageMetadata"`
	Result struct {
		Status string `json:"status"` // success, error, cancelled
	} `json:"toolCallResult"`
	System struct {
		Event qwenEvent `json:"uiEvent"`
	} `json:"systemPayload"`
}

type qwenPart struct {
	Text    string `json:"text"`
	Thought bool   `json:"thought"`
	Call    *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string `json:"id"`
		Response struct {
			Output string `json:"output"`
			Error  string `json:"error"`
		} `json:"response"`
	} `json:"functionResponse"`
}

// qwenEvent is telemetry in the session file: a request to the model, its failure, or a tool call.
type qwenEvent struct {
	Name    string `json:"event.name"`
	Prompt  string `json:"prompt_id"`
	Status  int    `json:"status_code"`
	Message string `json:"error_message"`
	Kind    string `json:"error_type"`
}

// qwenTurn is the id of a request of the conversation itself. Sub-agents and background requests
// have other ids.
var qwenTurn = regexp.MustCompile(`########\d+$`)

// qwenAttempts is how often it tries a request that gets a 429 or 5xx. Then the turn has failed.
const qwenAttempts = 7

// qwenAborted is the error of a request that the user interrupted before the first word of its
// answer. An answer cut off later ends the turn like a complete one.
const qwenAborted = "APIUserAbortError"

// text returns the text of a message, without thoughts.
func (r qwenRecord) text() string {
	var all []string
	for _, p := range r.Message.Parts {
		if p.Text != "" && !p.Thought {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, "\n")
}

// qwenChat reads a session file. A turn ends with an answer without tool calls, or with tool calls
// that were all refused. The file contains no questions.
type qwenChat struct {
	turns
	calls    int  // tool calls without a result
	refused  bool // all results so far are refusals
	failures int  // of the current request
}

func (c *qwenChat) Add(line []byte) {
	var r qwenRecord
	if json.Unmarshal(line, &r) == nil && !r.At.IsZero() {
		c.add(r)
	}
}

func (c *qwenChat) add(r qwenRecord) {
	if c.n.Conversation == "" {
		c.n.Conversation, c.n.StartedAt = r.Conversation, r.At
	}
	c.n.Dir = cmp.Or(r.Dir, c.n.Dir)
	text := r.text()
	switch r.Type {
	case "user":
		c.n.At = r.At
		c.take(r.At, text)
		c.begin()
		c.calls, c.failures = 0, 0
	case "assistant":
		c.n.At = r.At
		c.n.LastMessage = cmp.Or(text, c.n.LastMessage)
		c.calls, c.refused = 0, true
		for _, p := range r.Message.Parts {
			if p.Call != nil {
				c.calls++
			}
		}
		if c.calls == 0 {
			c.end(r.At, session.Idle, "", false)
		}
	case "tool_result":
		c.n.At = r.At
		c.refused = c.refused && r.Result.Status == "cancelled"
		if c.calls--; c.calls <= 0 && c.refused { // an interrupted tool looks like a refused one
			c.end(r.At, session.Idle, "", true)
		}
	case "system":
		if e := r.System.Event; qwenTurn.MatchString(e.Prompt) {
			c.event(r.At, e)
		}
	}
}

// event applies the result of a request to the model.
func (c *qwenChat) event(at time.Time, e qwenEvent) {
	switch e.Name {
	case "qwen-code.api_response":
		c.n.At = at
		c.failures = 0
		if c.open {
			c.doing(session.Working, "")
		}
	case "qwen-code.api_error":
		c.n.At = at
		c.failures++
		does := session.Failed
		again := (e.Status == 429 || e.Status >= 500 && e.Status < 600) && c.failures < qwenAttempts
		switch {
		case e.Kind == qwenAborted:
			c.end(at, session.Idle, "", true)
			return
		case e.Status == 429:
			does = session.BlockedAPI
		case again:
			does = session.Working
		}
		if again {
			c.doing(does, e.Message)
			return
		}
		c.end(at, does, e.Message, false)
		if e.Status == 401 {
			c.n.RefusedAt = at
		}
	}
}

// qwenEntries returns the readable entries in a line of a session file.
func qwenEntries(line []byte) []session.Entry {
	var r qwenRecord
	if json.Unmarshal(line, &r) != nil || r.At.IsZero() {
		return nil
	}
	var all []session.Entry
	add := func(kind, text string) {
		if text = clip(strings.TrimSpace(text)); text != "" {
			all = append(all, session.Entry{At: r.At, Kind: kind, Text: text})
		}
	}
	switch r.Type {
	case "user":
		add("user", r.text())
	case "assistant":
		add("agent", r.text())
		for _, p := range r.Message.Parts {
			if p.Call != nil {
				add("tool", toolText(p.Call.Name, string(p.Call.Args)))
			}
		}
		add("usage", tokens(r.Usage.In, r.Usage.Out, r.Usage.Total))
	case "tool_result":
		for _, p := range r.Message.Parts {
			if p.Response != nil {
				add("result", p.Response.Response.Output+p.Response.Response.Error)
			}
		}
	case "system":
		if e := r.System.Event; e.Name == "qwen-code.api_error" && e.Kind != qwenAborted {
			add("error", e.Message)
		}
	}
	return all
}

// qwenUsage reads Qwen Code's usage, with a record of each answer, including those of sub-agents
// and background requests.
var qwenUsage = usageReader{read: readQwenUsage}

// qwenTokenNames are the members with its counts. Whether the output contains the thoughts depends
// on the provider.
var qwenTokenNames = tokenNames{
	input: "input_token_count", cacheRead: "cached_content_token_count", output: "output_token_count", reasoning: "thoughts_token_count",
	cachesInInput: true,
}

func readQwenUsage(line []byte, c *session.UsageContext, counted func(string) bool) []session.Usage {
	var u session.Usage
	var name, api string
	s := &scanner{text: line}
	event := func(key []byte) {
		switch string(key) {
		case "event.name":
			name = s.str()
		case "auth_type":
			api = s.str()
		case "model":
			u.Model = s.str()
		case "response_id":
			u.Key = s.str()
		default:
			qwenTokenNames.take(key, s, &u.Tokens)
		}
	}
	s.object(func(key []byte) {
		switch string(key) {
		case "type":
			if string(s.value()) != `"system"` {
				s.stop()
			}
		case "timestamp":
			u.At = s.time()
		case "systemPayload":
			s.object(func(key []byte) {
				if string(key) == "uiEvent" {
					s.object(event)
				}
			})
		}
	})
	if name != "qwen-code.api_response" || !s.whole() {
		return nil
	}
	names := qwenTokenNames
	names.thoughtsApart = api == "gemini" || api == "vertex-ai"
	u.Tokens = names.settle(u.Tokens)
	return next(c, u, func() bool { return counted(u.Key) })
}
