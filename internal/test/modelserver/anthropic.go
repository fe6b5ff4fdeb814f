package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// anthropic is POST /v1/messages.
func (s *Server) anthropic(w http.ResponseWriter, hr *http.Request) {
	body, ok := read(w, hr)
	if !ok {
		return
	}
	var in struct {
		Model    string                  `json:"model"`
		Stream   bool                    `json:"stream"`
		Tools    []struct{ Name string } `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	to := &claudeSpeaker{w: w, stream: in.Stream, id: fmt.Sprintf("msg_%d", time.Now().UnixNano())}
	if err := json.Unmarshal(body, &in); err != nil {
		to.fail(http.StatusBadRequest, err.Error(), 0)
		return
	}
	to.stream, to.model = in.Stream, in.Model
	r := Request{At: time.Now(), API: "anthropic", Path: hr.URL.Path, Model: in.Model, Side: len(in.Tools) == 0, Body: body}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	for _, m := range in.Messages {
		if m.Role != "user" {
			continue
		}
		var text string
		if json.Unmarshal(m.Content, &text) == nil {
			r.asked(text)
			continue
		}
		var blocks []struct{ Type, Text string }
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue
		}
		for _, b := range blocks {
			switch b.Type {
			case "text":
				r.asked(b.Text)
			case "tool_result":
				r.Results++
			}
		}
	}
	s.play(hr.Context(), r, to)
}

// claudeSpeaker answers as Anthropic's Messages, streamed or whole.
type claudeSpeaker struct {
	w         http.ResponseWriter
	stream    bool
	id, model string
	blocks    []object
	called    bool
	usage     Usage
}

func (c *claudeSpeaker) uses(u Usage) { c.usage = u }

func (c *claudeSpeaker) partly() Usage {
	u := c.usage
	u.Output, u.Reasoning = min(1, u.Output), 0
	return u
}

// spent is what the answer took so far. Anthropic says it twice: with one token of
// output when the answer begins, and in full when it ends.
func (c *claudeSpeaker) spent(output int64) object {
	u := c.usage
	return object{
		"input_tokens": u.Input, "cache_read_input_tokens": u.CacheRead,
		"cache_creation_input_tokens": u.CacheWrite5m + u.CacheWrite1h,
		"cache_creation":              object{"ephemeral_5m_input_tokens": u.CacheWrite5m, "ephemeral_1h_input_tokens": u.CacheWrite1h},
		"output_tokens":               output, "service_tier": "standard",
	}
}

func (c *claudeSpeaker) message() object {
	return object{
		"id": c.id, "type": "message", "role": "assistant", "model": c.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": c.spent(min(1, c.usage.Output)),
	}
}

func (c *claudeSpeaker) begin() {
	if c.stream {
		events{c.w}.begin()
		events{c.w}.send("message_start", object{"type": "message_start", "message": c.message()})
	}
}

// block sends one block of content: how it begins, its pieces, its end.
func (c *claudeSpeaker) block(whole, start object, deltas []object) {
	index := len(c.blocks)
	c.blocks = append(c.blocks, whole)
	if !c.stream {
		return
	}
	e := events{c.w}
	e.send("content_block_start", object{"type": "content_block_start", "index": index, "content_block": start})
	for _, d := range deltas {
		e.send("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": d})
	}
	e.send("content_block_stop", object{"type": "content_block_stop", "index": index})
}

func (c *claudeSpeaker) text(s string) {
	var deltas []object
	for _, p := range pieces(s) {
		deltas = append(deltas, object{"type": "text_delta", "text": p})
	}
	c.block(object{"type": "text", "text": s}, object{"type": "text", "text": ""}, deltas)
}

func (c *claudeSpeaker) tool(name, args string) {
	c.called = true
	id := "toolu_scripted_" + strings.ReplaceAll(time.Now().Format("150405.000000000"), ".", "")
	c.block(object{"type": "tool_use", "id": id, "name": name, "input": json.RawMessage(args)},
		object{"type": "tool_use", "id": id, "name": name, "input": object{}},
		[]object{{"type": "input_json_delta", "partial_json": args}})
}

func (c *claudeSpeaker) end() {
	reason := "end_turn"
	if c.called {
		reason = "tool_use"
	}
	if !c.stream {
		m := c.message()
		m["content"], m["stop_reason"] = c.blocks, reason
		m["usage"] = c.spent(c.usage.Output)
		writeJSON(c.w, m)
		return
	}
	e := events{c.w}
	e.send("message_delta", object{
		"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil},
		"usage": c.spent(c.usage.Output),
	})
	e.send("message_stop", object{"type": "message_stop"})
}

// claudeErrors are Anthropic's names of HTTP statuses.
var claudeErrors = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
	413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
}

// limit is the one of a subscription.
func (c *claudeSpeaker) limit(end time.Time) {
	h := c.w.Header()
	h.Set("Anthropic-Ratelimit-Unified-Status", "rejected")
	h.Set("Anthropic-Ratelimit-Unified-Reset", strconv.FormatInt(end.Unix(), 10))
	c.fail(http.StatusTooManyRequests, "This request would exceed your account's rate limit", 0)
}

func (c *claudeSpeaker) fail(code int, text string, after time.Duration) {
	kind := claudeErrors[code]
	if kind == "" {
		kind = "api_error"
	}
	refuse(c.w, code, after)
	_ = json.NewEncoder(c.w).Encode(object{"type": "error", "error": object{"type": kind, "message": message(code, text)}})
}
