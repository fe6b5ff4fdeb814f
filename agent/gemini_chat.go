package agent

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// geminiFiles returns the pattern of a conversation's chat. The name of the project's directory is
// not known; the file has the first eight digits of the id.
func geminiFiles(of session.Lookup) []string {
	dir := geminiDir(of)
	if dir == "" {
		return nil
	}
	name := "session-*.jsonl"
	if id, _, _ := strings.Cut(of.Conversation, "-"); id != "" {
		name = "session-*-" + globLiteral(id) + ".jsonl"
	}
	return []string{filepath.Join(globLiteral(dir), "tmp", "*", "chats", name)}
}

// chatLine is a line of a chat: its head, a message, or a change of the whole chat.
type chatLine struct {
	Conversation string    `json:"sessionId"`
	StartedAt    time.Time `json:"startTime"`
	Kind         string    `json:"kind"` // main

	ID      string          `json:"id"`
	At      time.Time       `json:"timestamp"`
	Type    string          `json:"type"` // user, gemini, error, info
	Content json.RawMessage `json:"content"`
	Calls   []chatCall      `json:"toolCalls"`

	Set struct {
		Messages []chatLine `json:"messages"`
	} `json:"$set"`
}

type chatCall struct {
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Status string          `json:"status"`
	Result []chatPart      `json:"result"`
}

type chatPart struct {
	Text     string `json:"text"`
	Response *struct {
		Response struct {
			Output string `json:"output"`
			Error  string `json:"error"`
		} `json:"response"`
	} `json:"functionResponse"`
}

// text returns a message's text, and whether it is a tool's result. It skips Gemini's own first
// message to the model.
func (l chatLine) text() (text string, result bool) {
	if json.Unmarshal(l.Content, &text) == nil {
		return text, false
	}
	var parts []chatPart
	_ = json.Unmarshal(l.Content, &parts) // ignore content in neither form
	var texts []string
	for _, p := range parts {
		result = result || p.Response != nil
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n"), result
}

const chatContext = "<session_context>"

// chatDir matches the workspace in Gemini's first message to the model.
var chatDir = regexp.MustCompile(`(?m)^- \*\*Workspace Directories:\*\*\n\s*- (/.*)$`)

// Error messages of an account that has to pause.
var chatLimit = regexp.MustCompile(`"code":429|RESOURCE_EXHAUSTED|exhausted your .*quota|[Rr]ate limit`)

// chatRefused matches the error message of a credential that is refused.
var chatRefused = regexp.MustCompile(`"code":401\b`)

// chat reads a chat. The file has no end of a turn: the model's last message is the answer unless a
// tool's result follows. It has no approvals and retries, so after a message the title decides.
type chat struct {
	turns
	seen map[string]bool // messages by id: a changed message is written again
	// answered is the time of the model's last message without a later tool result; zero: none.
	answered time.Time
	canceled time.Time // the user's last interruption
	stopped  bool      // the interruption ended the last turn
}

func (c *chat) Transcript() session.Transcript {
	now := *c
	now.turns = c.copy()
	now.n.Unsettled = !c.answered.IsZero()
	now.answer()
	return now.n
}

func (c *chat) Add(line []byte) {
	var l chatLine
	if json.Unmarshal(line, &l) != nil {
		return
	}
	if c.n.Conversation == "" && l.Conversation != "" {
		c.n.Conversation, c.n.StartedAt = l.Conversation, l.StartedAt
	}
	for _, m := range l.Set.Messages {
		c.where(m)
	}
	c.add(l)
}

// againFor is how long after an interruption Gemini CLI 0.61.0 may rewrite the turn's message with
// another id, if the model had not started to answer. It took 92 ms. After a refused permission it
// rewrites the answers and results of the turn before.
const againFor = 2 * time.Second

// where finds the workspace in Gemini's first message to the model.
func (c *chat) where(l chatLine) (context bool) {
	text, _ := l.text()
	if !strings.HasPrefix(text, chatContext) {
		return false
	}
	if m := chatDir.FindStringSubmatch(text); m != nil {
		c.n.Dir = m[1]
	}
	return true
}

func (c *chat) add(l chatLine) {
	if l.At.IsZero() || l.Type == "user" && c.where(l) {
		return
	}
	c.n.At = l.At
	known := c.seen[l.ID]
	c.seen[l.ID] = true
	text, result := l.text()
	switch {
	case c.stopped && (l.Type == "gemini" || l.Type == "user" && result): // of an earlier turn
	case l.Type == "user" && result:
		c.answered = time.Time{}
		c.n.Activity = session.Working
	case l.Type == "user" && text == c.n.LastPrompt && l.At.Sub(c.canceled) < againFor: // not a new turn
	case l.Type == "user" && !known:
		c.answer()
		c.stopped = false
		c.take(l.At, text)
		c.begin()
	case l.Type == "gemini" && len(l.Calls) > 0: // its tools have finished
		c.answered = time.Time{}
	case l.Type == "gemini" && !known:
		c.n.Activity = ""
		if text != "" {
			c.n.LastMessage = text
			c.answered = l.At
		}
	case l.Type == "error":
		does := session.Failed
		if chatLimit.MatchString(text) {
			does = session.BlockedAPI
		}
		c.answered = time.Time{}
		c.end(l.At, does, text, false)
		if does == session.Failed && chatRefused.MatchString(text) {
			c.n.RefusedAt = l.At
		}
	case l.Type == "info" && strings.HasPrefix(text, "Request cancelled"): // also after a refused permission
		c.answered, c.canceled, c.stopped = time.Time{}, l.At, true
		c.end(l.At, session.Idle, "", true)
	}
}

// answer ends a turn that has its answer.
func (c *chat) answer() {
	if !c.answered.IsZero() {
		c.end(c.answered, c.n.Activity, c.n.Detail, false)
		c.answered = time.Time{}
	}
}

// geminiEntries returns the readable entries in a line of a chat.
func geminiEntries(line []byte) []session.Entry {
	var l chatLine
	if json.Unmarshal(line, &l) != nil || l.At.IsZero() {
		return nil
	}
	var all []session.Entry
	add := func(kind, text string) {
		if text != "" {
			all = append(all, session.Entry{At: l.At, Kind: kind, Text: text})
		}
	}
	text, result := l.text()
	switch {
	case result || strings.HasPrefix(text, chatContext):
	case l.Type == "user":
		add("user", text)
	case l.Type == "error":
		add("error", text)
	case l.Type == "info":
		add("info", text)
	case l.Type == "gemini" && len(l.Calls) > 0: // an earlier line had the rest
		for _, c := range l.Calls {
			add("tool", toolText(c.Name, string(c.Args)))
			for _, p := range c.Result {
				if p.Response != nil {
					add("result", geminiOutput(p.Response.Response.Output+p.Response.Response.Error))
				}
			}
		}
	case l.Type == "gemini":
		add("agent", text)
		add("usage", geminiUsage.words(line))
	}
	return all
}

// The text that Gemini adds around a tool's output.
var chatWrapping = regexp.MustCompile(`^<untrusted_context>\n(?:Output: )?|(?:\nProcess Group PGID: \d+)?\n</untrusted_context>$`)

// geminiOutput returns a tool's output.
func geminiOutput(s string) string { return clip(chatWrapping.ReplaceAllString(s, "")) }
