package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// chat is POST /v1/chat/completions.
func (s *Server) chat(w http.ResponseWriter, hr *http.Request) {
	body, ok := read(w, hr)
	if !ok {
		return
	}
	var in struct {
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
		Tools  []struct {
			Function struct{ Name string } `json:"function"`
		} `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	to := &chatSpeaker{w: w, id: fmt.Sprintf("chatcmpl-%d", time.Now().UnixNano())}
	if err := json.Unmarshal(body, &in); err != nil {
		to.fail(http.StatusBadRequest, err.Error(), 0)
		return
	}
	to.stream, to.model = in.Stream, in.Model
	r := Request{At: time.Now(), API: "chat", Path: hr.URL.Path, Model: in.Model, Side: len(in.Tools) == 0, Body: body}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	for _, m := range in.Messages {
		switch m.Role {
		case "tool":
			r.Results++
		case "user":
			for _, text := range chatTexts(m.Content) {
				if !strings.HasPrefix(text, chatContext) {
					r.asked(text)
				}
			}
		}
	}
	s.play(hr.Context(), r, to)
}

// chatContext begins the message in which Qwen Code tells the model where it is.
const chatContext = "This is the Qwen Code. We are setting up the context"

// chatTexts returns the texts of a message: it is one, or has parts.
func chatTexts(content json.RawMessage) []string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []string{text}
	}
	var parts []struct{ Text string }
	if json.Unmarshal(content, &parts) != nil {
		return nil
	}
	var all []string
	for _, p := range parts {
		all = append(all, p.Text)
	}
	return all
}

// chatSpeaker answers as OpenAI's Chat Completions, streamed or whole.
type chatSpeaker struct {
	w         http.ResponseWriter
	stream    bool
	id, model string
	said      strings.Builder
	calls     []object
	usage     Usage
}

func (c *chatSpeaker) uses(u Usage) { c.usage = u }

func (c *chatSpeaker) partly() Usage { return Usage{} }

func (c *chatSpeaker) spent() object {
	u := c.usage
	return object{
		"prompt_tokens": u.prompt(), "prompt_tokens_details": object{"cached_tokens": u.CacheRead},
		"completion_tokens": u.Output, "completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
		"total_tokens": u.all(),
	}
}

// send sends a part of the answer; finish says why it ends, or nil.
func (c *chatSpeaker) send(delta object, finish any) {
	if !c.stream {
		return
	}
	events{c.w}.send("", object{
		"id": c.id, "object": "chat.completion.chunk", "created": time.Now().Unix(), "model": c.model,
		"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
	})
}

func (c *chatSpeaker) begin() {
	if c.stream {
		events{c.w}.begin()
	}
	c.send(object{"role": "assistant", "content": ""}, nil)
}

func (c *chatSpeaker) text(s string) {
	c.said.WriteString(s)
	for _, p := range pieces(s) {
		c.send(object{"content": p}, nil)
	}
}

func (c *chatSpeaker) tool(name, args string) {
	call := object{"index": len(c.calls), "id": fmt.Sprintf("call_%d", time.Now().UnixNano()), "type": "function",
		"function": object{"name": name, "arguments": args}}
	c.calls = append(c.calls, call)
	c.send(object{"tool_calls": []object{call}}, nil)
}

func (c *chatSpeaker) end() {
	reason := "stop"
	if len(c.calls) > 0 {
		reason = "tool_calls"
	}
	whole := object{"id": c.id, "created": time.Now().Unix(), "model": c.model, "usage": c.spent()}
	if c.stream {
		c.send(object{}, reason)
		whole["object"], whole["choices"] = "chat.completion.chunk", []object{}
		events{c.w}.send("", whole)
		_, _ = fmt.Fprint(c.w, "data: [DONE]\n\n")
		return
	}
	said := object{"role": "assistant", "content": c.said.String()}
	if len(c.calls) > 0 {
		said["tool_calls"] = c.calls
	}
	whole["object"], whole["choices"] = "chat.completion", []object{{"index": 0, "message": said, "finish_reason": reason}}
	writeJSON(c.w, whole)
}

// limit is that of an account without credit, which does not say when it ends.
func (c *chatSpeaker) limit(time.Time) {
	c.refuse(http.StatusTooManyRequests, "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", 0)
}

func (c *chatSpeaker) fail(code int, text string, after time.Duration) {
	c.refuse(code, message(code, text), "scripted", after)
}

func (c *chatSpeaker) refuse(code int, text, kind string, after time.Duration) {
	refuse(c.w, code, after)
	_ = json.NewEncoder(c.w).Encode(object{"error": object{"message": text, "type": kind, "param": nil, "code": kind}})
}
