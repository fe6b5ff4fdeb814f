package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// opencodeEvent is an event of opencode: a line that the plugin has written.
type opencodeEvent struct {
	At         int64  `json:"at"` // milliseconds since 1970
	Type       string `json:"type"`
	Properties struct {
		Session   string          `json:"sessionID"` // of a sub-agent, not the conversation
		Directory string          `json:"directory"` // run
		Info      opencodeMessage `json:"info"`      // message.updated
		Part      opencodePart    `json:"part"`      // message.part.updated
		Error     *opencodeError  `json:"error"`     // session.error
		Status    opencodeStatus  `json:"status"`    // session.status
		ID        string          `json:"id"`        // permission.asked, question.asked
		Request   string          `json:"requestID"` // of a reply to one of these
		About     string          `json:"permission"`
		Patterns  []string        `json:"patterns"`
		Metadata  map[string]any  `json:"metadata"`
		Questions []opencodeAsks  `json:"questions"`
	} `json:"properties"`
}

type opencodeAsks struct {
	Question string `json:"question"`
}

type opencodeStatus struct {
	Type    string `json:"type"` // busy, retry, idle
	Message string `json:"message"`
	Next    int64  `json:"next"` // of retry: the time of the next attempt
}

// opencodeAborted is the name of the error of a turn that the user has interrupted. A turn that
// ends with a refused permission has no error.
const opencodeAborted = "MessageAbortedError"

type opencodeError struct {
	Name string `json:"name"`
	Data struct {
		Message string `json:"message"`
		Status  int    `json:"statusCode"`
	} `json:"data"`
}

type opencodeMessage struct {
	ID     string         `json:"id"`
	Parent string         `json:"parentID"` // the user's message that is answered
	Role   string         `json:"role"`
	Model  string         `json:"modelID"`
	Finish string         `json:"finish"`
	Error  *opencodeError `json:"error"`
	Time   struct {
		Created   int64 `json:"created"`
		Completed int64 `json:"completed"`
	} `json:"time"`
	Tokens struct {
		In        int64 `json:"input"` // without cached tokens
		Out       int64 `json:"output"`
		Reasoning int64 `json:"reasoning"` // not in the output
		Cache     struct {
			Read  int64 `json:"read"`
			Write int64 `json:"write"`
		} `json:"cache"`
	} `json:"tokens"`
}

func (m opencodeMessage) total() int64 {
	t := m.Tokens
	return t.In + t.Out + t.Reasoning + t.Cache.Read + t.Cache.Write
}

type opencodePart struct {
	Type      string          `json:"type"` // text, tool
	Message   string          `json:"messageID"`
	Text      string          `json:"text"`
	Synthetic bool            `json:"synthetic"` // opencode's own text in a user's message
	Time      json.RawMessage `json:"time"`      // only of what the model writes
	Tool      string          `json:"tool"`
	State     struct {
		Input  json.RawMessage `json:"input"`
		Output string          `json:"output"`
		Error  string          `json:"error"`
	} `json:"state"`
}

// prompt reports whether the part is text of the user.
func (p opencodePart) prompt() bool {
	return p.Type == "text" && len(p.Time) == 0 && !p.Synthetic && p.Text != ""
}

// opencodeConversation reads the plugin's file.
type opencodeConversation struct {
	turns
	failed   *opencodeError // how the open turn failed
	taken    string         // the id of the last message that was taken up
	aborted  bool           // the user has interrupted the open turn
	retrying bool           // its request failed and is being retried
	queued   []string       // the ids of n.Queued
}

func (c *opencodeConversation) Add(line []byte) {
	var e opencodeEvent
	if json.Unmarshal(line, &e) == nil && e.At > 0 {
		c.add(e)
	}
}

func (c *opencodeConversation) add(e opencodeEvent) {
	p, at := e.Properties, moment(e.At)
	if e.Type == "run" {
		if c.n.Conversation == "" {
			c.n.Conversation, c.n.Dir, c.n.StartedAt = p.Session, p.Directory, at
		}
		// The previous run has ended, and with it what was under way.
		c.open, c.failed, c.asked, c.queued, c.n.Queued = false, nil, nil, nil, nil
		c.doing("", "")
		return
	}
	c.n.At = at
	own := p.Session == c.n.Conversation
	switch e.Type {
	case "permission.asked":
		c.ask(p.ID, opencodePermission(p.About, p.Patterns, p.Metadata))
		c.waits()
	case "question.asked":
		var texts []string
		for _, q := range p.Questions {
			texts = append(texts, q.Question)
		}
		c.ask(p.ID, strings.Join(texts, "\n"))
		c.waits()
	case "permission.replied", "question.replied", "question.rejected":
		c.answer(p.Request)
		c.waits()
	case "message.updated":
		if m := p.Info; m.Role == "assistant" {
			if own {
				c.takeUpTo(m.Parent, at)
			}
			// The message of an earlier turn may be rewritten.
			if own && m.Parent == c.taken && m.Error != nil && m.Error.Name == opencodeAborted {
				c.aborted = true
			}
		}
	case "message.part.updated":
		switch {
		case !own || p.Part.Type != "text":
		case p.Part.prompt():
			c.prompt(p.Part.Message, session.Message{At: at, Text: p.Part.Text})
		case len(p.Part.Time) > 0 && strings.TrimSpace(p.Part.Text) != "":
			c.n.LastMessage = p.Part.Text
		}
	case "session.status":
		if own {
			c.status(p.Status, at)
		}
	case "session.error":
		if own && p.Error != nil {
			c.opens()
			c.failed, c.aborted = p.Error, p.Error.Name == opencodeAborted
		}
	case "session.idle":
		if own && c.open { // after a failure opencode reports idle twice
			c.ended(at)
		}
	}
}

// prompt adds a message of the user, which waits if a turn is open.
func (c *opencodeConversation) prompt(id string, m session.Message) {
	if c.open {
		c.queued, c.n.Queued = append(c.queued, id), append(c.n.Queued, m)
		return
	}
	c.takeUp(id, m.Text, m.At)
}

// opens marks a turn as open.
func (c *opencodeConversation) opens() {
	if !c.open {
		c.open, c.aborted, c.retrying, c.n.Interrupted = true, false, false, false
	}
}

func (c *opencodeConversation) takeUp(id, text string, at time.Time) {
	c.opens()
	c.failed, c.aborted, c.taken = nil, false, id
	c.take(at, text)
	c.begin()
}

// takeUpTo takes up the waiting messages, up to the one that the agent is answering.
func (c *opencodeConversation) takeUpTo(id string, at time.Time) {
	i := slices.Index(c.queued, id)
	for j, m := range c.n.Queued[:i+1] {
		c.takeUp(c.queued[j], m.Text, at)
		c.n.TakenAt = at
	}
	c.queued, c.n.Queued = c.queued[i+1:], c.n.Queued[i+1:]
}

// opencodeLimit matches the message of an attempt that a limit refused: the event has no status. If
// a provider reports "exhausted", opencode reports "overloaded".
const opencodeLimit = `(?i:\b429\b|rate[-_ ]?limit|rate increased too quickly|too[_ ]many[_ ]requests|usage (?:limit|exceeded)|quota|exhausted|overloaded)`

var opencodeLimited = lazily(opencodeLimit)

// retryShown is the shortest wait for the next attempt that is shown as a limit.
const retryShown = time.Minute

func (c *opencodeConversation) status(s opencodeStatus, at time.Time) {
	if s.Type == "idle" || len(c.asked) > 0 {
		return
	}
	c.opens()
	c.retrying = s.Type == "retry"
	c.doing(session.Working, "")
	if !c.retrying {
		return
	}
	c.n.Detail = s.Message
	next := moment(s.Next)
	asked := next.Sub(at) > retryShown // by the provider: opencode itself waits 30 seconds at most
	if asked {
		c.n.Until = next.Local()
	}
	if asked || opencodeLimited().MatchString(s.Message) {
		c.n.Activity = session.BlockedAPI
	}
}

// ended ends a turn. A turn that is being retried ends with an answer, an error or an interruption
// by the user, which has no error.
func (c *opencodeConversation) ended(at time.Time) {
	switch f := c.failed; {
	case f == nil || f.Name == opencodeAborted:
		c.end(at, session.Idle, "", c.aborted || c.retrying)
	case f.Data.Status == 429:
		c.end(at, session.BlockedAPI, f.Data.Message, false)
	default:
		c.end(at, session.Failed, f.Data.Message, false)
		if f.Data.Status == 401 {
			c.n.RefusedAt = at
		}
	}
}

// opencodePermission returns the question of a permission request.
func opencodePermission(about string, patterns []string, metadata map[string]any) string {
	if command, is := metadata["command"].(string); is && about == "bash" {
		return asked("Bash", command, "")
	}
	return asked(about, strings.Join(patterns, " "), "")
}

// opencodeEntries returns the readable entries in a line.
func opencodeEntries(line []byte) []session.Entry {
	var e opencodeEvent
	if json.Unmarshal(line, &e) != nil {
		return nil
	}
	var all []session.Entry
	add := func(kind, text string) {
		if strings.TrimSpace(text) != "" {
			all = append(all, session.Entry{At: moment(e.At), Kind: kind, Text: text})
		}
	}
	switch p := e.Properties; {
	case e.Type == "session.error" && p.Error != nil && p.Error.Name == opencodeAborted:
		add("info", "interrupted")
	case e.Type == "session.error" && p.Error != nil:
		add("error", p.Error.Data.Message)
	case e.Type == "message.part.updated" && p.Part.prompt():
		add("user", p.Part.Text)
	case e.Type == "message.part.updated" && p.Part.Type == "text" && !p.Part.Synthetic:
		add("agent", p.Part.Text)
	case e.Type == "message.part.updated" && p.Part.Type == "tool":
		add("tool", toolText(p.Part.Tool, string(p.Part.State.Input)))
		add("result", clip(p.Part.State.Output+p.Part.State.Error))
	case e.Type == "message.updated" && p.Info.Time.Completed > 0:
		add("usage", opencodeUsage.words(line))
	}
	return all
}

// opencodeUsage reads opencode's usage. Each answer is a message, rewritten when it changes; those
// of sub-agents are in the same file. If opencode was killed while an answer's tool was running,
// the answer has no tokens.
var opencodeUsage = usageReader{read: readOpencodeUsage}

var opencodeUsageMark = []byte(`"message.updated"`)

func readOpencodeUsage(line []byte, c *session.UsageContext, counted func(string) bool) []session.Usage {
	if !bytes.Contains(line, opencodeUsageMark) {
		return nil
	}
	var e opencodeEvent
	if json.Unmarshal(line, &e) != nil || e.Type != "message.updated" || e.Properties.Info.Role != "assistant" {
		return nil
	}
	m := e.Properties.Info
	if m.total() == 0 {
		return nil // not answered yet
	}
	reasoning := bounded(m.Tokens.Reasoning)
	t := session.Tokens{
		Input: bounded(m.Tokens.In), CacheRead: bounded(m.Tokens.Cache.Read), CacheWrite: bounded(m.Tokens.Cache.Write),
		Output: bounded(m.Tokens.Out) + reasoning, Reasoning: reasoning,
	}
	return next(c, session.Usage{At: moment(m.Time.Created), Model: m.Model, Key: m.ID, Tokens: t}, func() bool { return counted(m.ID) })
}
