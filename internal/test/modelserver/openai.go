package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// openai is POST /v1/responses.
func (s *Server) openai(w http.ResponseWriter, hr *http.Request) {
	body, ok := read(w, hr)
	if !ok {
		return
	}
	var in struct {
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
		Tools  []struct {
			Type, Name string
		} `json:"tools"`
		Input json.RawMessage `json:"input"`
	}
	to := &codexSpeaker{w: w, id: fmt.Sprintf("resp_%d", time.Now().UnixNano())}
	if err := json.Unmarshal(body, &in); err != nil {
		to.fail(http.StatusBadRequest, err.Error(), 0)
		return
	}
	to.stream, to.model = in.Stream, in.Model
	r := Request{At: time.Now(), API: "openai", Path: hr.URL.Path, Model: in.Model, Side: len(in.Tools) == 0, Body: body}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	r.input(in.Input)
	s.play(hr.Context(), r, to)
}

// input reads the conversation: a text, or messages and the results of tools.
func (r *Request) input(raw json.RawMessage) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		r.asked(text)
		return
	}
	var items []struct {
		Type, Role string
		Content    json.RawMessage
	}
	if json.Unmarshal(raw, &items) != nil {
		return
	}
	for _, it := range items {
		switch {
		case strings.HasSuffix(it.Type, "_output"):
			r.Results++
		case it.Role == "user":
			var parts []struct{ Text string }
			if json.Unmarshal(it.Content, &parts) != nil {
				continue
			}
			for _, p := range parts {
				r.asked(p.Text)
			}
		}
	}
}

// codexSpeaker answers as OpenAI's Responses, streamed or whole.
type codexSpeaker struct {
	w         http.ResponseWriter
	stream    bool
	id, model string
	output    []object
	usage     Usage
}

func (c *codexSpeaker) uses(u Usage) { c.usage = u }

func (c *codexSpeaker) partly() Usage { return Usage{} }

func (c *codexSpeaker) response(status string) object {
	output := c.output
	if output == nil {
		output = []object{}
	}
	r := object{"id": c.id, "object": "response", "created_at": time.Now().Unix(), "status": status, "model": c.model, "output": output}
	if status == "completed" {
		u := c.usage
		r["usage"] = object{
			"input_tokens": u.prompt(), "input_tokens_details": object{"cached_tokens": u.CacheRead},
			"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": u.Reasoning},
			"total_tokens": u.all(),
		}
	}
	return r
}

func (c *codexSpeaker) send(kind string, more object) {
	if c.stream {
		more["type"] = kind
		events{c.w}.send(kind, more)
	}
}

func (c *codexSpeaker) begin() {
	if c.stream {
		events{c.w}.begin()
	}
	c.send("response.created", object{"response": c.response("in_progress")})
}

func (c *codexSpeaker) text(s string) {
	index, id := len(c.output), fmt.Sprintf("msg_%d", len(c.output))
	item := func(status string, content ...object) object {
		if content == nil {
			content = []object{}
		}
		return object{"type": "message", "id": id, "role": "assistant", "status": status, "content": content}
	}
	c.send("response.output_item.added", object{"output_index": index, "item": item("in_progress")})
	for _, p := range pieces(s) {
		c.send("response.output_text.delta", object{"item_id": id, "output_index": index, "content_index": 0, "delta": p})
	}
	whole := item("completed", object{"type": "output_text", "text": s, "annotations": []any{}})
	c.output = append(c.output, whole)
	c.send("response.output_item.done", object{"output_index": index, "item": whole})
}

func (c *codexSpeaker) tool(name, args string) {
	index := len(c.output)
	item := object{
		"type": "function_call", "id": fmt.Sprintf("fc_%d", index), "status": "completed",
		"call_id": fmt.Sprintf("call_%d", time.Now().UnixNano()), "name": name, "arguments": args,
	}
	c.output = append(c.output, item)
	c.send("response.output_item.added", object{"output_index": index, "item": item})
	c.send("response.output_item.done", object{"output_index": index, "item": item})
}

func (c *codexSpeaker) end() {
	if !c.stream {
		writeJSON(c.w, c.response("completed"))
		return
	}
	c.send("response.completed", object{"response": c.response("completed")})
}

// limit is as ChatGPT's backend says it: the window of five hours is used up.
func (c *codexSpeaker) limit(end time.Time) {
	h := c.w.Header()
	h.Set("X-Codex-Primary-Used-Percent", "100")
	h.Set("X-Codex-Primary-Window-Minutes", "300")
	h.Set("X-Codex-Primary-Reset-At", strconv.FormatInt(end.Unix(), 10))
	refuse(c.w, http.StatusTooManyRequests, 0)
	_ = json.NewEncoder(c.w).Encode(object{"error": object{
		"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus", "resets_at": end.Unix(),
	}})
}

func (c *codexSpeaker) fail(code int, text string, after time.Duration) {
	refuse(c.w, code, after)
	_ = json.NewEncoder(c.w).Encode(object{"error": object{"message": message(code, text), "type": "scripted", "code": nil}})
}
