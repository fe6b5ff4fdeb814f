package agent

import (
	"cmp"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// codexFiles returns the pattern of a conversation's rollout.
func codexFiles(of session.Lookup) []string {
	home := codexDir(of)
	if home == "" {
		return nil
	}
	name := "rollout-*.jsonl"
	if of.Conversation != "" {
		name = "rollout-*-" + globLiteral(of.Conversation) + ".jsonl"
	}
	return []string{filepath.Join(globLiteral(home), "sessions", "*", "*", "*", name)} // year, month, day
}

// rolloutLine has the used fields of a line of a rollout.
type rolloutLine struct {
	At      time.Time `json:"timestamp"`
	Type    string    `json:"type"`
	Payload struct {
		Type string `json:"type"`
		// session_meta
		ID           string    `json:"id"`
		Dir          string    `json:"cwd"`
		Version      string    `json:"cli_version"`
		StartedAt    time.Time `json:"timestamp"`
		ThreadSource string    `json:"thread_source"`
		// item_completed
		Item rolloutItem `json:"item"`
		// function_call, custom_tool_call and their outputs
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
		Input     string `json:"input"`
		// A text for a function call, an object for other tools.
		Output json.RawMessage `json:"output"`
		// token_count
		Info struct {
			Total struct {
				All int64 `json:"total_tokens"`
			} `json:"total_token_usage"`
		} `json:"info"`
		Limits map[string]json.RawMessage `json:"rate_limits"`
		// task_complete, turn_aborted
		LastMessage string        `json:"last_agent_message"`
		Error       *rolloutError `json:"error"`
		Reason      string        `json:"reason"`
	} `json:"payload"`
}

type rolloutItem struct {
	Type    string `json:"type"` // UserMessage, AgentMessage
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
}

func (i rolloutItem) text() string {
	var texts []string
	for _, c := range i.Content {
		if c.Text != "" {
			texts = append(texts, c.Text)
		}
	}
	return strings.Join(texts, "\n")
}

type rolloutError struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codex_error_info"`
}

// limited reports whether the account has reached a limit.
func (e rolloutError) limited() bool { return e.is("usage_limit_exceeded", 429) }

// refused reports whether the provider refused the credential, as Codex decides it (0.169.0,
// is_credential_rejection).
func (e rolloutError) refused() bool { return e.is("unauthorized", 401) }

// is reports whether the error has a word or a HTTP status: it is a word, or an object of one word
// with the status.
func (e rolloutError) is(word string, code int) bool {
	var said string
	if json.Unmarshal(e.Info, &said) == nil {
		return said == word
	}
	var status map[string]struct {
		Code int `json:"http_status_code"`
	}
	_ = json.Unmarshal(e.Info, &status) // another form is another error
	for _, s := range status {
		if s.Code == code {
			return true
		}
	}
	return false
}

// rolloutInterrupted is the reason of an aborted turn that the user interrupted. A Codex that exits
// during a turn may also give it. Other reasons are Codex's own.
const rolloutInterrupted = "interrupted"

// rollout reads a rollout. It contains no retries or approvals: a tool call without output is
// running or waits for approval.
type rollout struct {
	turns
	resets time.Time // when the account's limits reset
	helper bool      // the agent is a helper, started by another
}

func (r *rollout) Transcript() session.Transcript {
	if r.helper {
		return session.Transcript{}
	}
	n := r.turns.Transcript()
	if n.Activity == session.Working && len(r.asked) > 0 {
		n.Activity = ""
	}
	return n
}

func (r *rollout) Add(line []byte) {
	var l rolloutLine
	if json.Unmarshal(line, &l) != nil {
		return
	}
	r.n.At = l.At
	p := l.Payload
	switch p.Type {
	case "task_started":
		r.begin()
		r.asked = nil
	case "item_completed":
		switch p.Item.Type {
		case "UserMessage":
			r.take(l.At, p.Item.text())
		case "AgentMessage":
			r.n.LastMessage = p.Item.text()
		}
	case "function_call", "custom_tool_call", "local_shell_call":
		r.ask(p.CallID, "")
	case "function_call_output", "custom_tool_call_output":
		r.answer(p.CallID)
	case "token_count":
		if all := p.Info.Total.All; all > r.n.Tokens {
			r.n.Tokens, r.n.AnsweredAt = all, l.At
		}
		if found := limitWindows(p.Limits); len(found) > 0 {
			r.n.Limits = found
		}
		r.resets = limitReset(p.Limits)
	case "task_complete", "turn_aborted":
		if p.LastMessage != "" {
			r.n.LastMessage = p.LastMessage
		}
		switch {
		case p.Error == nil:
			r.end(l.At, session.Idle, "", p.Type == "turn_aborted" && p.Reason == rolloutInterrupted)
		case p.Error.limited():
			r.end(l.At, session.BlockedAPI, p.Error.Message, false)
			r.n.Until = r.resets
		default:
			r.end(l.At, session.Failed, p.Error.Message, false)
			if p.Error.refused() {
				r.n.RefusedAt = l.At
			}
		}
	}
	if l.Type == "session_meta" && r.n.Conversation == "" {
		if p.ThreadSource == "subagent" {
			r.helper = true
			return
		}
		r.n.Conversation, r.n.Dir, r.n.StartedAt = p.ID, p.Dir, p.StartedAt
	}
}

// rolloutWindow is the used part of an account's limit.
type rolloutWindow struct {
	Used    *float64 `json:"used_percent"`
	Minutes int64    `json:"window_minutes"`
	Resets  int64    `json:"resets_at"` // Unix time
}

// resetsAt returns when the limit resets, or zero.
func (w rolloutWindow) resetsAt() time.Time {
	if w.Resets == 0 {
		return time.Time{}
	}
	return moment(1000 * min(w.Resets, math.MaxInt64/1000)).Local()
}

// windowsOf returns the limits of a rollout that have a used part.
func windowsOf(limits map[string]json.RawMessage) (all []rolloutWindow) {
	for _, raw := range limits {
		var w rolloutWindow
		if json.Unmarshal(raw, &w) == nil && w.Used != nil {
			all = append(all, w)
		}
	}
	return all
}

// maxWindow bounds the length of a limit, in minutes; a longer one is invalid.
const maxWindow = 366 * 24 * 60

// limitWindows returns the used part of each of the account's limits, the shortest first.
func limitWindows(limits map[string]json.RawMessage) (all []session.LimitWindow) {
	for _, w := range windowsOf(limits) {
		if w.Minutes > 0 && w.Minutes <= maxWindow {
			all = append(all, session.LimitWindow{Length: session.Duration(time.Duration(w.Minutes) * time.Minute), Used: *w.Used, ResetsAt: w.resetsAt()})
		}
	}
	slices.SortFunc(all, func(a, b session.LimitWindow) int { return cmp.Compare(a.Length, b.Length) })
	return all
}

// limitReset returns when the account's used-up limits reset, or zero.
func limitReset(limits map[string]json.RawMessage) time.Time {
	var end time.Time
	for _, w := range windowsOf(limits) {
		if at := w.resetsAt(); *w.Used >= 100 && at.After(end) {
			end = at
		}
	}
	return end
}

// codexEntries returns the readable entries in a line of a rollout.
func codexEntries(line []byte) []session.Entry {
	var l rolloutLine
	if json.Unmarshal(line, &l) != nil {
		return nil
	}
	p := l.Payload
	entry := func(kind, text string) []session.Entry {
		if text == "" {
			return nil
		}
		return []session.Entry{{At: l.At, Kind: kind, Text: text}}
	}
	switch {
	case l.Type == "session_meta":
		return entry("info", "Codex "+p.Version+" in "+p.Dir)
	case l.Type == "token_usage_record":
		return entry("usage", codexUsage.words(line))
	}
	switch p.Type {
	case "item_completed":
		switch p.Item.Type {
		case "UserMessage":
			return entry("user", p.Item.text())
		case "AgentMessage":
			return entry("agent", p.Item.text())
		}
	case "function_call", "custom_tool_call", "local_shell_call":
		return entry("tool", toolText(p.Name, p.Arguments+p.Input))
	case "function_call_output", "custom_tool_call_output":
		return entry("result", codexOutput(p.Output))
	case "turn_aborted":
		return entry("info", "turn "+p.Reason)
	case "task_complete":
		if p.Error != nil {
			return entry("error", p.Error.Message)
		}
	}
	return nil
}

// codexOutput returns a tool's output without the lines about its process.
func codexOutput(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return clip(string(raw))
	}
	if _, output, found := strings.Cut(text, "\nOutput:\n"); found {
		text = output
	}
	return clip(strings.TrimSpace(text))
}
