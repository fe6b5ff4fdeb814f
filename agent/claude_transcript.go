package agent

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// claudeFiles returns the patterns of the transcript and of the process's state file, which exists
// from the start.
func claudeFiles(of session.Lookup) []string {
	folder := claudeDir(of)
	if folder == "" {
		return nil
	}
	folder = globLiteral(folder)
	files := []string{filepath.Join(folder, "projects", claudeProject(of.Dir), conversationPattern(of.Conversation)+".jsonl")}
	if of.Process.PID > 0 {
		files = append(files, filepath.Join(folder, "sessions", strconv.Itoa(of.Process.PID)+".json"))
	}
	return files
}

var notAlphanumeric = regexp.MustCompile(`[^a-zA-Z0-9]`)

// projectLimit is the length to which Claude Code cuts a directory name for a long path. A number
// computed from the path follows.
const projectLimit = 200

// claudeProject returns a pattern for a workspace's directory name: the path with dashes. Claude
// Code resolves links, so only the last element is certain.
func claudeProject(dir string) string {
	if slug := notAlphanumeric.ReplaceAllString(dir, "-"); len(slug) > projectLimit {
		return slug[:projectLimit] + "-*"
	}
	return "*-" + notAlphanumeric.ReplaceAllString(filepath.Base(dir), "-")
}

// claudeLine is a line of a transcript, or a state file.
type claudeLine struct {
	Type       string        `json:"type"`
	Subtype    string        `json:"subtype"`
	At         time.Time     `json:"timestamp"`
	Session    string        `json:"sessionId"`
	Dir        string        `json:"cwd"`
	Meta       bool          `json:"isMeta"`
	Sidechain  bool          `json:"isSidechain"`
	Message    claudeMessage `json:"message"`
	APIError   bool          `json:"isApiErrorMessage"`
	Error      string        `json:"error"`
	DurationMS int64         `json:"durationMs"`
	Operation  string        `json:"operation"` // of type queue-operation
	Entrypoint string        `json:"entrypoint"`

	Content    json.RawMessage `json:"content"` // of operation enqueue: a text
	Attachment struct {
		Type   string          `json:"type"`
		Prompt json.RawMessage `json:"prompt"` // of type queued_command: a text or blocks
	} `json:"attachment"`

	// Of a state file alone.
	PID             int    `json:"pid"`
	Status          string `json:"status"`     // idle, busy, waiting
	WaitingFor      string `json:"waitingFor"` // of waiting: "permission prompt", "dialog open", …
	StartedAt       int64  `json:"startedAt"`  // ms
	StatusUpdatedAt int64  `json:"statusUpdatedAt"`
}

type claudeMessage struct {
	ID         string          `json:"id"`
	Content    json.RawMessage `json:"content"` // a text or blocks
	StopReason string          `json:"stop_reason"`
}

// claudeBlock is a part of a message.
type claudeBlock struct {
	Type    string          `json:"type"` // text, thinking, tool_use, tool_result
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Of      string          `json:"tool_use_id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Content json.RawMessage `json:"content"` // a text or blocks
	IsError bool            `json:"is_error"`
}

func claudeBlocks(content json.RawMessage) []claudeBlock {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []claudeBlock{{Type: "text", Text: text}}
	}
	var blocks []claudeBlock
	if json.Unmarshal(content, &blocks) != nil {
		return nil // of a kind that is not known
	}
	return blocks
}

// text returns the text blocks of a message.
func (m claudeMessage) text() string {
	var all []string
	for _, b := range claudeBlocks(m.Content) {
		if b.Type == "text" && b.Text != "" {
			all = append(all, b.Text)
		}
	}
	return strings.Join(all, "\n")
}

// claudeTool returns a tool call in one line, or the question to the user.
func claudeTool(name string, input json.RawMessage) string {
	var ask struct {
		Questions []struct{ Question string }
	}
	if json.Unmarshal(input, &ask) == nil && len(ask.Questions) > 0 {
		return clip(ask.Questions[0].Question)
	}
	return toolText(name, string(input))
}

// claudeAsks returns the question of a tool call without permission.
func claudeAsks(name string, input json.RawMessage) string {
	if name == "AskUserQuestion" {
		return claudeTool(name, input)
	}
	return asked(name, claudeTool("", input), "")
}

// claudeReader reads a transcript and its state file. The transcript has the turns; only the state
// file shows that a tool waits for permission.
type claudeReader struct {
	told claudeTranscript
	// last has the lines after those of told, ordered by time: an immediate answer may come before
	// its question in the file.
	last  []claudeLine
	state *claudeLine
}

// unordered is how many lines apart the transcript may be out of order. A question and its answer
// are adjacent.
const unordered = 8

func (r *claudeReader) Add(line []byte) {
	var l claudeLine
	switch {
	case json.Unmarshal(line, &l) != nil:
	case l.PID > 0 && l.Type == "":
		r.state = &l
	case l.Type == "user" || l.Type == "assistant" || l.Type == "system" || l.Type == "queue-operation",
		l.Type == "attachment" && l.Attachment.Type == "queued_command":
		r.last = append(r.last, l)
		slices.SortStableFunc(r.last, func(a, b claudeLine) int { return a.At.Compare(b.At) })
		if len(r.last) > unordered {
			r.told.add(r.last[0])
			r.last = slices.Delete(r.last, 0, 1)
		}
	}
}

func (r *claudeReader) Transcript() session.Transcript {
	t := r.told
	t.turns = t.copy()
	for _, l := range r.last {
		t.add(l)
	}
	if r.state != nil {
		t.now(*r.state)
	}
	return t.n
}

// claudeTranscript is the state read from a transcript.
type claudeTranscript struct {
	turns
	last   string             // the message that ended a turn without a terminal
	failed *session.Detection // how the open turn has failed
	at     time.Time          // when it has
}

func (t *claudeTranscript) add(l claudeLine) {
	if l.Sidechain {
		return // of a helper that the agent started
	}
	if l.Session != "" {
		t.n.Conversation = l.Session
	}
	if l.Dir != "" && t.n.Dir == "" {
		t.n.Dir = l.Dir
	}
	if !l.At.IsZero() {
		t.n.At = l.At
		if t.n.StartedAt.IsZero() {
			t.n.StartedAt = l.At
		}
	}
	switch {
	case l.Type == "user" && !l.Meta:
		t.user(l)
	case l.Type == "assistant":
		t.assistant(l)
	case l.Type == "system" && l.Subtype == "turn_duration":
		t.ended(l.At, false)
	case l.Type == "queue-operation":
		t.queue(l)
	case l.Type == "attachment": // a waiting message, taken up within the turn
		t.n.Take(session.Message{At: l.At, Text: claudeMessage{Content: l.Attachment.Prompt}.text()})
	}
}

// queue updates the messages that were typed during a turn and wait.
func (t *claudeTranscript) queue(l claudeLine) {
	switch l.Operation {
	case "enqueue":
		t.n.Queued = append(t.n.Queued, session.Message{At: l.At, Text: claudeMessage{Content: l.Content}.text()})
	case "dequeue": // the next turn starts with it
		t.n.Queued = t.n.Queued[min(1, len(t.n.Queued)):]
		t.n.TakenAt = l.At
		t.begin()
	case "remove": // taken up within the turn, or withdrawn
		t.n.Queued = t.n.Queued[min(1, len(t.n.Queued)):]
	case "popAll": // the user withdrew all of them
		t.n.Queued = nil
	}
}

// claudePrint is the entry point of claude --print, which has no terminal.
const claudePrint = "sdk-cli"

// interruption is the prefix of the only line that shows that the user stopped a turn, or refused a
// permission, which also stops it. If a turn is stopped before the first word of its answer, Claude
// writes no such line and withdraws the prompt.
const interruption = "[Request interrupted by user"

func (t *claudeTranscript) user(l claudeLine) {
	for _, b := range claudeBlocks(l.Message.Content) {
		if b.Type == "tool_result" {
			t.answer(b.Of)
			t.doing(session.Working, "")
		}
	}
	text := l.Message.text()
	switch {
	case strings.HasPrefix(text, interruption):
		t.ended(l.At, true)
	case text == "" || claudeMadeUp(text):
	default:
		t.take(l.At, text)
		t.begin()
		t.asked, t.failed = nil, nil
	}
}

// claudeMadeUp reports whether Claude Code wrote a user message itself: a command of its own and
// the output.
func claudeMadeUp(text string) bool {
	return strings.HasPrefix(text, "<command-") || strings.HasPrefix(text, "<local-command-")
}

func (t *claudeTranscript) assistant(l claudeLine) {
	m := l.Message
	if text := m.text(); text != "" {
		t.n.LastMessage = text
	}
	t.doing(session.Working, "")
	if l.APIError {
		r := claudeFailure(l.Error, m.text())
		t.failed, t.at = &r, l.At
		t.fails()
	}
	// Without a terminal no line ends a turn, and an answer has a line for each block.
	if l.Entrypoint == claudePrint && m.StopReason != "" && m.StopReason != "tool_use" {
		if t.last == m.ID {
			t.n.Turns--
		}
		t.last = m.ID
		t.ended(l.At, false)
	}
	for _, b := range claudeBlocks(m.Content) {
		if b.Type == "tool_use" {
			t.ask(b.ID, claudeAsks(b.Name, b.Input))
		}
	}
}

// ended ends a turn, successful or not.
func (t *claudeTranscript) ended(at time.Time, interrupted bool) {
	t.end(at, session.Idle, "", interrupted)
	t.fails()
}

// fails sets the activity of a turn that has failed.
func (t *claudeTranscript) fails() {
	if f := t.failed; f != nil {
		t.doing(f.Activity, f.Detail)
		t.limited(t.at)
		if f.Refused {
			t.n.RefusedAt = t.at
		}
	}
}

// now applies the state file.
func (t *claudeTranscript) now(s claudeLine) {
	if s.Session != "" {
		t.n.Conversation = s.Session
	}
	if t.n.Dir == "" {
		t.n.Dir = s.Dir
	}
	if t.n.StartedAt.IsZero() && s.StartedAt > 0 {
		t.n.StartedAt = moment(s.StartedAt)
	}
	updated := moment(s.StatusUpdatedAt)
	if s.StatusUpdatedAt > 0 && updated.After(t.n.At) {
		t.n.At = updated
	}
	switch s.Status {
	case "busy":
		t.doing(session.Working, "")
	case "waiting":
		// The transcript may lag behind, and other dialogs are in no file. Then the screen has the
		// question.
		question := ""
		if s.WaitingFor == "permission prompt" && len(t.asked) == 1 {
			question = t.asked[0].text
		}
		t.doing(session.Blocked, question)
	case "idle":
		// The transcript is more reliable on a failed turn and on a new one: the state is written a
		// little later.
		if begun := s.StatusUpdatedAt > 0 && t.n.Activity == session.Working && t.worked.After(updated); t.failed == nil && !begun {
			t.doing(session.Idle, "")
		}
	}
}

// claudeEntries returns the readable entries in a line of a transcript.
func claudeEntries(line []byte) []session.Entry {
	var l claudeLine
	if json.Unmarshal(line, &l) != nil || l.Meta || l.Type != "user" && l.Type != "assistant" {
		return nil
	}
	var all []session.Entry
	add := func(kind, text string) {
		if text = strings.TrimSpace(text); text != "" {
			all = append(all, session.Entry{At: l.At, Kind: kind, Text: text})
		}
	}
	for _, b := range claudeBlocks(l.Message.Content) {
		switch {
		case b.Type == "tool_use":
			add("tool", claudeTool(b.Name, b.Input))
		case b.Type == "tool_result":
			kind := "result"
			if b.IsError {
				kind = "error"
			}
			add(kind, clip(claudeMessage{Content: b.Content}.text()))
		case b.Type != "text" || claudeMadeUp(b.Text):
		case l.APIError:
			add("error", b.Text)
		case strings.HasPrefix(b.Text, interruption):
			add("info", "interrupted")
		case l.Type == "user":
			add("user", b.Text)
		default:
			add("agent", b.Text)
		}
	}
	if l.Type == "assistant" && l.Message.StopReason == "end_turn" {
		add("usage", claudeUsage.words(line))
	}
	return all
}
